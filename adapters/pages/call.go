package pages

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

	"waybill/application/people"
	"waybill/domain"
)

// Call is one request.
type Call struct {
	*gin.Context
	Principal domain.Principal
	// Form is what was sent, or what was typed before a session was lost.
	Form   url.Values
	File   []byte            // of the form; nil: none
	Faults map[string]string // of fields, by name

	site     *Site
	mount    *Mount // nil: the page is the site's own
	mostForm int64
	open     context.Context // lasts as long as the connection, for an answer that goes on
	resumed  bool            // Form was typed in a session that was lost
	mark     string          // by which the browser is known again
	leave    func()          // ends its place among the pages that are being made; nil: it has none
	noted    bool            // the refusal that the call ends with has left its trace
}

// maxMark is more than a mark has.
const maxMark = 64

// resumedForm is the key under which a form that was kept goes with a request.
type resumedForm struct{}

func (s *Site) newCall(c *gin.Context) *Call {
	form, resumed := c.Request.Context().Value(resumedForm{}).(url.Values)
	made := &Call{Context: c, Form: form, site: s, resumed: resumed}
	if cookie, err := c.Request.Cookie(s.cookie(ofDevice)); err == nil && len(cookie.Value) <= maxMark {
		made.mark = cookie.Value
	}
	return made
}

// goesOn ends the place of an answer that lasts: it is no page that is being made any more.
func (c *Call) goesOn() {
	if c.leave != nil {
		c.leave()
	}
}

// Ctx ends when the page has taken too long, or its reader has left.
func (c *Call) Ctx() context.Context { return c.Request.Context() }

// Business is the one that the session shows, or whose pages are mounted; empty at the
// console elsewhere.
func (c *Call) Business() domain.ID {
	if c.mount != nil {
		return domain.ID(c.Param("business"))
	}
	return c.Principal.Session.BusinessID
}

// ByStaff reports whether a page of a customer is shown to the staff, at their console.
func (c *Call) ByStaff() bool { return c.mount != nil }

// FirstEnvironment is what pages are about whose address does not say it: the staff work
// on live, where a customer's people begin in the sandbox.
func (c *Call) FirstEnvironment() domain.Environment {
	if c.ByStaff() {
		return domain.Live
	}
	return domain.Sandbox
}

// RequestID is the name that we drew for the request.
func (c *Call) RequestID() string { return requestID(c.Context) }

// Actor is the person as the audit log names them.
func (c *Call) Actor() domain.AuditActor { return c.Principal.Actor(c.RequestID()) }

// Browser is where the call comes from.
func (c *Call) Browser() people.Browser {
	device := c.Request.UserAgent()
	if domain.HoldsSecret(device) {
		device = "" // sessions keep it
	}
	return people.Browser{Address: domain.ClientAddress(c.ClientIP()), Device: device, Mark: c.mark,
		Foreign: c.site.foreign(c.Request), RequestID: c.RequestID()}
}

// checkIDs answers domain.ErrNotFound where a parameter of the path is no ID.
func (c *Call) checkIDs() error {
	for _, param := range c.Params {
		if prefix, record := c.site.o.Records[param.Key]; record {
			if _, err := domain.ParseID(prefix, param.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// May reports whether the role includes an act, however old the sign-in is.
func (c *Call) May(a domain.Act) bool {
	if c.mount != nil {
		a = c.mount.Act(a)
	}
	return domain.May(c.site.o.Site, c.Principal.Role, a) && (c.Principal.View == nil || a == domain.ActRead)
}

// Wrong takes over the problems of fields, and reports whether err is about fields.
func (c *Call) Wrong(err error) bool {
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.KindInvalid {
		return false
	}
	c.Faults = map[string]string{}
	for _, f := range e.Fields {
		c.Faults[f.Field] = Sentence(f.Message)
	}
	return true
}

// Sentence is a message of a field, which the API begins small behind the field's name, as
// it stands beside a field of a form.
func Sentence(message string) string {
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

// Field is one of a form, with what was typed and what is wrong with it. What is longer than a
// browser lets anybody type is not shown again.
func (c *Call) Field(f Field) Field {
	if f.ID == "" {
		f.ID = f.Name
	}
	f.Error = c.Faults[f.Name]
	if typed, sent := c.Form[f.Name]; sent && len(typed) > 0 && (f.MaxLength == 0 || len(typed[0]) <= utf8.UTFMax*f.MaxLength) {
		f.Value = typed[0]
		for i, o := range f.Options {
			f.Options[i].Chosen = slices.Contains(typed, o.Value)
		}
	}
	return f
}

// RetryAfter tells when to try again, where an error does.
func (c *Call) RetryAfter(err error) {
	var e *domain.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}

// WelcomeBack is the notice above a form that was kept.
func (c *Call) WelcomeBack() *Notice {
	if !c.resumed {
		return nil
	}
	return &Notice{Tone: "good", Title: "You are signed in again",
		Lines: []string{"What you typed is still here. Send it when it is right."}}
}

// Told is the notice for a change after which the browser was led here.
func (c *Call) Told() *Notice {
	if n := c.WelcomeBack(); n != nil {
		return n
	}
	if text := c.site.done[c.Query("done")]; text != "" {
		return &Notice{Tone: "good", Title: text}
	}
	return nil
}

// At is the address of a path of the site.
func (c *Call) At(path string) string {
	if c.mount != nil {
		path = c.mount.at(c.Business(), path)
	}
	return c.site.o.Prefix + path
}

// Lead sends the browser on to a path of the site after a change, so that a reload
// repeats nothing.
func (c *Call) Lead(to string) error {
	c.Header("Location", c.At(to))
	c.Status(http.StatusSeeOther)
	return nil
}

// ownTexts are the texts for the parameter done that the pages here lead to.
var ownTexts = map[string]string{
	"name":     "Your name was changed.",
	"accepted": "You accepted the invitation.",
	"accept-sent": "A sign-in link is on its way to the address that was invited. It accepts the invitation, once and within " +
		"10 minutes.",
	"email-proven": "You came by a link that only you were sent, for the first time. A password, passkeys and sessions from before have " +
		"ended: whoever invited you could have made them. Set your own password or passkey.",
	"password":        "The password was saved. All your other sessions have ended.",
	"passkey-added":   "The passkey was added. It lets you in without a password.",
	"passkey-renamed": "The passkey was renamed.",
	"passkey-removed": "The passkey was removed. All your other sessions have ended.",
	"role":            "The role was changed. It counts from the next page on.",
	"removed":         "The person was removed, and is signed out here.",
	"sessions-all":    "The person is signed out everywhere: at the console and at every customer. Links that were not used work no more.",
	"sessions":        "The person is signed out here. Everything else stays as it is.",
	"person-disabled": "The account is disabled. The person is signed out everywhere.",
	"person-enabled":  "The account is enabled. The person can sign in again.",
	"ended":           "The session was ended.",
	"ended-others":    "All other sessions were ended.",
	"out":             "You are signed out.",
	"confirmed":       "You have signed in again. Go back to the page that asked for it, and send it again.",
	"connected":       "The company account was connected. Sign in with it from now on.",
	"link-sent": "If this address has an account here, a link is on its way to it. It lets you in once; the mail " +
		"tells until when.",
}
