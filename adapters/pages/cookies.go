package pages

import (
	"net/http"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

// cookie returns a cookie name that is unique to the site, because browsers share cookies across
// ports. Over HTTPS, the prefix keeps other hosts from setting it.
func (s *Site) cookie(what string) string {
	name := "waybill_" + string(s.o.Site) + what
	if s.secure {
		return "__Host-" + name
	}
	return name
}

// The cookies of a site: the session, a browser to recognize after a sign-in, a notice, and a
// browser that is at the identity provider. The choice is what the pages show.
const (
	ofSession = ""
	ofDevice  = "_device"
	ofNotice  = "_done"
	ofChoice  = "_choice"
	ofCompany = "_oidc" // while the browser is at the identity provider
)

// keep sets a cookie. An age of zero deletes it.
func (s *Site) keep(c *Call, what, value string, age time.Duration) {
	seconds := int(age.Seconds())
	if age == 0 {
		seconds = -1
	}
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure wherever the site has https; dev has not
		Name: s.cookie(what), Value: value, Path: "/", MaxAge: seconds, Secure: s.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// Remember stores what the person chose to see in a cookie, for a while. It is a text of the site's
// own; the site checks it when it reads it, because people can change cookies.
func (s *Site) Remember(c *Call, choice string, age time.Duration) { s.keep(c, ofChoice, choice, age) }

// Remembered returns what Remember stored; empty: nothing.
func (s *Site) Remembered(c *Call) string {
	cookie, err := c.Request.Cookie(s.cookie(ofChoice))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// welcome stores the session and the device cookie in the browser.
func (s *Site) welcome(c *Call, e people.Entered) {
	if _, viewing := s.viewCookie(c); viewing {
		s.keep(c, ofView, "", 0) // the person signs in as themselves
	}
	s.keep(c, ofSession, e.Secret, domain.SessionLifetime)
	if e.Mark != "" {
		s.keep(c, ofDevice, e.Mark, domain.DeviceKept)
	}
}
