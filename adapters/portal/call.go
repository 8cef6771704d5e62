package portal

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"waybill/adapters/pages"
	"waybill/application/people"
	"waybill/domain"
)

// call is one request.
type call struct {
	*gin.Context
	principal domain.Principal
	open      context.Context // lasts as long as the connection, for an answer that goes on
	// form is what was sent, or what was typed before a session was lost.
	form url.Values
	file []byte // of the form; nil: none
	// resumed: form was typed in a session that was lost.
	resumed bool
	mark    string            // by which the browser is known again
	errors  map[string]string // of fields, by name
}

// maxMark is more than a mark has.
const maxMark = 64

// resumedForm is the key under which a form that was kept goes with a request.
type resumedForm struct{}

func (p *Portal) newCall(c *gin.Context) *call {
	form, resumed := c.Request.Context().Value(resumedForm{}).(url.Values)
	made := &call{Context: c, form: form, resumed: resumed}
	if cookie, err := c.Request.Cookie(p.deviceCookie()); err == nil && len(cookie.Value) <= maxMark {
		made.mark = cookie.Value
	}
	return made
}

func (c *call) ctx() context.Context { return c.Request.Context() }

// business is the one that the session shows.
func (c *call) business() domain.ID { return c.principal.Session.BusinessID }

func (c *call) actor() domain.AuditActor { return c.principal.Actor(requestID(c.Context)) }

func (c *call) browser() people.Browser {
	return people.Browser{Address: domain.ClientAddress(c.ClientIP()), Device: c.Request.UserAgent(), Mark: c.mark,
		RequestID: requestID(c.Context)}
}

// checkIDs answers domain.ErrNotFound where a parameter of the path is no ID.
func (c *call) checkIDs() error {
	for _, param := range c.Params {
		if prefix, record := records[param.Key]; record {
			if _, err := domain.ParseID(prefix, param.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// may reports whether the role includes an act, however old the sign-in is.
func (c *call) may(a domain.Act) bool { return domain.May(domain.Portal, c.principal.Role, a) }

// wrong takes over the problems of fields, and reports whether err is about fields.
func (c *call) wrong(err error) bool {
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.KindInvalid {
		return false
	}
	c.errors = map[string]string{}
	for _, f := range e.Fields {
		c.errors[f.Field] = sentence(f.Message)
	}
	return true
}

// sentence is a message of a field, which the API begins small behind the field's name, as
// it stands beside a field of a form.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return message
	}
	message = string(unicode.ToUpper(first)) + message[size:]
	if strings.HasSuffix(message, ".") {
		return message
	}
	return message + "."
}

// field is one of a form, with what was typed and what is wrong with it.
func (c *call) field(f pages.Field) pages.Field {
	if f.ID == "" {
		f.ID = f.Name
	}
	f.Error = c.errors[f.Name]
	if typed, sent := c.form[f.Name]; sent && len(typed) > 0 {
		f.Value = typed[0]
		for i, o := range f.Options {
			f.Options[i].Chosen = slices.Contains(typed, o.Value)
		}
	}
	return f
}

// retryAfter tells when to try again, where an error does.
func (c *call) retryAfter(err error) {
	var e *domain.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}

// welcomeBack is the notice above a form that was kept.
func (c *call) welcomeBack() *pages.Notice {
	if !c.resumed {
		return nil
	}
	return &pages.Notice{Tone: "good", Title: "You are signed in again",
		Lines: []string{"What you typed is still here. Send it when it is right."}}
}

// told is the notice for a change after which the browser was led here.
func (c *call) told() *pages.Notice {
	if n := c.welcomeBack(); n != nil {
		return n
	}
	if text := done[c.Query("done")]; text != "" {
		return &pages.Notice{Tone: "good", Title: text}
	}
	return nil
}

// done are the texts for the parameter of the same name.
var done = map[string]string{
	"app-created":     "The application was created. Next it needs a key.",
	"app-renamed":     "The application was renamed. Its keys stay as they are.",
	"app-disabled":    "The application was disabled. None of its keys works any more.",
	"app-enabled":     "The application was enabled. Its keys work again.",
	"key-revoked":     "The key was revoked. It works no more, within two seconds everywhere.",
	"role":            "The role was changed. It counts from the next page on.",
	"removed":         "The person was removed, and is signed out here.",
	"password":        "The password was saved. All your other sessions have ended.",
	"passkey-added":   "The passkey was added. It lets you in without a password.",
	"passkey-renamed": "The passkey was renamed.",
	"passkey-removed": "The passkey was removed. All your other sessions have ended.",
	"ended":           "The session was ended.",
	"ended-others":    "All other sessions were ended.",
	"out":             "You are signed out.",

	"delivery-cancelled": "The delivery was cancelled.",
	"booked":             "The sample was booked. Its webhooks are in the inbox.",
	"delivery-moved":     "The delivery was moved, and its webhooks are on their way.",
	"simulated":          "The simulation runs. Reload the page to see how far it is.",
	"pickup-created":     "The pickup location was created.",
	"pickup-saved":       "The pickup location was saved.",
	"pickup-archived":    "The pickup location was archived. No new order can name it.",
	"pickups-imported":   "The table was imported.",
	"pickup-restored":    "The pickup location is in use again.",
	"simulation-stopped": "No simulation runs any more. The delivery stays where it is.",
	"webhook-paused":     "The endpoint was paused. Events are held for it.",
	"webhook-resumed":    "The endpoint was resumed. What was held meanwhile is sent when you recover it.",
	"webhook-saved":      "The endpoint was saved. It counts within seconds.",
	"webhook-deleted":    "The endpoint was deleted, with what waited for it.",
	"webhook-tested":     "The test event is on its way. Reload the page to see the answer.",
	"webhooks-recovered": "The webhooks are on their way again.",
	"webhook-resent":     "One more try is on its way. Reload the page to see the answer.",
	"link-sent": "If this address has an account here, a link is on its way to it. It lets you in once; the mail " +
		"tells until when.",
}

// lead sends the browser on after a change, so that a reload repeats nothing.
func (c *call) lead(to string) error {
	c.Header("Location", to)
	c.Status(http.StatusSeeOther)
	return nil
}

// menu is what stands beside every page.
func (p *Portal) menu(c *call) []pages.Link {
	links := []pages.Link{
		{Href: "/", Text: "Home", Icon: "home"},
		{Href: "/apps", Text: "Applications", Icon: "apps"},
		{Href: "/deliveries", Text: "Deliveries", Icon: "deliveries"},
		{Href: pickupsAt, Text: "Pickup locations", Icon: "pickups"},
		{Href: "/webhooks", Text: "Webhooks", Icon: "webhooks"},
		{Href: "/sandbox", Text: "Sandbox", Icon: "sandbox"},
		{Href: "/requests", Text: "Requests", Icon: "requests"},
		{Href: "/errors", Text: "Errors", Icon: "errors"},
		{Href: "/usage", Text: "Usage", Icon: "usage"},
		{Href: "/people", Text: "People", Icon: "people"},
	}
	if c.may(domain.ActReadAudit) {
		links = append(links, pages.Link{Href: "/audit", Text: "Audit log", Icon: "audit"})
	}
	links = append(links, pages.Link{Href: "/account", Text: "Account", Icon: "account"})
	path := c.Request.URL.Path
	for i, l := range links {
		switch {
		case path == l.Href:
			links[i].Current = "page"
		case l.Href != "/" && len(path) > len(l.Href) && path[:len(l.Href)+1] == l.Href+"/":
			links[i].Current = "true"
		}
	}
	if p.options.DocsURL != "" {
		links = append(links, pages.Link{Href: p.options.DocsURL, Text: "Documentation", Icon: "docs"})
	}
	return links
}

const site = "developers"

// show answers with a page for the person of the session.
func (p *Portal) show(c *call, status int, name, title string, body any) error {
	business, err := p.Tenants.Business(c.ctx(), c.business())
	if err != nil {
		return err
	}
	return p.send(c, status, name, pages.Page{
		Title: title, Site: site, Home: "/", Menu: p.menu(c), Find: searchBox(c), Body: body,
		Who: &pages.Who{Name: c.principal.Person.Name, Role: string(c.principal.Role), Place: business.Name, SignOut: "/signout"},
	})
}

// showPlain answers with a page by itself.
func (p *Portal) showPlain(c *call, status int, name, title string, body any) error {
	return p.send(c, status, name, pages.Page{Title: title, Site: site, Home: "/", Body: body})
}

// notice answers with a page that only tells something, and needs no database.
func (p *Portal) notice(c *call, status int, n pages.Notice) {
	if err := p.showPlain(c, status, "notice", n.Title, n); err != nil {
		panic(err) // the page and its data are ours
	}
}

func (p *Portal) send(c *call, status int, name string, page pages.Page) error {
	body, err := p.pages.Render(name, page)
	if err != nil {
		return domain.Internal(err)
	}
	if page.Who != nil {
		body = nameBusiness(body, c.business())
	}
	c.Header("Content-Length", strconv.Itoa(len(body)))
	c.Data(status, html, body)
	return nil
}
