package pages

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"waybill/application/people"
	"waybill/domain"
)

// look reads a link of the site. It returns LinkUnknown for a link of another site.
func (s *Site) look(c *Call) (domain.Link, error) {
	link, err := s.o.Access.Look(c.Ctx(), c.Browser(), c.Param("link"))
	if err == nil && link.Site() != s.o.Site {
		return link, domain.LinkUnknown()
	}
	return link, err
}

// showLink changes nothing, so an email scanner that opens a link does not use it up.
func (s *Site) showLink(c *Call) error {
	link, err := s.look(c)
	if err != nil {
		return s.badLink(c, err)
	}
	m, takesSignIn, err := s.o.Access.InvitedMember(c.Ctx(), link)
	if err != nil {
		return err
	}
	if takesSignIn {
		return s.acceptPage(c, http.StatusOK, m, nil)
	}
	return s.ShowPlain(c, http.StatusOK, "enter", "Sign in", link.EndsCredentials(m.Person))
}

func (s *Site) useLink(c *Call) error {
	link, err := s.look(c)
	if err != nil {
		return s.badLink(c, err)
	}
	m, takesSignIn, err := s.o.Access.InvitedMember(c.Ctx(), link)
	if err != nil {
		return err
	}
	if takesSignIn {
		return s.accept(c, m)
	}
	entered, err := s.o.Access.Enter(c.Ctx(), c.Browser(), c.Param("link"))
	if err != nil {
		return s.badLink(c, err)
	}
	s.welcome(c, entered)
	if entered.CredentialsEnded {
		return c.Lead("/account?done=email-proven")
	}
	return c.Lead("/")
}

// badLink shows why a link does not work, and how to sign in without it.
func (s *Site) badLink(c *Call, err error) error {
	s.noteRefusal(c, err)
	var title, line string
	switch {
	case domain.HasCode(err, domain.CodeLinkExpired):
		title, line = "This link has expired", "A sign-in link works for 10 minutes. An invitation works for 7 days."
	case domain.HasCode(err, domain.CodeLinkUsed):
		title, line = "This link was already used", "Each link works only once."
	case domain.HasCode(err, domain.CodeLinkReplaced):
		title, line = "This link has stopped working", "A newer link replaced it, or your access has changed since it was made."
	case domain.HasCode(err, domain.CodeLinkUnknown):
		title, line = "There is no such link", "Part of its address may be missing. Open the complete link again."
	default:
		return err
	}
	return s.ShowPlain(c, StatusOf(err), "badlink", title, badLinkView{
		Notice: Notice{Tone: "bad", Title: title, Lines: []string{line}}, Mails: s.o.Mails, Address: s.linkField(c),
		NewLink: s.o.Words.NewLink,
	})
}

type badLinkView struct {
	Notice  Notice
	Mails   bool
	Address Field
	NewLink string // how to get a link
}

// linkField returns the field for the email address of a new link.
func (s *Site) linkField(c *Call) Field {
	f := Field{ID: "link-email", Name: "email", Label: "Email address", Type: "email", Autocomplete: "email", Required: true,
		MaxLength: domain.MaxEmail}
	f.Error = c.Faults[linkError]
	if f.Error != "" {
		f.Value = c.Field(f).Value
	}
	return f
}

// linkError names the error of that field in c.Faults. The page has another field with the name
// email.
const linkError = "link"

// signInView holds the data of the sign-in page.
type signInView struct {
	Notice      *Notice
	Mails       bool
	Address     Field
	Email, Pass Field
	Passkey     Passkey
	Company     string // link to the company's identity provider; empty: there is none
	Next        string
	To, AskLink string // the site's name, and whom to ask for a link
	Kept        []Kept // of a form that was sent without a session
}

// Limits of a form that the sign-in page carries along.
const (
	mostKept       = 64 << 10 // bytes of names and values, HTML-escaped
	mostKeptFields = 100
)

// ofSigningIn lists the fields that are never carried along.
var ofSigningIn = []string{"password", "secret", "current_password", "ceremony", "passkey", confirmField}

// kept returns the fields of a form, without passwords and sign-in fields. If the form has a file
// or exceeds the limits, it returns no fields and whole is false.
func (c *Call) kept(form url.Values) (fields []Kept, whole bool) {
	if len(c.File) > 0 {
		return nil, false
	}
	size := 0
	for name, values := range form {
		if slices.Contains(ofSigningIn, name) {
			continue
		}
		for _, value := range values {
			size += len(template.HTMLEscapeString(name)) + len(template.HTMLEscapeString(value))
			if fields = append(fields, Kept{Name: name, Value: value}); len(fields) > mostKeptFields || size > mostKept {
				return nil, false
			}
		}
	}
	return fields, true
}

func (s *Site) signInPage(c *Call, status int, v signInView) error {
	v.Email = c.Field(Field{Name: "email", Label: "Email address", Type: "email", Autocomplete: "username", Required: true,
		MaxLength: domain.MaxEmail})
	v.Pass = Field{ID: "password", Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password",
		Required: true, MaxLength: domain.MaxPassword}
	v.Passkey = s.passkeyForm(Passkey{
		Action: "/signin", Ask: "/signin/passkey", Button: "Sign in with a passkey", Second: true,
	}, Kept{Name: "next", Value: v.Next}) // the script takes the kept fields from the other form
	v.Company = s.companyHref(v.Next)
	v.Mails, v.Address, v.To, v.AskLink = s.o.Mails, s.linkField(c), s.o.Words.To, s.o.Words.AskLink
	return s.ShowPlain(c, status, "signin", "Sign in", v)
}

// sendLink emails a sign-in link. The response does not reveal who has an account.
func (s *Site) sendLink(c *Call) error {
	if !s.o.Mails {
		return domain.ErrNotFound
	}
	err := s.o.Access.SendLink(c.Ctx(), c.Browser(), s.o.Site, c.Form.Get("email"))
	if c.Wrong(err) {
		c.Faults = map[string]string{linkError: c.Faults["email"]}
		return s.signInPage(c, http.StatusUnprocessableEntity, signInView{})
	}
	if err != nil {
		return err
	}
	return c.Lead("/signin?done=link-sent")
}

func (s *Site) showSignIn(c *Call) error {
	return s.signInPage(c, http.StatusOK, signInView{Notice: c.Told(), Next: ownPath(c.Query("next"))})
}

// askToSignIn shows the sign-in page, and keeps the page or form for afterwards.
func (s *Site) askToSignIn(c *Call) {
	if c.Request.Method != http.MethodPost {
		to := "/signin"
		if next := ownPath(strings.TrimPrefix(c.Request.URL.RequestURI(), s.o.Prefix)); next != "/" {
			to += "?next=" + url.QueryEscape(next)
		}
		_ = c.Lead(to) // never fails
		return
	}
	whole := !c.large()
	if whole && c.Form == nil {
		if err := s.takeForm(c); err != nil {
			return // takeForm sent a response
		}
	}
	v := signInView{Next: ownPath(s.here(c)), Notice: &Notice{
		Tone: "warn", Title: "You are signed out",
		Lines: []string{"Nothing was changed. Sign in again. What you typed is kept."},
	}}
	if whole {
		v.Kept, whole = c.kept(c.Form)
	}
	if !whole {
		v.Notice.Lines = []string{"Nothing was changed. The form was not kept, because it is too large or has a file. Sign in, then fill it in again."}
	}
	c.dropForm() // its fields belong to another page
	if err := s.signInPage(c, http.StatusUnauthorized, v); err != nil {
		s.Fail(c, err)
	}
}

func (s *Site) signIn(c *Call) error {
	next := ownPath(c.Form.Get("next"))
	entered, err := s.enterBy(c)
	before := url.Values{}
	for name, values := range c.Form {
		if field, ok := strings.CutPrefix(name, "kept."); ok {
			before[field] = values
		}
	}
	var e *domain.Error
	if errors.As(err, &e) && (e.Kind == domain.KindUnauthenticated || postponed(err)) {
		s.noteRefusal(c, err)
		c.RetryAfter(err)
		fields, _ := c.kept(before) // browsers send no more than the previous page carried
		return s.signInPage(c, StatusOf(err), signInView{Next: next, Kept: fields,
			Notice: &Notice{Tone: "bad", Title: "Sign-in failed", Lines: []string{e.Message}}})
	}
	if err != nil {
		return err
	}
	s.welcome(c, entered)
	if len(before) == 0 {
		return c.Lead(next)
	}
	return s.resume(c, entered.Secret, next, before)
}

// enterBy signs in with the passkey or the password of the form.
func (s *Site) enterBy(c *Call) (people.Entered, error) {
	if !c.Form.Has("passkey") {
		return s.o.Access.SignIn(c.Ctx(), c.Browser(), s.o.Site, c.Form.Get("email"), c.Form.Get("password"))
	}
	ceremony, answer := c.answered()
	return s.o.Passkeys.SignIn(c.Ctx(), c.Browser(), s.o.Site, ceremony, answer)
}

// resume shows a form's page again, filled in as before the sign-in. It does not send the form:
// another person may have signed in.
func (s *Site) resume(c *Call, secret, next string, form url.Values) error {
	to, err := url.Parse(c.At(next))
	if err != nil {
		return c.Lead("/")
	}
	again := c.Request.Clone(context.WithValue(c.Ctx(), resumedForm{}, form))
	again.Method, again.URL, again.Body, again.ContentLength = http.MethodGet, to, http.NoBody, 0
	again.Header.Set("Cookie", s.cookie(ofSession)+"="+secret)
	s.router.ServeHTTP(c.Writer, again)
	return nil
}

func (s *Site) signOut(c *Call) error {
	if ended, err := s.endView(c); ended {
		return err
	}
	err := s.identify(c)
	if err == nil {
		err = s.o.Access.SignOut(c.Ctx(), c.Principal, c.RequestID())
	}
	if err != nil && !domain.HasCode(err, domain.CodeSessionEnded) {
		return err
	}
	s.keep(c, ofSession, "", 0)
	s.keep(c, ofChoice, "", 0)
	return c.Lead("/signin?done=out")
}

// here returns the path of a call without the site's prefix.
func (s *Site) here(c *Call) string { return strings.TrimPrefix(c.Request.URL.Path, s.o.Prefix) }

// mostPath limits the path to open after a sign-in, in bytes. It goes into a cookie, and several
// times into a page that anybody may request.
const mostPath = 1 << 10

// ownPath returns the text if it is a path of the site, or else "/".
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > mostPath || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(text, "\\\r\n\t") ||
		strings.HasPrefix(u.Path, "/signin") || strings.HasPrefix(u.Path, "/signout") || strings.HasPrefix(u.Path, "/enter") {
		return "/"
	}
	return u.RequestURI()
}
