package pages

import (
	"net/http"
	"time"

	"waybill/domain"
)

type accountView struct {
	Notice        *Notice
	Person        domain.Person
	Name          Field
	HasPassword   bool
	OneBusiness   bool // an operator's link opened the session: the account is not shown
	Stale         bool // no password, and the sign-in is too old to set one
	Current, Pass Field
	Passkeys      passkeysView
	Company       *companyView // nil: there is no identity provider
	Sessions      []sessionView
	Others        bool
	Businesses    []Business
}

type sessionView struct {
	ID, Device, Method string
	SignedInAt, SeenAt time.Time
	Here               bool
}

// Business describes a business of the person.
type Business struct {
	ID, Name, Role string
	Here           bool // the session shows this business now
}

// ShowAccount shows the person's own account page.
func (s *Site) ShowAccount(c *Call) error {
	if c.Principal.View != nil {
		return readOnly(c, Route{Method: http.MethodPost}) // the account is not the customer's, and the page is all forms
	}
	return s.accountPage(c, http.StatusOK, c.Told())
}

func (s *Site) accountPage(c *Call, status int, n *Notice) error {
	sessions, err := s.o.Access.Sessions(c.Ctx(), c.Principal)
	if err != nil {
		return err
	}
	fresh := c.Principal.Session.Fresh(s.o.Clock.Now())
	mayChange := s.o.Access.MayChange(c.Ctx(), c.Principal)
	if mayChange != nil && !domain.HasCode(mayChange, domain.CodeSignInTooOld) && !domain.HasCode(mayChange, domain.CodeOwnSignInNeeded) {
		return mayChange
	}
	if c.Principal.Session.OneBusiness {
		return s.Show(c, status, "account", "Account", accountView{Notice: n, Person: c.Principal.Person, OneBusiness: true})
	}
	v := accountView{
		Notice: n, Person: c.Principal.Person, HasPassword: c.Principal.Person.PasswordHash != "",
		Others: len(sessions) > 1,
		Pass: c.Field(Field{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password", Required: true,
			MinLength: domain.MinPassword, MaxLength: domain.MaxPassword,
			Hint: "At least 12 characters. Use a few words that have nothing to do with each other."}),
	}
	v.Name = c.Field(Field{ID: "own-name", Name: "own_name", Label: "Name", Value: c.Principal.Person.Name, Required: true,
		MaxLength: domain.NameRule.Most, Autocomplete: "name", Hint: "Other people in your business see it."})
	if v.HasPassword && !fresh {
		v.Current = c.Field(Field{Name: "current_password", Label: "Current password", Type: "password", Autocomplete: "current-password",
			Required: true, MaxLength: domain.MaxPassword})
	}
	if v.Passkeys, err = s.passkeysView(c, mayChange == nil); err != nil {
		return err
	}
	if v.Company, err = s.companyView(c, fresh); err != nil {
		return err
	}
	v.Stale = !v.HasPassword && mayChange != nil
	for _, s := range sessions {
		v.Sessions = append(v.Sessions, sessionView{
			ID: string(s.ID), Device: domain.DeviceName(s.Device), Method: string(s.Method), SignedInAt: s.SignedInAt, SeenAt: s.LastSeenAt,
			Here: s.ID == c.Principal.Session.ID,
		})
	}
	if s.o.Businesses != nil {
		if v.Businesses, err = s.o.Businesses(c); err != nil {
			return err
		}
	}
	return s.Show(c, status, "account", "Account", v)
}

func (s *Site) setPassword(c *Call) error {
	password := c.Form.Get("password")
	if err := domain.CheckPassword(password, c.Principal.Person); c.Wrong(err) {
		return s.accountPage(c, http.StatusUnprocessableEntity, nil)
	}
	if c.Form.Get("current_password") != "" {
		if err := s.confirm(c); err != nil {
			if !domain.HasCode(err, domain.CodeSignInRefused) {
				return err
			}
			c.Faults = map[string]string{"current_password": "This is not your current password."}
			return s.accountPage(c, http.StatusUnauthorized, nil)
		}
	}
	err := s.o.Access.SetPassword(c.Ctx(), c.Principal, c.RequestID(), password)
	switch {
	case domain.HasCode(err, domain.CodeSignInTooOld):
		if c.Principal.Person.PasswordHash != "" {
			c.Faults = map[string]string{"current_password": "Enter your current password too, because you signed in more than 10 minutes ago."} //nolint:gosec // a message
		}
		return s.accountPage(c, http.StatusForbidden, nil)
	case c.Wrong(err):
		return s.accountPage(c, http.StatusUnprocessableEntity, nil)
	case err != nil:
		return err
	}
	return c.Lead("/account?done=password")
}

// rename changes the person's own name.
func (s *Site) rename(c *Call) error {
	err := s.o.Access.Rename(c.Ctx(), c.Principal, c.RequestID(), c.Form.Get("own_name"))
	if c.Wrong(err) {
		c.Faults["own_name"] = c.Faults["name"]
		delete(c.Faults, "name") // another field of the page has this name
		return s.accountPage(c, http.StatusUnprocessableEntity, nil)
	}
	if err != nil {
		return err
	}
	return c.Lead("/account?done=name")
}

// endSessions ends the session that the form names, or all others.
func (s *Site) endSessions(c *Call) error {
	id := domain.ID(c.Form.Get("session"))
	if id == "" {
		if _, err := s.o.Access.EndOtherSessions(c.Ctx(), c.Principal, c.RequestID()); err != nil {
			return err
		}
		return c.Lead("/account?done=ended-others")
	}
	if err := s.o.Access.EndSession(c.Ctx(), c.Principal, c.RequestID(), id); err != nil {
		return err
	}
	return c.Lead("/account?done=ended")
}
