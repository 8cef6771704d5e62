package pages

import (
	"errors"
	"net/http"

	"waybill/application/people"
	"waybill/domain"
)

// acceptView holds the data of the invitation page for a person who has an account.
type acceptView struct {
	Notice             *Notice
	Place, Role, Email string
	Here               bool   // the browser has a session of this account
	At                 string // the address of the invitation
	Pass               Field
	Passkey            Passkey
	Company            string // link to the company's identity provider; empty: there is none
	Mails              bool
	Command            string // with which the delivery company creates a sign-in link
}

func (s *Site) acceptPage(c *Call, status int, m domain.Member, n *Notice) error {
	v := acceptView{
		Notice: n, Place: s.o.Words.To, Role: string(m.Membership.Role), Email: string(m.Person.Email), Here: s.isHere(c, m.Person.ID),
		At: s.o.Prefix + "/enter/" + c.Param("link"), Company: s.companyHref("/"), Mails: s.o.Mails,
		Command: "waybill person link " + string(m.Person.ID),
		Pass: Field{ID: "password", Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password",
			Required: true, MaxLength: domain.MaxPassword},
		Passkey: s.passkeyForm(Passkey{
			Action: "/enter/" + c.Param("link"), Ask: "/signin/passkey", Button: "Accept with a passkey", Second: true,
		}),
	}
	if s.o.Site == domain.Console {
		v.Command = "waybill staff link " + string(m.Person.ID)
	}
	if s.o.BusinessName != nil {
		var err error
		if v.Place, err = s.o.BusinessName(c.Ctx(), m.Membership.BusinessID); err != nil {
			return err
		}
	}
	return s.ShowPlain(c, status, "accept", "Accept the invitation", v)
}

// isHere reports whether the browser has the person's own session, and no view or operator's link.
func (s *Site) isHere(c *Call, person domain.ID) bool {
	there := &Call{Context: c.Context, site: s}
	return s.identify(there) == nil && there.Principal.Person.ID == person && there.Principal.View == nil && there.Principal.OwnSignIn() == nil
}

// accept accepts an invitation after a sign-in to the invited account.
func (s *Site) accept(c *Call, m domain.Member) error {
	var entered people.Entered
	var err error
	secret := c.Param("link")
	switch {
	case c.Form.Has("passkey"):
		ceremony, answer := c.answered()
		entered, err = s.o.Passkeys.Accept(c.Ctx(), c.Browser(), secret, ceremony, answer)
	case c.Form.Has("password"):
		entered, err = s.o.Access.AcceptByPassword(c.Ctx(), c.Browser(), secret, c.Form.Get("password"))
	case s.isHere(c, m.Person.ID):
		if err = s.identify(c); err == nil {
			err = s.o.Access.AcceptHere(c.Ctx(), c.Browser(), c.Principal, secret)
		}
	default:
		return s.acceptPage(c, http.StatusForbidden, m, &Notice{Tone: "warn", Title: "You have not accepted the invitation yet",
			Lines: []string{"This email address has an account. Sign in to it to accept."}})
	}
	var e *domain.Error
	if errors.As(err, &e) && (e.Kind == domain.KindUnauthenticated || postponed(err)) {
		s.noteRefusal(c, err)
		c.RetryAfter(err)
		return s.acceptPage(c, StatusOf(err), m, &Notice{Tone: "bad", Title: "Sign-in failed", Lines: []string{e.Message}})
	}
	if err != nil {
		return s.badLink(c, err)
	}
	if entered.Secret != "" {
		s.welcome(c, entered)
	}
	return c.Lead("/?done=accepted")
}

// sendAcceptLink emails a sign-in link to the invited address.
func (s *Site) sendAcceptLink(c *Call) error {
	if !s.o.Mails {
		return domain.ErrNotFound
	}
	if _, err := s.look(c); err != nil {
		return s.badLink(c, err)
	}
	if err := s.o.Access.SendAcceptLink(c.Ctx(), c.Browser(), c.Param("link")); err != nil {
		return s.badLink(c, err)
	}
	return c.Lead("/signin?done=accept-sent")
}
