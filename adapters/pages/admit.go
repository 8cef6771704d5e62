package pages

import (
	"errors"
	"net/http"

	"waybill/domain"
	"waybill/ports"
)

// admit identifies the person and checks that the role includes the act. Then it waits for a place
// and reads the form. A form that needs a recent sign-in may include the password.
func (s *Site) admit(c *Call, r Route) error {
	post := r.Method == http.MethodPost
	switch {
	case r.Act == nil && !post:
		return nil
	case r.Act == nil:
		return s.takeForm(c)
	}
	if err := s.identify(c); err != nil {
		return err
	}
	if err := readOnly(c, r); err != nil {
		return err
	}
	allows := s.allows(c, r)
	tooOld := domain.HasCode(allows, domain.CodeSignInTooOld)
	if allows != nil && !tooOld && (!post || c.large()) {
		return allows
	}
	if err := s.bound(c, r); err != nil {
		return err
	}
	if !post {
		return nil // the form asks for a recent sign-in when it is sent
	}
	if err := s.takeForm(c); err != nil {
		return err
	}
	// A form can arrive slowly. A person whose access ended meanwhile must not change anything.
	if err := s.identify(c); err != nil {
		return err
	}
	if allows = s.allows(c, r); allows != nil && !domain.HasCode(allows, domain.CodeSignInTooOld) {
		return allows
	}
	if s.refuseOther(c, r) {
		return ErrAnswered
	}
	if allows == nil {
		return nil
	}
	if r.AsksItself {
		return nil
	}
	if c.Form.Get(confirmField) == "" || c.Principal.Session.OneBusiness {
		return s.askAgain(c, http.StatusForbidden, nil)
	}
	err := s.confirm(c)
	if domain.HasCode(err, domain.CodeSignInRefused) || postponed(err) || refusedPasskey(err) {
		c.RetryAfter(err)
		return s.askAgain(c, StatusOf(err), err)
	}
	return err
}

// allows returns nil if the person's role includes the act of the route.
func (s *Site) allows(c *Call, r Route) error {
	allows := c.Principal.Allows(r.Act(c), s.o.Clock.Now())
	if r.Credentials && domain.HasCode(allows, domain.CodeSignInTooOld) {
		return s.o.Access.MayChange(c.Ctx(), c.Principal)
	}
	return allows
}

// identify sets c.Principal from the session cookie or the view cookie.
func (s *Site) identify(c *Call) (err error) {
	if secret, viewing := s.viewCookie(c); viewing {
		return s.identifyView(c, secret)
	}
	cookie, err := c.Request.Cookie(s.cookie(ofSession))
	if err != nil {
		return domain.SessionEnded()
	}
	c.Principal, err = s.o.Access.Identify(c.Ctx(), s.o.Site, cookie.Value)
	return err
}

// postponed reports whether a password or passkey was not checked yet. The form is then kept for
// the next attempt.
func postponed(err error) bool {
	return domain.HasCode(err, domain.CodeTooManySignIns) || errors.Is(err, ports.ErrPasswordsBusy)
}
