package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// shown is what the pages show: one environment, and one application or all. People choose it in
// the frame. It is remembered in a cookie. An address that names one of them sets the choice.
type shown struct {
	Environment domain.Environment
	Application domain.ID // empty: all
	apps        []domain.Application
}

// How long a choice is remembered: one that a person made, and the first one, which follows the
// traffic.
const (
	choiceKept = 365 * 24 * time.Hour
	firstKept  = time.Hour
)

// appsInSwitch limits the applications in the frame.
const appsInSwitch = 50

// shown returns the choice, and remembers it where the address changes it. Staff choose by the
// address alone, and start with all applications on live.
func (p *Portal) shown(c *call) (shown, error) {
	const key = "portal.shown"
	if v, known := c.Get(key); known {
		return v.(shown), nil
	}
	apps, err := p.Tenants.Applications(c.Ctx(), c.Business())
	if err != nil {
		return shown{}, err
	}
	v := shown{apps: apps}
	known := func(app string) bool {
		return slices.ContainsFunc(apps, func(a domain.Application) bool { return string(a.ID) == app })
	}
	age := choiceKept
	environment, app, _ := strings.Cut(p.Remembered(c), ".")
	sound := false
	if v.Environment, sound = domain.ParseEnvironment(environment); sound && (app == "" || known(app)) && !c.ByStaff() {
		v.Application = domain.ID(app)
	} else if sound, age = false, firstKept; c.ByStaff() {
		v.Environment = domain.Live
	} else if err := p.latest(c, &v); err != nil {
		return v, err
	}
	before := v
	if asked, named := namedIn(c, "environment", "env"); named {
		if e, ok := domain.ParseEnvironment(asked); ok {
			v.Environment = e
		}
	}
	if asked, named := namedIn(c, "application", "app"); named && (asked == "" || known(asked)) {
		v.Application = domain.ID(asked)
	}
	changed := v.Environment != before.Environment || v.Application != before.Application
	if changed {
		age = choiceKept
	}
	if c.Request.Method == http.MethodGet && !c.ByStaff() && len(apps) > 0 && (changed || !sound) {
		p.Remember(c, string(v.Environment)+"."+string(v.Application), age)
	}
	c.Set(key, v)
	return v, nil
}

// namedIn returns a value of the address, from its query or its path.
func namedIn(c *call, query, param string) (value string, named bool) {
	if value = c.Param(param); value != "" {
		return value, true
	}
	return c.GetQuery(query)
}

// latest chooses the environment and application with the latest traffic. Without any it chooses
// the first application in the sandbox.
func (p *Portal) latest(c *call, v *shown) error {
	v.Environment = domain.Sandbox
	var last time.Time
	for i, a := range v.apps[:min(len(v.apps), askedToBook)] {
		if i == 0 {
			v.Application = a.ID
		}
		for _, e := range []domain.Environment{domain.Sandbox, domain.Live} {
			t := domain.Tenant{BusinessID: c.Business(), ApplicationID: a.ID, Environment: e}
			booked, err := p.Handling.List(c.Ctx(), t, domain.DeliveryFilter{NewestFirst: true}, domain.PageRequest{Limit: 1})
			if err != nil {
				return err
			}
			keys, err := p.Tenants.KeysOf(c.Ctx(), c.Business(), a.ID, e)
			if err != nil {
				return err
			}
			var at time.Time
			if len(booked) > 0 {
				at = booked[0].CreatedAt
			}
			for _, k := range keys {
				if k.LastUsedAt != nil && k.LastUsedAt.After(at) {
					at = *k.LastUsedAt
				}
			}
			if at.After(last) {
				v.Environment, v.Application, last = e, a.ID, at
			}
		}
	}
	return nil
}

// askedFor returns whose records a list shows: what its address names, and otherwise the choice. It
// returns domain.ErrNotFound if the address names what does not exist.
func (p *Portal) askedFor(c *call) (t domain.Tenant, v shown, err error) {
	if v, err = p.shown(c); err != nil {
		return t, v, err
	}
	t = domain.Tenant{BusinessID: c.Business(), ApplicationID: v.Application, Environment: v.Environment}
	if asked, named := c.GetQuery("environment"); named && asked != "" && asked != string(v.Environment) {
		return t, v, domain.ErrNotFound
	}
	if asked, named := c.GetQuery("application"); named && asked != "" && asked != string(v.Application) {
		return t, v, domain.ErrNotFound
	}
	return t, v, nil
}

// asQuery returns the parameters of an address that name the choice.
func (v shown) asQuery() url.Values {
	return url.Values{"environment": {string(v.Environment)}, "application": {string(v.Application)}}
}

// name returns the name of an application of the business.
func (v shown) name(app domain.ID) string {
	for _, a := range v.apps {
		if a.ID == app {
			return a.Name
		}
	}
	return ""
}

// shownSwitch returns the switch of the frame.
func (p *Portal) shownSwitch(c *call) (*pages.Switch, error) {
	v, err := p.shown(c)
	if err != nil {
		return nil, err
	}
	s := &pages.Switch{Live: v.Environment == domain.Live, Application: v.name(v.Application)}
	path := strings.TrimPrefix(c.Request.URL.Path, strings.TrimSuffix(c.At("/apps"), "/apps"))
	sandbox := strings.HasPrefix(path, "/sandbox")
	add := func(to *[]pages.Link, text string, e domain.Environment, app domain.ID) {
		link := pages.Link{Text: text, Href: v.sameFor(c, path, e, app)}
		if e == v.Environment && app == v.Application {
			link.Current = "true"
		}
		*to = append(*to, link)
	}
	if sandbox {
		s.Live = false
	} else {
		add(&s.Environments, "Sandbox", domain.Sandbox, v.Application)
		add(&s.Environments, "Live", domain.Live, v.Application)
	}
	if len(v.apps) > 1 {
		if !sandbox {
			add(&s.Applications, "All applications", v.Environment, "")
		}
		for _, a := range v.apps[:min(len(v.apps), appsInSwitch)] {
			add(&s.Applications, a.Name, v.Environment, a.ID)
		}
		if len(v.apps) > appsInSwitch {
			s.Applications = append(s.Applications, pages.Link{Text: "More applications", Href: c.At("/apps")})
		}
		if s.Application == "" {
			s.Application = "All applications"
		}
	}
	return s, nil
}

// keptBySwitch lists the parameters of a list that stay when another environment or application is
// chosen.
var keptBySwitch = []string{"period", "status", "failed", "route", "code"}

// sameFor returns the address of the page, or of its list, for another choice.
func (v shown) sameFor(c *call, path string, e domain.Environment, app domain.ID) string {
	v.Environment, v.Application = e, app
	head, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	values := v.asQuery()
	switch {
	case c.Param("app") != "" && app != "" && c.Param("env") != "":
		return c.At("/apps/" + string(app) + "/" + string(e) + "/keys")
	case c.Param("app") != "" && app != "":
		head += "/" + string(app)
	case "/"+head == pickupsAt:
		head += "/" + string(e)
		values.Del("environment")
	case rest == "":
		for _, name := range keptBySwitch {
			if value := c.Query(name); value != "" {
				values.Set(name, value)
			}
		}
	}
	return c.At(pages.AddressOf("/"+head, values))
}

// switchForStaff returns the switch for pages that staff see, whose frame has none; nil: the frame
// has it.
func (p *Portal) switchForStaff(c *call) (*pages.Switch, error) {
	if !c.ByStaff() {
		return nil, nil //nolint:nilnil // the frame has it
	}
	return p.shownSwitch(c)
}
