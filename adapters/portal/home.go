package portal

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// appsOnHome limits the applications on the start page.
const appsOnHome = 12

type homeView struct {
	Notice  *pages.Notice
	Warn    []pages.Notice
	Name    string
	Todo    []todo     // empty: a live key was used
	Today   *todayView // nil: no live key was used
	Apps    []appView
	More    bool
	DocsURL string
}

// todo is a step towards going live.
type todo struct {
	Title, Text string
	Done        bool
	Link        pages.Link
}

// todayView shows how live is doing. Each figure leads to what it counts.
type todayView struct {
	Booked, Failed figureView
	Statuses       []statusFigure
	Errors         *figureView // nil: the request log cannot be read
	Limit          *figureView // nil: the same
	Endpoints      figureView
}

type figureView struct{ Text, Note, Tone, Href string }

type statusFigure struct{ Name, Tone, Count, Href string }

func (p *Portal) home(c *call) error {
	apps, err := p.Tenants.Applications(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	v := homeView{Notice: c.Told(), Name: c.Principal.Person.Name, More: len(apps) > appsOnHome, DocsURL: p.options.DocsURL}
	known, err := p.Passkeys.List(c.Ctx(), c.Principal)
	if err != nil {
		return err
	}
	if c.Principal.View == nil && !c.Principal.Session.OneBusiness && c.Principal.Person.PasswordHash == "" && len(known) == 0 {
		v.Warn = append(v.Warn, pages.Notice{Tone: "warn", Title: "You have no password yet",
			Lines: []string{"Your sign-in link works only once. Set a password or add a passkey now, so that you can sign in again."},
			Link:  &pages.Link{Href: "/account", Text: "Set a password"}})
	}
	failing, err := p.endpointWarnings(c)
	if err != nil {
		return err
	}
	v.Warn = append(v.Warn, failing...)
	rising, logged := p.risingErrors(c)
	if rising != nil {
		v.Warn = append(v.Warn, *rising)
	}
	if logged {
		near, err := p.nearLimits(c, apps)
		if err != nil {
			return err
		}
		v.Warn = append(v.Warn, near...)
	}
	live, err := p.homeApps(c, apps, &v)
	if err != nil {
		return err
	}
	if live {
		v.Today, err = p.today(c, apps, logged)
	}
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "home", "Home", v)
}

// homeApps adds the applications and the steps towards going live. live reports whether a live key
// was used.
func (p *Portal) homeApps(c *call, apps []domain.Application, v *homeView) (live bool, err error) {
	usable, used, keysAt := map[string]bool{}, map[string]bool{}, "/apps"
	for _, a := range apps[:min(len(apps), appsOnHome)] {
		app, err := p.appView(c, a)
		if err != nil {
			return false, err
		}
		if !a.Disabled && keysAt == "/apps" {
			keysAt = "/apps/" + app.ID
		}
		for _, e := range app.Environments {
			usable[e.Name], used[e.Name] = usable[e.Name] || e.Usable > 0 && !a.Disabled, used[e.Name] || !e.LastUsedAt.IsZero()
			if e.Expiring != "" && !a.Disabled {
				v.Warn = append(v.Warn, pages.Notice{Tone: "warn", Title: "A key expires soon",
					Lines: []string{"The " + e.Name + " key ending " + e.Expiring + " of " + app.Name + " expires within a week."},
					Link:  &pages.Link{Href: e.Keys, Text: "Rotate it"}})
			}
		}
		v.Apps = append(v.Apps, app)
	}
	keys := func(e domain.Environment) string {
		if keysAt == "/apps" {
			return keysAt
		}
		return keysAt + "/" + string(e) + "/keys"
	}
	const sandbox, goneLive = string(domain.Sandbox), string(domain.Live)
	if used[goneLive] {
		return true, nil
	}
	v.Todo = []todo{
		{Title: "Create an application", Text: "Create one for each program that calls the API.", Done: len(apps) > 0,
			Link: pages.Link{Href: "/apps", Text: "Applications"}},
		{Title: "Create a sandbox key", Text: "Sandbox deliveries are simulated. No rider is sent.", Done: usable[sandbox] || used[sandbox],
			Link: pages.Link{Href: keys(domain.Sandbox), Text: "Sandbox keys"}},
		{Title: "Make the first call", Text: "Done when a sandbox key has been used.", Done: used[sandbox],
			Link: pages.Link{Href: p.docs("/quickstart"), Text: "Quickstart"}},
		{Title: "Create a live key", Text: "An owner creates it. With a live key riders are sent and money moves.", Done: usable[goneLive],
			Link: pages.Link{Href: keys(domain.Live), Text: "Live keys"}},
		{Title: "Go live", Text: "Done when a live key has been used. The page of your application shows what to test before.",
			Link: pages.Link{Href: p.docs("/going-live"), Text: "Before going live"}},
	}
	return false, nil
}

// today returns how live is doing.
func (p *Portal) today(c *call, apps []domain.Application, logged bool) (*todayView, error) {
	now := p.options.Clock.Now()
	count, err := p.Handling.CountBooked(c.Ctx(), domain.Tenant{BusinessID: c.Business(), Environment: domain.Live},
		now.UTC().Truncate(24*time.Hour))
	if err != nil {
		return nil, err
	}
	at := func(path string, pairs ...string) string {
		values := url.Values{"environment": {string(domain.Live)}, "application": {""}}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return pages.AddressOf(path, values)
	}
	booked := func(s domain.Status) string {
		return at("/deliveries", "created_after", now.UTC().Format(time.DateOnly), "status", string(s))
	}
	v, counts := &todayView{}, count.ByStatus
	statuses, total := statusFigures(counts, booked)
	v.Statuses = statuses
	v.Booked = figureView{Text: pages.Count(int64(total)), Href: booked("")}
	if count.More {
		v.Booked.Note = "or more"
	}
	v.Failed = figureView{Text: strconv.Itoa(counts[domain.Failed]), Href: booked(domain.Failed)}
	if counts[domain.Failed] > 0 {
		v.Failed.Tone = "bad"
	}
	if v.Endpoints, err = p.endpointsToday(c, apps, at("/webhooks")); err != nil || !logged {
		return v, err
	}
	sums, err := p.Requests.Usage(c.Ctx(), domain.UsageQuery{BusinessID: c.Business(), Environment: domain.Live, ByResult: true,
		From: now.Add(-24 * time.Hour).Truncate(time.Hour), Until: now.Truncate(time.Minute).Add(time.Minute)})
	if err != nil {
		p.noteLog(c, err)
		return v, nil
	}
	sum := &sumOf{}
	for i := range sums {
		sum.add(&sums[i])
	}
	v.Errors = &figureView{Text: share(sum.errors, sum.calls), Note: "of " + pages.Count(sum.calls) + " requests", Href: at("/errors", "period", "24h")}
	busiest, err := p.Requests.BusiestMinutes(c.Ctx(), domain.UsageQuery{BusinessID: c.Business(), Environment: domain.Live})
	if err != nil {
		p.noteLog(c, err)
		return v, nil
	}
	var most int64
	for _, u := range busiest {
		most = max(most, u.Calls)
	}
	limit := p.options.PerKey
	v.Limit = &figureView{Text: share(most*int64(limit.Window)/int64(time.Minute), int64(limit.Limit)), Note: "in the busiest minute of the last hour",
		Href: at("/usage", "period", "1h")}
	return v, nil
}

// statusFigures returns the statuses that any delivery has, and how many deliveries there are.
func statusFigures(counts map[domain.Status]int, href func(domain.Status) string) (figures []statusFigure, total int) {
	for _, s := range domain.Statuses() {
		if n := counts[s]; n > 0 {
			total += n
			figures = append(figures, statusFigure{Name: pages.Spaced(string(s)), Tone: pages.StatusTones[s], Count: pages.Count(int64(n)),
				Href: href(s)})
		}
	}
	return figures, total
}

// endpointsToday sums up the health of the live endpoints.
func (p *Portal) endpointsToday(c *call, apps []domain.Application, href string) (figureView, error) {
	v, good, all := figureView{Href: href}, 0, 0
	for _, app := range apps[:min(len(apps), appsOnHome)] {
		found, err := p.Endpoints.List(c.Ctx(), domain.Tenant{BusinessID: c.Business(), ApplicationID: app.ID, Environment: domain.Live})
		if err != nil {
			return v, err
		}
		for _, e := range found {
			all++
			if e.Enabled && e.Health.FailingSince == nil {
				good++
			}
		}
	}
	switch {
	case all == 0:
		v.Text, v.Note = "None", "no webhook endpoint"
	case good == all:
		v.Text, v.Note, v.Tone = "Healthy", strconv.Itoa(all)+" of "+strconv.Itoa(all), "good"
	default:
		v.Text, v.Note, v.Tone = strconv.Itoa(all-good)+" not healthy", "of "+strconv.Itoa(all), "bad"
	}
	return v, nil
}
