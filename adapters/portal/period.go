package portal

import (
	"net/url"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// period is a time span until now, in steps.
type period struct {
	name, text  string
	step        domain.UsageStep
	by          string // the name of a step
	every       time.Duration
	steps       int
	from, until time.Time
}

// periods lists the time spans to choose from.
var periods = []period{
	{name: "1h", text: "Last hour", step: domain.UsageByMinute, by: "Minute", every: time.Minute, steps: 60},
	{name: "24h", text: "Last 24 hours", step: domain.UsageByHour, by: "Hour", every: time.Hour, steps: 24},
	{name: "7d", text: "Last 7 days", step: domain.UsageByDay, by: "Day of UTC", every: 24 * time.Hour, steps: 7},
	{name: "30d", text: "Last 30 days", step: domain.UsageByDay, by: "Day of UTC", every: 24 * time.Hour, steps: 30},
	{name: "90d", text: "Last 90 days", step: domain.UsageByDay, by: "Day of UTC", every: 24 * time.Hour, steps: 90},
}

const defaultPeriod = 1

// figures holds the query of a page with figures.
type figures struct {
	period
	query   domain.UsageQuery
	values  url.Values // from the address, for links
	Periods pages.Tabs
	Switch  *pages.Switch // for staff, whose frame has none
}

// figuresOf reads the query from the address. The step in progress counts as one of the steps, so
// the time span can be shorter than its name by almost one step.
func (p *Portal) figuresOf(c *call, path string) (f figures, choice shown, err error) {
	if choice, err = p.shown(c); err != nil {
		return f, choice, err
	}
	now := p.options.Clock.Now()
	f = figures{period: periods[defaultPeriod], values: choice.asQuery(), Periods: pages.Tabs{Label: "Time"}}
	if f.Switch, err = p.switchForStaff(c); err != nil {
		return f, choice, err
	}
	for i, one := range periods {
		if one.name == c.Query("period") {
			f.period = periods[i]
		}
	}
	for _, one := range periods {
		link := pages.Link{Href: c.At(filled(path, url.Values{"period": {one.name}, "key": {c.Query("key")}})), Text: one.text}
		if one.name == f.name {
			link.Current = "page"
		}
		f.Periods.Tabs = append(f.Periods.Tabs, link)
	}
	f.until = now.Truncate(time.Minute).Add(time.Minute)
	f.from = now.Truncate(f.every).Add(-time.Duration(f.steps-1) * f.every)
	for _, name := range []string{"period", "application", "environment", "key"} {
		if value := c.Query(name); value != "" && len(value) <= pages.MaxSearch {
			f.values.Set(name, value)
		}
	}
	if c.Query("key") != "" { // it names a record, which is in one environment
		f.values.Del("environment")
		f.values.Del("application")
	}
	f.query = domain.UsageQuery{
		BusinessID: c.Business(), ApplicationID: domain.ID(f.values.Get("application")), KeyID: domain.ID(f.values.Get("key")),
		Environment: domain.Environment(f.values.Get("environment")), From: f.from, Until: f.until,
	}
	return f, choice, nil
}

// requests returns the list of the requests that a figure counts.
func (f *figures) requests(from, until time.Time, more ...pages.Kept) string {
	a := pages.RequestsAsked{Values: url.Values{}}
	for _, name := range []string{"application", "environment", "key"} {
		if value := f.values.Get(name); value != "" {
			a.Values.Set(name, value)
		}
	}
	for _, m := range more {
		a.Values.Set(m.Name, m.Value)
	}
	a.Values.Set("created_after", from.UTC().Format(time.RFC3339))
	return a.With("created_before", until.UTC().Format(time.RFC3339))
}

// same returns another page with the same query.
func (f *figures) same(path string) string { return pages.AddressOf(path, f.values) }

// keyNames returns the display names of a business's keys.
func (p *Portal) keyNames(c *call, apps []domain.Application) (map[domain.ID]keyName, error) {
	names := map[domain.ID]keyName{}
	for _, app := range apps[:min(len(apps), appsWithKeys)] {
		for _, e := range []domain.Environment{domain.Sandbox, domain.Live} {
			keys, err := p.Tenants.KeysOf(c.Ctx(), c.Business(), app.ID, e)
			if err != nil {
				return nil, err
			}
			for _, k := range keys {
				names[k.ID] = keyName{Name: k.Name, LastFour: k.LastFour, Application: app.Name, Environment: string(e), Href: "/apps/" + string(app.ID) + "/" +
					string(e) + "/keys"}
			}
		}
	}
	return names, nil
}

// appsWithKeys limits the applications whose keys have names. Other keys are shown by ID.
const appsWithKeys = 50

type keyName struct{ Name, LastFour, Application, Environment, Href string }

// label returns the name of a key with its last four characters, or these alone.
func (k keyName) label() string { return strings.TrimSpace(k.Name + " …" + k.LastFour) }

// moreCalls orders sums by calls, most first, and then by text.
func moreCalls(aCalls, bCalls int64, a, b string) bool {
	return aCalls > bCalls || aCalls == bCalls && a < b
}
