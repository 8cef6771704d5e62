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

// Call holds one request and its person.
type Call struct {
	*gin.Context
	Principal domain.Principal
	// Form holds what was sent, or what was typed before the session ended.
	Form   url.Values
	File   []byte            // the file in the form; nil: none
	Faults map[string]string // error messages, by field name
	faults []Fault           // those of the fields that Field returned, in their order

	wide     bool // the content takes the width of the window
	site     *Site
	mount    *Mount // nil: the page belongs to the site itself
	mostForm int64
	tooLarge string          // what to say when the form has more; empty: its limit
	open     context.Context // ends with the connection; for responses that stream
	resumed  bool            // Form was typed in a session that has ended
	mark     string          // the device cookie, which recognizes the browser
	leave    func()          // frees its place in inFlight; nil: it has none
	noted    bool            // the refusal of this call is already recorded
}

// maxMark limits the length of a device cookie. Real ones are shorter.
const maxMark = 64

// resumedForm is the context key of a form that was kept during a sign-in.
type resumedForm struct{}

func (s *Site) newCall(c *gin.Context) *Call {
	form, resumed := c.Request.Context().Value(resumedForm{}).(url.Values)
	made := &Call{Context: c, Form: form, site: s, resumed: resumed}
	if cookie, err := c.Request.Cookie(s.cookie(ofDevice)); err == nil && len(cookie.Value) <= maxMark {
		made.mark = cookie.Value
	}
	return made
}

// goesOn frees the place of a streaming response. It no longer counts as a page in progress.
func (c *Call) goesOn() {
	if c.leave != nil {
		c.leave()
	}
}

// Ctx returns a context that ends when the page takes too long or the client disconnects.
func (c *Call) Ctx() context.Context { return c.Request.Context() }

// Business returns the ID of the business that the session shows or whose pages are mounted. It is
// empty on the console's own pages.
func (c *Call) Business() domain.ID {
	if c.mount != nil {
		return domain.ID(c.Param("business"))
	}
	return c.Principal.Session.BusinessID
}

// ByStaff reports whether staff see this customer page at their console.
func (c *Call) ByStaff() bool { return c.mount != nil }

// RequestID returns the ID that the server generated for the request.
func (c *Call) RequestID() string { return requestID(c.Context) }

// Actor returns the person as the audit log names them.
func (c *Call) Actor() domain.AuditActor { return c.Principal.Actor(c.RequestID()) }

// Browser describes the client of the call: address, device and device cookie.
func (c *Call) Browser() people.Browser {
	device := c.Request.UserAgent()
	if domain.HoldsSecret(device) {
		device = "" // sessions store the device
	}
	return people.Browser{Address: domain.ClientAddress(c.ClientIP()), Device: device, Mark: c.mark,
		Foreign: c.site.foreign(c.Request), RequestID: c.RequestID()}
}

// checkIDs returns domain.ErrNotFound if a path parameter is not a valid ID.
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

// May reports whether the role includes an act, regardless of the age of the sign-in.
func (c *Call) May(a domain.Act) bool {
	if c.mount != nil {
		a = c.mount.Act(a)
	}
	return domain.May(c.site.o.Site, c.Principal.Role, a) && (c.Principal.View == nil || a == domain.ActRead)
}

// Wrong stores the field errors of err in c.Faults. It reports whether err is about fields.
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

// Sentence formats a field message of the API for a form. The API starts it in lower case, after
// the field's name.
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

// Field adds the typed value and the error message to a form field. It drops values that are longer
// than browsers let people type.
func (c *Call) Field(f Field) Field {
	if f.ID == "" {
		f.ID = f.Name
	}
	f.Error = c.Fault(f.ID, f.Name, f.Label)
	if typed, sent := c.Form[f.Name]; sent && len(typed) > 0 && (f.MaxLength == 0 || len(typed[0]) <= utf8.UTFMax*f.MaxLength) {
		f.Value = typed[0]
		for i, o := range f.Options {
			f.Options[i].Chosen = slices.Contains(typed, o.Value)
		}
	}
	return f
}

// Widen lets the content of the page take the width of the window, for lists with many columns.
func (c *Call) Widen() { c.wide = true }

// Fault returns the error message of a field, and adds it to the summary at the top of the page.
func (c *Call) Fault(id, name, label string) string {
	message := c.Faults[name]
	if message != "" && !slices.ContainsFunc(c.faults, func(f Fault) bool { return f.ID == id }) {
		c.faults = append(c.faults, Fault{ID: id, Label: label, Message: message})
	}
	return message
}

// RetryAfter sets the Retry-After header if the error has a delay.
func (c *Call) RetryAfter(err error) {
	var e *domain.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}

// WelcomeBack returns the notice above a form that was kept; nil: none was.
func (c *Call) WelcomeBack() *Notice {
	if !c.resumed {
		return nil
	}
	return &Notice{Tone: "good", Title: "You are signed in again",
		Lines: []string{"What you typed is still here. Check it, then send it."}}
}

// Told returns the notice for the change that led the browser to this page; nil: there is none.
func (c *Call) Told() *Notice {
	if n := c.WelcomeBack(); n != nil {
		return n
	}
	if text := c.site.done[c.Query("done")]; text != "" {
		return &Notice{Tone: "good", Title: text}
	}
	return nil
}

// At returns the address of a path of the site.
func (c *Call) At(path string) string {
	if c.mount != nil {
		path = c.mount.at(c.Business(), path)
	}
	return c.site.o.Prefix + path
}

// Lead redirects the browser to a path of the site after a change. A reload then repeats nothing.
func (c *Call) Lead(to string) error {
	c.Header("Location", c.At(to))
	c.Status(http.StatusSeeOther)
	return nil
}

// ownTexts maps values of the parameter done to texts, for the pages of this package.
var ownTexts = map[string]string{
	"name":     "Your name was changed.",
	"accepted": "You accepted the invitation.",
	"accept-sent": "We emailed a sign-in link to the address that was invited. It accepts the invitation. It works only once, " +
		"within 10 minutes.",
	"email-proven": "You came by a link that only you were sent, for the first time. A password, passkeys and sessions from before have " +
		"ended: whoever invited you could have made them. Your memberships stay as they are. Set your own password or passkey.",
	"password":        "The password was saved. All your other sessions have ended.",
	"passkey-added":   "The passkey was added. You can now sign in without a password.",
	"passkey-renamed": "The passkey was renamed.",
	"passkey-removed": "The passkey was removed. All your other sessions have ended.",
	"role":            "The role was changed. It applies from the next page on.",
	"removed":         "The person was removed and signed out.",
	"sessions-all":    "The person is signed out everywhere: in the console and at every customer. Unused links have stopped working.",
	"sessions":        "The person is signed out here. Nothing else was changed.",
	"person-disabled": "The account is disabled. The person is signed out everywhere.",
	"person-enabled":  "The account is enabled. The person can sign in again.",
	"ended":           "The session was ended.",
	"ended-others":    "All other sessions were ended.",
	"out":             "You are signed out.",
	"confirmed":       "You have signed in again. Go back to the page that asked for it, and send the form again.",
	"connected":       "The company account was connected. Sign in with it from now on.",
	"link-sent": "If this address has an account here, a link is on its way to it. It lets you in once; the mail " +
		"tells until when.",
}
