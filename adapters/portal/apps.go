package portal

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

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
}

// newAppView holds the form for an application.
type newAppView struct {
	Notice *pages.Notice
	Once   string // ID of the application that the form will create
	Name   pages.Field
	May    bool
}

func (p *Portal) askNewApp(c *call) error { return p.newAppPage(c, http.StatusOK, c.WelcomeBack()) }

func (p *Portal) newAppPage(c *call, status int, n *pages.Notice) error {
	return p.Show(c, status, "app_new", "Create an application", newAppView{
		Notice: n, May: c.May(domain.ActManageApplications), Once: p.OnceShown(c, domain.PrefixApplication, status),
		Name: c.Field(pages.Field{Name: "name", Label: "Name", Hint: "Such as Web shop.", Required: true, MaxLength: domain.NameRule.Most}),
	})
}

// appsPerPage sets the page size of the application list.
const appsPerPage = 25

func (p *Portal) listApps(c *call) error {
	if c.WelcomeBack() != nil {
		return p.askNewApp(c) // what was typed belongs there
	}
	return p.appsPage(c, http.StatusOK, c.Told())
}

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
	})
}

func (p *Portal) createApp(c *call) error {
	app, err := p.Tenants.CreateApplicationOnce(c.Ctx(), c.Actor(), p.OnceSent(c, domain.PrefixApplication), c.Business(), c.Form.Get("name"))
	if c.Wrong(err) {
		return p.newAppPage(c, http.StatusUnprocessableEntity, nil)
	}
	title := ""
	switch {
	case err == nil:
		return c.Lead("/apps/" + string(app.ID) + "?done=app-created") // which chooses it
	case domain.HasCode(err, domain.CodeFormAlreadySent):
		title = "No second application was created"
	case domain.HasCode(err, domain.CodeApplicationLimit):
		title = "No application was created"
	default:
		return err
	}
	return p.newAppPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: title, Lines: []string{pages.MessageOf(err)}})
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
	Ready  *readyView
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
	var ready *readyView
	if ownPages(c) {
		if ready, err = p.readiness(c, a); err != nil {
			return err
		}
	}
	return p.Show(c, status, "app", a.Name, oneAppView{
		Notice: n, App: app, Ready: ready, May: c.May(domain.ActManageApplications),
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
