package portal

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
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

// deviceCookie names the cookie by which a browser is known again after a sign-in.
func (p *Portal) deviceCookie() string {
	if p.secure {
		return "__Host-waybill_device"
	}
	return "waybill_device"
}

// welcome keeps the session in the browser, and the mark of the browser.
func (p *Portal) welcome(c *call, e people.Entered) {
	p.setCookie(c, e.Secret)
	if e.Mark != "" {
		http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure wherever the portal has https; dev has not
			Name: p.deviceCookie(), Value: e.Mark, Path: "/", MaxAge: int(domain.DeviceKept.Seconds()), Secure: p.secure, HttpOnly: true,
			SameSite: http.SameSiteLaxMode,
		})
	}
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
	p.welcome(c, entered)
	return c.lead("/")
}

// badLink tells why a link does not let in, and how to get in all the same.
func (p *Portal) badLink(c *call, err error) error {
	var title, line string
	switch {
	case domain.HasCode(err, domain.CodeLinkExpired):
		title, line = "This link has expired", "A link for signing in works for 10 minutes, and an invitation for 7 days."
	case domain.HasCode(err, domain.CodeLinkUsed):
		title, line = "This link was used already", "A link lets in once."
	case domain.HasCode(err, domain.CodeLinkReplaced):
		title, line = "This link works no more", "It was never used: a later link has replaced it, or your access has changed since."
	case domain.HasCode(err, domain.CodeLinkUnknown):
		title, line = "There is no such link", "A part of its address may be missing: open it once more, whole."
	default:
		return err
	}
	return p.showPlain(c, statusOf(err), "badlink", title, badLinkView{
		Notice: pages.Notice{Tone: "bad", Title: title, Lines: []string{line}}, Mails: p.options.Mails, Address: p.linkField(c),
	})
}

type badLinkView struct {
	Notice  pages.Notice
	Mails   bool
	Address pages.Field
}

// linkField is where one types the address to which a link is to go.
func (p *Portal) linkField(c *call) pages.Field {
	f := pages.Field{ID: "link-email", Name: "email", Label: "E-mail address", Type: "email", Autocomplete: "email", Required: true,
		MaxLength: domain.MaxEmail}
	f.Error = c.errors[linkError]
	if f.Error != "" {
		f.Value = c.form.Get("email")
	}
	return f
}

// linkError is under which the problem of that field is kept: the page has another one
// of the same name.
const linkError = "link"

// signInView is the page for signing in.
type signInView struct {
	Notice      *pages.Notice
	Mails       bool
	Address     pages.Field
	Email, Pass pages.Field
	Passkey     pages.Passkey
	Next        string
	Kept        []keptField // of a form that was sent without a session
}

type keptField struct{ Name, Value string }

// mostKept is how long a field is that a form for signing in carries along, in bytes.
const mostKept = 16 << 10

// ofSigningIn are fields that no form carries along.
var ofSigningIn = []string{"password", "secret", "current_password", "ceremony", "passkey", confirmField}

// kept are the fields of a form, without passwords and what belongs to signing in, and
// without what is too long to be sent along.
func kept(form url.Values) (fields []keptField) {
	for name, values := range form {
		if slices.Contains(ofSigningIn, name) {
			continue
		}
		for _, value := range values {
			if len(value) > mostKept {
				continue
			}
			fields = append(fields, keptField{name, value})
		}
	}
	return fields
}

// tooLongToKeep reports that kept leaves out a part of the form, or its file.
func (c *call) tooLongToKeep() bool {
	for _, values := range c.form {
		if slices.ContainsFunc(values, func(value string) bool { return len(value) > mostKept }) {
			return true
		}
	}
	return len(c.file) > 0
}

func (p *Portal) signInPage(c *call, status int, v signInView) error {
	v.Email = c.field(pages.Field{Name: "email", Label: "E-mail address", Type: "email", Autocomplete: "username", Required: true,
		MaxLength: domain.MaxEmail})
	v.Pass = pages.Field{ID: "password", Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password",
		Required: true, MaxLength: domain.MaxPassword}
	for i := range v.Kept {
		v.Kept[i].Name = "kept." + v.Kept[i].Name
	}
	v.Passkey = p.passkeyForm(pages.Passkey{
		Action: "/signin", Ask: "/signin/passkey", Button: "Sign in with a passkey", Second: true,
	}, append(v.Kept, keptField{"next", v.Next})...)
	v.Mails, v.Address = p.options.Mails, p.linkField(c)
	return p.showPlain(c, status, "signin", "Sign in", v)
}

// sendLink has a link sent by mail. What it answers says nothing about who has an account.
func (p *Portal) sendLink(c *call) error {
	if !p.options.Mails {
		return domain.ErrNotFound
	}
	err := p.Access.SendLink(c.ctx(), c.browser(), domain.Portal, c.form.Get("email"))
	if c.wrong(err) {
		c.errors = map[string]string{linkError: c.errors["email"]}
		return p.signInPage(c, http.StatusUnprocessableEntity, signInView{})
	}
	if err != nil {
		return err
	}
	return c.lead("/signin?done=link-sent")
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
		Tone: "warn", Title: "You are not signed in any more",
		Lines: []string{"Nothing was changed. Sign in, and what you typed will still be here."},
	}}
	if c.tooLongToKeep() {
		v.Notice.Lines = []string{"Nothing was changed. A file or a long text is not kept meanwhile: sign in, and then choose or paste it again."}
	}
	c.form = nil // its fields are not those of this page
	if err := p.signInPage(c, http.StatusUnauthorized, v); err != nil {
		p.fail(c, err)
	}
}

func (p *Portal) signIn(c *call) error {
	next := ownPath(c.form.Get("next"))
	entered, err := p.enterBy(c)
	before := url.Values{}
	for name, values := range c.form {
		if field, ok := strings.CutPrefix(name, "kept."); ok {
			before[field] = values
		}
	}
	var e *domain.Error
	if errors.As(err, &e) && (e.Kind == domain.KindUnauthenticated || postponed(err)) {
		c.retryAfter(err)
		return p.signInPage(c, statusOf(err), signInView{Next: next, Kept: kept(before),
			Notice: &pages.Notice{Tone: "bad", Title: "You are not signed in", Lines: []string{e.Message}}})
	}
	if err != nil {
		return err
	}
	p.welcome(c, entered)
	if len(before) == 0 {
		return c.lead(next)
	}
	return p.resume(c, entered.Secret, next, before)
}

// enterBy signs in by what the form has.
func (p *Portal) enterBy(c *call) (people.Entered, error) {
	if !c.form.Has("passkey") {
		return p.Access.SignIn(c.ctx(), c.browser(), domain.Portal, c.form.Get("email"), c.form.Get("password"))
	}
	ceremony, answer := c.answered()
	entered, err := p.Passkeys.SignIn(c.ctx(), c.browser(), domain.Portal, ceremony, answer)
	p.refusedPasskey(c, err)
	return entered, err
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
	p.router.ServeHTTP(c.Writer, again)
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

// againView asks for the password or a passkey in the middle of a form.
type againView struct {
	Notice      pages.Notice
	Problem     *pages.Notice // of a passkey
	Action      string
	Kept        []keptField
	Pass        pages.Field
	HasPassword bool
	Passkey     *pages.Passkey // nil: the person has none
	Back        string
}

// askAgain asks for the password or a passkey, and keeps the form as it was sent.
func (p *Portal) askAgain(c *call, status int, problem error) error {
	known, err := p.Passkeys.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	v := againView{
		Action: c.Request.URL.Path, Kept: kept(c.form), HasPassword: c.principal.Person.PasswordHash != "", Back: "/",
		Notice: pages.Notice{Tone: "warn", Title: "Sign in again to go on",
			Lines: []string{"This takes a sign-in of the last 10 minutes. What you sent is kept and goes on from here."}},
		Pass: pages.Field{ID: "password", Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true,
			MaxLength: domain.MaxPassword},
	}
	if c.tooLongToKeep() {
		v.Notice.Lines = []string{"This takes a sign-in of the last 10 minutes. A file or a long text is not kept: send it again after that."}
	}
	switch {
	case problem != nil && c.form.Has("passkey"):
		v.Problem = &pages.Notice{Tone: "bad", Title: "You are not signed in", Lines: []string{messageOf(problem)}}
	case problem != nil:
		v.Pass.Error = messageOf(problem)
	}
	if len(known) > 0 {
		form := p.passkeyForm(pages.Passkey{
			Action: v.Action, Ask: "/account/confirm/passkey", Button: "Go on with a passkey", Second: v.HasPassword,
		}, append(v.Kept, keptField{confirmField, "1"})...)
		v.Passkey = &form
	}
	if err := p.show(c, status, "again", "Sign in again", v); err != nil {
		return err
	}
	return errAnswered
}

// confirm takes the passkey or the password of a form in the session that goes on.
func (p *Portal) confirm(c *call) (err error) {
	if c.form.Has("passkey") {
		ceremony, answer := c.answered()
		err = p.Passkeys.ConfirmByPasskey(c.ctx(), c.browser(), c.principal, ceremony, answer)
	} else {
		err = p.Access.Confirm(c.ctx(), c.browser(), c.principal, cmp.Or(c.form.Get("current_password"), c.form.Get("password")))
	}
	if err != nil {
		return err
	}
	return p.identify(c)
}

// ownPath is a path of the portal, or its start page.
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(text, "\\\r\n\t") ||
		strings.HasPrefix(u.Path, "/signin") || strings.HasPrefix(u.Path, "/signout") || strings.HasPrefix(u.Path, "/enter") {
		return "/"
	}
	return u.RequestURI()
}
