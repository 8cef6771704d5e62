package portal

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"waybill/adapters/pages"
	"waybill/application/people"
	"waybill/domain"
)

// confirmField marks a form that was sent again with the password.
const confirmField = "confirm"

// cookieName is another one than the console's, because cookies are not told apart by
// port. Over https its prefix keeps every other host from setting it.
func (p *Portal) cookieName() string {
	if p.secure {
		return "__Host-waybill_portal"
	}
	return "waybill_portal"
}

// setCookie keeps the secret of a session in the browser; an empty one forgets it.
func (p *Portal) setCookie(c *call, secret string) {
	age := int(domain.SessionLifetime.Seconds())
	if secret == "" {
		age = -1
	}
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure wherever the portal has https; dev has not
		Name: p.cookieName(), Value: secret, Path: "/", MaxAge: age, Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// look finds a link to the portal.
func (p *Portal) look(c *call) error {
	link, err := p.Access.Look(c.ctx(), c.browser(), c.Param("link"))
	if err == nil && link.Site() != domain.Portal {
		return domain.LinkUnknown()
	}
	return err
}

// showLink changes nothing: a scanner of mails that opens it spends no link.
func (p *Portal) showLink(c *call) error {
	if err := p.look(c); err != nil {
		return p.badLink(c, err)
	}
	return p.showPlain(c, http.StatusOK, "enter", "Sign in", nil)
}

func (p *Portal) useLink(c *call) error {
	err := p.look(c)
	var entered people.Entered
	if err == nil {
		entered, err = p.Access.Enter(c.ctx(), c.browser(), c.Param("link"))
	}
	if err != nil {
		return p.badLink(c, err)
	}
	p.setCookie(c, entered.Secret)
	return c.lead("/")
}

// badLink tells why a link does not let in, and how to get in all the same.
func (p *Portal) badLink(c *call, err error) error {
	title := ""
	switch {
	case domain.HasCode(err, domain.CodeLinkExpired):
		title = "This link has expired"
	case domain.HasCode(err, domain.CodeLinkUsed):
		title = "This link was used already"
	case domain.HasCode(err, domain.CodeLinkUnknown):
		title = "There is no such link"
	default:
		return err
	}
	return p.showPlain(c, statusOf(err), "badlink", title, pages.Notice{Tone: "bad", Title: title, Lines: []string{messageOf(err)}})
}

// signInView is the page for signing in.
type signInView struct {
	Notice      *pages.Notice
	Email, Pass pages.Field
	Next        string
	Kept        []keptField // of a form that was sent without a session
}

type keptField struct{ Name, Value string }

// kept are the fields of a form, without passwords and what belongs to signing in.
func kept(form url.Values) (fields []keptField) {
	for name, values := range form {
		if name == "password" || name == "current_password" || name == confirmField {
			continue
		}
		for _, value := range values {
			fields = append(fields, keptField{name, value})
		}
	}
	return fields
}

func (p *Portal) signInPage(c *call, status int, v signInView) error {
	v.Email = c.field(pages.Field{Name: "email", Label: "E-mail address", Type: "email", Autocomplete: "username", Required: true, MaxLength: domain.MaxEmail})
	v.Pass = pages.Field{ID: "password", Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true, MaxLength: domain.MaxPassword}
	return p.showPlain(c, status, "signin", "Sign in", v)
}

func (p *Portal) showSignIn(c *call) error {
	return p.signInPage(c, http.StatusOK, signInView{Notice: c.told(), Next: ownPath(c.Query("next"))})
}

// askToSignIn keeps the page, or the form that was sent, for after the sign-in.
func (p *Portal) askToSignIn(c *call) {
	if c.Request.Method != http.MethodPost {
		to := "/signin"
		if next := ownPath(c.Request.URL.RequestURI()); next != "/" {
			to += "?next=" + url.QueryEscape(next)
		}
		_ = c.lead(to) // never fails
		return
	}
	v := signInView{Next: ownPath(c.Request.URL.Path), Kept: kept(c.form), Notice: &pages.Notice{
		Tone: "warn", Title: "You are not signed in any more", Lines: []string{"Nothing was changed. Sign in, and what you typed will still be here."},
	}}
	c.form = nil // its fields are not those of this page
	if err := p.signInPage(c, http.StatusUnauthorized, v); err != nil {
		p.fail(c, err)
	}
}

func (p *Portal) signIn(c *call) error {
	next := ownPath(c.form.Get("next"))
	entered, err := p.Access.SignIn(c.ctx(), c.browser(), domain.Portal, c.form.Get("email"), c.form.Get("password"))
	before := url.Values{}
	for name, values := range c.form {
		if field, ok := strings.CutPrefix(name, "kept."); ok {
			before[field] = values
		}
	}
	var e *domain.Error
	if errors.As(err, &e) && (e.Kind == domain.KindUnauthenticated || e.Kind == domain.KindLimited) {
		if e.Kind == domain.KindLimited {
			return err
		}
		return p.signInPage(c, statusOf(err), signInView{Next: next, Kept: kept(before), Notice: &pages.Notice{Tone: "bad", Title: "You are not signed in", Lines: []string{e.Message}}})
	}
	if err != nil {
		return err
	}
	p.setCookie(c, entered.Secret)
	if len(before) == 0 {
		return c.lead(next)
	}
	return p.resume(c, entered.Secret, next, before)
}

// resume shows the page of a form again, filled in as it was before the sign-in. It
// is not sent by itself: another person may have signed in.
func (p *Portal) resume(c *call, secret, next string, form url.Values) error {
	to, err := url.Parse(next)
	if err != nil {
		return c.lead("/")
	}
	again := c.Request.Clone(context.WithValue(c.ctx(), resumedForm{}, form))
	again.Method, again.URL, again.Body, again.ContentLength = http.MethodGet, to, http.NoBody, 0
	again.Header.Set("Cookie", p.cookieName()+"="+secret)
	p.engine.ServeHTTP(c.Writer, again)
	return nil
}

func (p *Portal) signOut(c *call) error {
	err := p.identify(c)
	if err == nil {
		err = p.Access.SignOut(c.ctx(), c.principal, requestID(c.Context))
	}
	if err != nil && !domain.HasCode(err, domain.CodeSessionEnded) {
		return err
	}
	p.setCookie(c, "")
	return c.lead("/signin?done=out")
}

// againView asks for the password in the middle of a form.
type againView struct {
	Notice      pages.Notice
	Action      string
	Kept        []keptField
	Pass        pages.Field
	HasPassword bool
	Back        string
}

// askAgain asks for the password and keeps the form as it was sent.
func (p *Portal) askAgain(c *call, status int, problem string) error {
	v := againView{
		Action: c.Request.URL.Path, Kept: kept(c.form), HasPassword: c.principal.Person.PasswordHash != "", Back: "/",
		Notice: pages.Notice{Tone: "warn", Title: "Sign in again to go on", Lines: []string{"This takes a sign-in of the last 10 minutes. What you sent is kept and goes on from here."}},
		Pass:   pages.Field{ID: "password", Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true, MaxLength: domain.MaxPassword, Error: problem},
	}
	if err := p.show(c, status, "again", "Sign in again", v); err != nil {
		return err
	}
	return errAnswered
}

// confirm takes the password in the session that goes on.
func (p *Portal) confirm(c *call, password string) error {
	if err := p.Access.Confirm(c.ctx(), c.browser(), c.principal, password); err != nil {
		return err
	}
	return p.identify(c)
}

// ownPath is a path of the portal, or its start page.
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(text, "\\\r\n\t") ||
		strings.HasPrefix(u.Path, "/signin") || strings.HasPrefix(u.Path, "/signout") || strings.HasPrefix(u.Path, "/enter") {
		return "/"
	}
	return u.RequestURI()
}
