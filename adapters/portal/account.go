package portal

import (
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

type accountView struct {
	Notice        *pages.Notice
	Person        domain.Person
	HasPassword   bool
	Stale         bool // no password, and the link was used too long ago to set one
	Current, Pass pages.Field
	Passkeys      passkeysView
	Sessions      []sessionView
	Others        bool
	Businesses    []businessView
}

type sessionView struct {
	ID, Device, Method string
	SignedInAt, SeenAt time.Time
	Here               bool
}

type businessView struct {
	ID, Name, Role string
	Here           bool
}

func (p *Portal) showAccount(c *call) error { return p.accountPage(c, http.StatusOK, c.told()) }

func (p *Portal) accountPage(c *call, status int, n *pages.Notice) error {
	sessions, err := p.Access.Sessions(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	memberships, err := p.Access.Businesses(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	fresh := c.principal.Session.Fresh(p.options.Clock.Now())
	v := accountView{
		Notice: n, Person: c.principal.Person, HasPassword: c.principal.Person.PasswordHash != "", Others: len(sessions) > 1,
		Pass: c.field(pages.Field{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password", Required: true,
			MinLength: domain.MinPassword, MaxLength: domain.MaxPassword,
			Hint: "At least 12 characters. A few words that do not belong together are good."}),
	}
	if v.HasPassword && !fresh {
		v.Current = c.field(pages.Field{Name: "current_password", Label: "Current password", Type: "password", Autocomplete: "current-password",
			Required: true, MaxLength: domain.MaxPassword})
	}
	if v.Passkeys, err = p.passkeysView(c, fresh); err != nil {
		return err
	}
	v.Stale = !v.HasPassword && !fresh
	for _, s := range sessions {
		v.Sessions = append(v.Sessions, sessionView{
			ID: string(s.ID), Device: domain.DeviceName(s.Device), Method: string(s.Method), SignedInAt: s.SignedInAt, SeenAt: s.LastSeenAt,
			Here: s.ID == c.principal.Session.ID,
		})
	}
	if len(memberships) > 1 {
		for _, m := range memberships {
			b, err := p.Tenants.Business(c.ctx(), m.BusinessID)
			if err != nil {
				return err
			}
			v.Businesses = append(v.Businesses, businessView{ID: string(b.ID), Name: b.Name, Role: string(m.Role), Here: b.ID == c.business()})
		}
	}
	return p.show(c, status, "account", "Account", v)
}

func (p *Portal) setPassword(c *call) error {
	password := c.form.Get("password")
	if err := domain.CheckPassword(password, c.principal.Person); c.wrong(err) {
		return p.accountPage(c, http.StatusUnprocessableEntity, nil)
	}
	if c.form.Get("current_password") != "" {
		if err := p.confirm(c); err != nil {
			if !domain.HasCode(err, domain.CodeSignInRefused) {
				return err
			}
			c.errors = map[string]string{"current_password": "This is not your current password."}
			return p.accountPage(c, http.StatusUnauthorized, nil)
		}
	}
	err := p.Access.SetPassword(c.ctx(), c.principal, requestID(c.Context), password)
	switch {
	case domain.HasCode(err, domain.CodeSignInTooOld):
		if c.principal.Person.PasswordHash != "" {
			c.errors = map[string]string{"current_password": "Type your current password too: your sign-in is older than 10 minutes."}
		}
		return p.accountPage(c, http.StatusForbidden, nil)
	case c.wrong(err):
		return p.accountPage(c, http.StatusUnprocessableEntity, nil)
	case err != nil:
		return err
	}
	return c.lead("/account?done=password")
}

// endSessions ends the session that the form names, or all others.
func (p *Portal) endSessions(c *call) error {
	id := domain.ID(c.form.Get("session"))
	if id == "" {
		if _, err := p.Access.EndOtherSessions(c.ctx(), c.principal, requestID(c.Context)); err != nil {
			return err
		}
		return c.lead("/account?done=ended-others")
	}
	if err := p.Access.EndSession(c.ctx(), c.principal, requestID(c.Context), id); err != nil {
		return err
	}
	return c.lead("/account?done=ended")
}

func (p *Portal) showBusiness(c *call) error {
	if err := p.Access.Show(c.ctx(), c.principal, domain.ID(c.form.Get("business"))); err != nil {
		return err
	}
	return c.lead("/")
}
