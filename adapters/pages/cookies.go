package pages

import (
	"net/http"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

// cookie names one that only this site has: cookies are not told apart by port. Over
// https its prefix keeps every other host from setting it.
func (s *Site) cookie(what string) string {
	name := "waybill_" + string(s.o.Site) + what
	if s.secure {
		return "__Host-" + name
	}
	return name
}

// The cookies there are: of the session, of a browser that is known again after a sign-in,
// of a notice, and of a browser that is away at the identity provider.
const (
	ofSession = ""
	ofDevice  = "_device"
	ofNotice  = "_done"
	ofCompany = "_oidc" // while the browser is at the identity provider
)

// keep sets one of them; without an age it is forgotten.
func (s *Site) keep(c *Call, what, value string, age time.Duration) {
	seconds := int(age.Seconds())
	if age == 0 {
		seconds = -1
	}
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure wherever the site has https; dev has not
		Name: s.cookie(what), Value: value, Path: "/", MaxAge: seconds, Secure: s.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// welcome keeps the session in the browser, and the mark of the browser.
func (s *Site) welcome(c *Call, e people.Entered) {
	if _, viewing := s.viewCookie(c); viewing {
		s.keep(c, ofView, "", 0) // the person signs in as themselves
	}
	s.keep(c, ofSession, e.Secret, domain.SessionLifetime)
	if e.Mark != "" {
		s.keep(c, ofDevice, e.Mark, domain.DeviceKept)
	}
}
