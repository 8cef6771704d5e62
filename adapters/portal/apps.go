package portal

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// appsOnHome limits the applications on the start page.
const appsOnHome = 12

// environmentView holds one environment of an application.
type environmentView struct {
	Name, Title, BaseURL, Keys string
	Usable                     int
	LastUsedAt                 time.Time
	Expiring                   string // last four characters of a key that expires within a week
}

type appView struct {
	ID, Name     string
	Disabled     bool
	CreatedAt    time.Time
	Environments []environmentView
}

// appView returns an application with the state of its keys.
func (p *Portal) appView(c *call, a domain.Application) (appView, error) {
	v := appView{ID: string(a.ID), Name: a.Name, Disabled: a.Disabled, CreatedAt: a.CreatedAt}
	now := p.options.Clock.Now()
	for _, e := range []environmentView{
		{Name: string(domain.Sandbox), Title: "Sandbox", BaseURL: p.options.SandboxBaseURL}, {Name: string(domain.Live), Title: "Live",
			BaseURL: p.options.LiveBaseURL},
	} {
		keys, err := p.Tenants.KeysOf(c.Ctx(), c.Business(), a.ID, domain.Environment(e.Name))
		if err != nil {
			return v, err
		}
		e.Keys = "/apps/" + string(a.ID) + "/" + e.Name + "/keys"
		for _, k := range keys {
			if k.LastUsedAt != nil && k.LastUsedAt.After(e.LastUsedAt) {
				e.LastUsedAt = *k.LastUsedAt
			}
			if k.Past(now) {
				continue
			}
			e.Usable++
			if k.ExpiresAt != nil && k.ExpiresAt.Sub(now) < 7*24*time.Hour {
				e.Expiring = k.LastFour
			}
		}
		v.Environments = append(v.Environments, e)
	}
	return v, nil
}

type homeView struct {
	Notice  *pages.Notice
	Warn    []pages.Notice
	Name    string
	Todo    []todo
	AllDone bool
	Apps    []appView
	More    bool
	DocsURL string
	Ready   *readyView // nil: there is no application
}

// todo is a step towards going live.
type todo struct {
	Title, Text string
	Done        bool
	Link        pages.Link
}

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
			Lines: []string{"A link lets you in once. Set a password or add a passkey now, so that you can come back without one."},
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
	looked := apps[:min(len(apps), appsOnHome)]
	if logged {
		near, err := p.nearLimits(c, apps)
		if err != nil {
			return err
		}
		v.Warn = append(v.Warn, near...)
	}
	if v.Ready, err = p.readiness(c, looked, logged); err != nil {
		return err
	}
	usable, used, keysAt := map[string]bool{}, map[string]bool{}, "/apps"
	for _, a := range looked {
		app, err := p.appView(c, a)
		if err != nil {
			return err
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
	sandbox, live := string(domain.Sandbox), string(domain.Live)
	v.Todo = []todo{
		{Title: "Create an application", Text: "One for each program that calls the API.", Done: len(apps) > 0,
			Link: pages.Link{Href: "/apps", Text: "Applications"}},
		{Title: "Create a sandbox key", Text: "It books deliveries that are played, never driven.", Done: usable[sandbox] || used[sandbox],
			Link: pages.Link{Href: keys(domain.Sandbox), Text: "Sandbox keys"}},
		{Title: "Make the first call", Text: "Ticked when a sandbox key has been used.", Done: used[sandbox],
			Link: pages.Link{Href: p.docs("/first-delivery"), Text: "Your first delivery"}},
		{Title: "Create a live key", Text: "An owner does this. From then on a rider comes.", Done: usable[live] || used[live],
			Link: pages.Link{Href: keys(domain.Live), Text: "Live keys"}},
		{Title: "Go live", Text: "Ticked when a live key has been used.", Done: used[live], Link: pages.Link{Href: p.docs("/going-live"),
			Text: "Before going live"}},
	}
	v.AllDone = true
	for i := range v.Todo {
		v.AllDone = v.AllDone && v.Todo[i].Done
	}
	return p.Show(c, http.StatusOK, "home", "Home", v)
}

// risingErrors returns a notice if live errors are rising; nil: they are not. If the request log
// cannot be read, logged is false and the notice says so.
func (p *Portal) risingErrors(c *call) (n *pages.Notice, logged bool) {
	rise, err := p.Requests.ErrorsOf(c.Ctx(), c.Business())
	if err != nil {
		p.noteLog(c, err)
		return &pages.Notice{Tone: "warn", Lines: []string{unreadLog}}, false
	}
	if !rise.Rising() {
		return nil, true
	}
	return &pages.Notice{Tone: "bad", Title: "Errors are rising",
		Lines: []string{fmt.Sprintf("%d of %d live requests of the last hour failed (%s); in the day before it was %s.",
			rise.Errors, rise.Calls, share(rise.Errors, rise.Calls), share(rise.ErrorsBefore, rise.CallsBefore))},
		Link: &pages.Link{Href: "/errors?environment=live&period=1h", Text: "See which"}}, true
}

// docs returns the address of a documentation page, or of the applications if there are no docs.
func (p *Portal) docs(path string) string {
	if p.options.DocsURL == "" {
		return "/apps"
	}
	return p.options.DocsURL + path
}

type appsView struct {
	Notice *pages.Notice
	Apps   []domain.Application
	More   string // the next page; empty: there is none
	Later  bool   // not the first page
	May    bool
	Name   pages.Field
	Once   string // ID of the application that the form will create
}

// appsPerPage sets the page size of the application list.
const appsPerPage = 25

func (p *Portal) listApps(c *call) error { return p.appsPage(c, http.StatusOK, c.Told()) }

func (p *Portal) appsPage(c *call, status int, n *pages.Notice) error {
	after := domain.ID(c.Query("after"))
	if _, err := domain.ParseID(domain.PrefixApplication, string(after)); err != nil {
		after = ""
	}
	apps, more, err := p.Tenants.ApplicationsPage(c.Ctx(), c.Business(), after, appsPerPage)
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = "/apps?after=" + string(apps[len(apps)-1].ID)
	}
	return p.Show(c, status, "apps", "Applications", appsView{
		Notice: n, Apps: apps, More: next, Later: after != "", May: c.May(domain.ActManageApplications),
		Once: p.OnceShown(c, domain.PrefixApplication, status),
		Name: c.Field(pages.Field{Name: "name", Label: "Name", Hint: "What people will know it by, such as Web shop.", Required: true,
			MaxLength: domain.NameRule.Most}),
	})
}

func (p *Portal) createApp(c *call) error {
	app, err := p.Tenants.CreateApplicationOnce(c.Ctx(), c.Actor(), p.OnceSent(c, domain.PrefixApplication), c.Business(), c.Form.Get("name"))
	if c.Wrong(err) {
		return p.appsPage(c, http.StatusUnprocessableEntity, nil)
	}
	title := ""
	switch {
	case err == nil:
		return c.Lead("/apps/" + string(app.ID) + "?done=app-created") // which chooses it
	case domain.HasCode(err, domain.CodeFormAlreadySent):
		title = "No second application was made"
	case domain.HasCode(err, domain.CodeApplicationLimit):
		title = "No further application was made"
	default:
		return err
	}
	return p.appsPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: title, Lines: []string{pages.MessageOf(err)}})
}

// app returns the application in the address.
func (p *Portal) app(c *call) (domain.Application, error) {
	return p.Tenants.ApplicationOf(c.Ctx(), c.Business(), domain.ID(c.Param("app")))
}

type oneAppView struct {
	Notice *pages.Notice
	App    appView
	May    bool
	Name   pages.Field // of the rename form
}

func (p *Portal) showApp(c *call) error { return p.appPage(c, http.StatusOK, c.Told()) }

func (p *Portal) appPage(c *call, status int, n *pages.Notice) error {
	a, err := p.app(c)
	if err != nil {
		return err
	}
	app, err := p.appView(c, a)
	if err != nil {
		return err
	}
	return p.Show(c, status, "app", a.Name, oneAppView{
		Notice: n, App: app, May: c.May(domain.ActManageApplications),
		Name: c.Field(pages.Field{Name: "name", Label: "Name", Value: a.Name, Required: true, MaxLength: domain.NameRule.Most}),
	})
}

func (p *Portal) renameApp(c *call) error {
	a, err := p.Tenants.RenameApplication(c.Ctx(), c.Actor(), domain.ID(c.Param("app")), c.Form.Get("name"))
	if c.Wrong(err) {
		return p.appPage(c, http.StatusUnprocessableEntity, nil)
	}
	if err != nil {
		return err
	}
	return c.Lead("/apps/" + string(a.ID) + "?done=app-renamed")
}

func (p *Portal) askDisable(c *call) error {
	a, err := p.app(c)
	if err != nil {
		return err
	}
	app, err := p.appView(c, a)
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "disable", "Disable "+a.Name, oneAppView{Notice: c.Told(), App: app, May: true})
}

func (p *Portal) disableApp(c *call) error { return p.setDisabled(c, true, "app-disabled") }
func (p *Portal) enableApp(c *call) error  { return p.setDisabled(c, false, "app-enabled") }

func (p *Portal) setDisabled(c *call, disabled bool, said string) error {
	app, err := p.Tenants.SetDisabled(c.Ctx(), c.Actor(), domain.ID(c.Param("app")), disabled)
	var e *domain.Error
	if errors.As(err, &e) && e.Kind == domain.KindConflict {
		return p.appPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "It stays disabled", Lines: []string{e.Message}})
	}
	if err != nil {
		return err
	}
	return c.Lead("/apps/" + string(app.ID) + "?done=" + said)
}
