package portal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// sumView holds the usage of one key or one route.
type sumView struct {
	ID, Name, Place string
	Calls, Errors   int64
	Share           string // of errors
	Mean            string // duration
	Last            time.Time
	Href            string // the list of these requests
}

// nearView shows how near a key comes to its limit.
type nearView struct {
	ID, Name, Place string
	Most            int64 // in the busiest minute
	At              time.Time
	Share           string
	Full            int64 // the share in percent, at most 100
	Refused         int64 // with 429
}

type usageView struct {
	figures
	Calls, Errors, Replayed int64
	Share, Mean             string
	Chart                   *pages.Chart   // nil: the time is too short for one
	Statuses                []statusFigure // of the deliveries that were booked in the time
	Booked                  figureView
	Fees                    []string
	Delay                   string // of webhooks; empty: none was delivered
	DelayOf                 int
	Routes, Keys            []sumView
	MoreRoutes, MoreKeys    int // that are not listed
	Near                    []nearView
	PerKeyText              string
	PerBusinessText         string
	CSV, ErrorsHref, List   string
	Keeping                 pages.KeepingView
}

// usage returns the data of the page and the file.
func (p *Portal) usage(c *call) (f figures, sums []domain.Usage, names map[domain.ID]keyName, err error) {
	f, choice, err := p.figuresOf(c, "/usage")
	if err != nil {
		return f, nil, nil, err
	}
	if names, err = p.keyNames(c, choice.apps); err != nil {
		return f, nil, nil, err
	}
	q := f.query
	q.Step, q.ByKey, q.ByRoute, q.ByResult = f.step, true, true, true
	if sums, err = p.Requests.Usage(c.Ctx(), q); err != nil {
		return f, nil, nil, p.answered(p.logFailed(c, err))
	}
	return f, sums, names, nil
}

// answered returns the error of a handler that already sent a page.
func (p *Portal) answered(err error) error { return cmp.Or(err, pages.ErrAnswered) }

func (p *Portal) showUsage(c *call) error {
	f, sums, names, err := p.usage(c)
	if err != nil {
		return err
	}
	choice, err := p.shown(c)
	if err != nil {
		return err
	}
	v := usageView{figures: f, Keeping: p.keeping(), CSV: f.same("/usage.csv"), ErrorsHref: f.same("/errors"),
		List: f.requests(f.from, f.until)}
	bars := make([]pages.Bar, f.steps)
	for i := range bars {
		at := f.from.Add(time.Duration(i) * f.every)
		bars[i].Href = f.requests(at, at.Add(f.every))
		if f.step == domain.UsageByDay {
			bars[i].Label = at.Format("2 Jan")
		} else {
			bars[i].At = at
		}
	}
	routes, keys, total := map[string]*sumOf{}, map[string]*sumOf{}, &sumOf{}
	for _, u := range sums {
		total.add(&u)
		addTo(routes, u.Route, &u)
		addTo(keys, string(u.KeyID), &u)
		if i := int(u.At.Sub(f.from) / f.every); i >= 0 && i < len(bars) {
			bars[i].Value += u.Calls
			if u.Failed() {
				bars[i].Bad += u.Calls
			}
		}
	}
	v.Calls, v.Errors, v.Replayed, v.Share, v.Mean = total.calls, total.errors, total.replayed, share(total.errors, total.calls), total.mean()
	if f.step == domain.UsageByDay {
		chart := pages.NewChart("Requests", f.by, "Requests", bars)
		chart.BadUnit = "of them failed"
		v.Chart = &chart
	}
	if err := p.addDeliveries(c, &v, choice); err != nil {
		return err
	}
	for route, sum := range routes {
		one := sum.view(route, pages.RouteText(route))
		one.Href = f.requests(f.from, f.until, pages.Kept{Name: "route", Value: route})
		v.Routes = append(v.Routes, one)
	}
	for key, sum := range keys {
		one := sum.view(key, key)
		if name, known := names[domain.ID(key)]; known {
			one.Name, one.Place = name.label(), name.Application+", "+name.Environment
		}
		one.Href = f.requests(f.from, f.until, pages.Kept{Name: "key", Value: key})
		v.Keys = append(v.Keys, one)
	}
	v.Routes, v.Keys = mostCalled(v.Routes), mostCalled(v.Keys)
	v.MoreRoutes, v.MoreKeys = len(routes)-len(v.Routes), len(keys)-len(v.Keys)
	business, err := p.Tenants.Business(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	perBusiness := p.options.PerBusiness
	if business.RateLimit != nil {
		perBusiness = *business.RateLimit
	}
	v.PerKeyText, v.PerBusinessText = rate(p.options.PerKey), rate(perBusiness)
	if v.Near, err = p.near(c, &f, names, sums); err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "usage", "Usage", v)
}

// addDeliveries adds the deliveries that were booked in the time, their fees, and how long webhooks
// took.
func (p *Portal) addDeliveries(c *call, v *usageView, choice shown) error {
	if len(choice.apps) == 0 {
		return nil
	}
	t := domain.Tenant{BusinessID: c.Business(), ApplicationID: v.query.ApplicationID, Environment: choice.Environment}
	if t.ApplicationID != "" && choice.name(t.ApplicationID) == "" {
		return nil // of others there is nothing
	}
	count, err := p.Handling.CountBooked(c.Ctx(), t, v.from)
	if err != nil {
		return err
	}
	booked := func(s domain.Status) string {
		return filled("/deliveries", url.Values{"environment": {string(t.Environment)}, "application": {string(t.ApplicationID)}, "status": {string(s)},
			"created_after": {v.from.UTC().Format(time.DateOnly)}})
	}
	statuses, total := statusFigures(count.ByStatus, booked)
	v.Statuses, v.Booked = statuses, figureView{Text: pages.Count(int64(total)), Href: booked("")}
	if count.More {
		v.Booked.Note = "the newest; the figures below are of these"
	}
	for _, fee := range count.Fees {
		v.Fees = append(v.Fees, pages.AmountOf(fee))
	}
	for _, app := range choice.apps[:min(len(choice.apps), appsOnHome)] {
		if t.ApplicationID != "" && app.ID != t.ApplicationID || v.DelayOf > 0 {
			continue
		}
		delay, of, err := p.Endpoints.Delay(c.Ctx(), domain.Tenant{BusinessID: t.BusinessID, ApplicationID: app.ID, Environment: t.Environment},
			v.from)
		if err != nil {
			return err
		}
		if of > 0 {
			v.Delay, v.DelayOf = pages.Took(delay), of
		}
	}
	return nil
}

// mostListed limits the routes and keys on the page. The file has all of them.
const mostListed = 25

// mostCalled returns the entries with the most calls, in order.
func mostCalled(all []sumView) []sumView {
	sort.Slice(all, func(i, j int) bool { return moreCalls(all[i].Calls, all[j].Calls, all[i].ID, all[j].ID) })
	return all[:min(len(all), mostListed)]
}

// sumOf adds up usage.
type sumOf struct {
	calls, errors, replayed int64
	took                    time.Duration
	last                    time.Time
}

func addTo(sums map[string]*sumOf, name string, u *domain.Usage) {
	if sums[name] == nil {
		sums[name] = &sumOf{}
	}
	sums[name].add(u)
}

func (s *sumOf) add(u *domain.Usage) {
	s.calls, s.replayed, s.took = s.calls+u.Calls, s.replayed+u.Replayed, s.took+u.Took
	if u.Failed() {
		s.errors += u.Calls
	}
	if u.Last.After(s.last) {
		s.last = u.Last
	}
}

func (s *sumOf) mean() string {
	if s.calls == 0 {
		return "—"
	}
	return pages.Took(s.took / time.Duration(s.calls))
}

func (s *sumOf) view(id, name string) sumView {
	return sumView{ID: id, Name: name, Calls: s.calls, Errors: s.errors, Share: share(s.errors, s.calls), Mean: s.mean(), Last: s.last}
}

// near returns how near each used key comes to the limit per key. The limit has a sliding window;
// usage has only clock minutes, so it takes the busiest minute.
func (p *Portal) near(c *call, f *figures, names map[domain.ID]keyName, sums []domain.Usage) (list []nearView, err error) {
	busiest, err := p.Requests.BusiestMinutes(c.Ctx(), f.query)
	if err != nil {
		return nil, p.answered(p.logFailed(c, err))
	}
	refused := map[domain.ID]int64{}
	for _, u := range sums {
		if u.Status == http.StatusTooManyRequests {
			refused[u.KeyID] += u.Calls
		}
	}
	limit := p.options.PerKey
	for _, key := range slices.Sorted(maps.Keys(busiest)) {
		u := busiest[key]
		perWindow := u.Calls * int64(limit.Window) / int64(time.Minute)
		n := nearView{
			ID: string(key), Name: string(key), Most: u.Calls, At: u.At,
			Share: share(perWindow, int64(limit.Limit)), Full: min(100, 100*perWindow/int64(max(1, limit.Limit))), Refused: refused[key],
		}
		if name, known := names[key]; known {
			n.Name, n.Place = name.label(), name.Application+", "+name.Environment
		}
		list = append(list, n)
	}
	sort.SliceStable(list, func(i, j int) bool { return moreCalls(list[i].Most, list[j].Most, list[i].ID, list[j].ID) })
	return list[:min(len(list), mostListed)], nil
}

// rate formats a limit.
func rate(l domain.RateLimit) string {
	return pages.Count(int64(l.Limit)) + " requests in " + inWords(l.Window)
}

// inWords formats a duration of whole minutes or seconds.
func inWords(d time.Duration) string {
	switch {
	case d == time.Minute:
		return "a minute"
	case d == time.Second:
		return "a second"
	case d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + " minutes"
	}
	return strconv.Itoa(int(d.Seconds())) + " seconds"
}

// usageCSV sends the usage as a file, with a line for each step, key, route and result.
func (p *Portal) usageCSV(c *call) error {
	f, sums, names, err := p.usage(c)
	if err != nil {
		return err
	}
	file := fmt.Sprintf("waybill-usage-%s-%s.csv", f.name, f.until.Format(time.DateOnly))
	return c.CSV(file, func(write func(...string) error) error {
		err := write("time", "application", "environment", "key_id", "key_last_four", "route", "status", "code", "requests", "replayed",
			"mean_ms")
		for _, u := range sums {
			name := names[u.KeyID]
			err = errors.Join(err, write(
				domain.FormatTime(u.At), name.Application, name.Environment, string(u.KeyID), name.LastFour, u.Route, strconv.Itoa(u.Status), u.Code,
				strconv.FormatInt(u.Calls, 10), strconv.FormatInt(u.Replayed, 10),
				strconv.FormatFloat(float64(u.Took.Microseconds())/float64(max(1, u.Calls))/1000, 'f', 1, 64)))
		}
		return err
	})
}
