package people_test

import (
	"errors"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

// portalLink has the site of the company ask for a link for an email address.
func (s *scene) portalLink(t *testing.T, business domain.ID, email string, role domain.Role) people.Issued {
	t.Helper()
	issued, err := s.OpenPortal(t.Context(), command, people.Invitation{BusinessID: business, Email: email, Name: "Typed There", Role: string(role)})
	if err != nil || !issued.OneBusiness {
		t.Fatalf("%+v, %v", issued, err)
	}
	return issued
}

// byPortalLink opens such a link.
func (s *scene) byPortalLink(t *testing.T, business domain.ID, email string, role domain.Role) people.Entered {
	t.Helper()
	entered, err := s.Enter(t.Context(), browser, s.portalLink(t, business, email, role).Secret)
	if err != nil || !entered.Session.OneBusiness || entered.Session.BusinessID != business || entered.CredentialsEnded || entered.Mark != "" {
		t.Fatalf("%+v, %v", entered, err)
	}
	return entered
}

// A customer types the address of another customer's owner at the company's own site.
func TestAPortalLinkOpensOneBusinessAndNothingOfThePerson(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	keys := s.passkeys(t)
	boss := s.enter(t, s.other, "boss@example.com", domain.RoleOwner)
	s.setPassword(t, boss.Principal)
	passkey := add(t, keys, boss.Principal, newDevice())
	stolen := s.byPortalLink(t, s.mine, "boss@example.com", domain.RoleOwner)
	p := s.in(t, "by the link", stolen)
	if !p.Session.OneBusiness || p.Role != domain.RoleOwner || p.Session.BusinessID != s.mine {
		t.Fatalf("%+v", p)
	}
	owns := func(what string, err error) { wantCode(t, what, err, domain.CodeOwnSignInNeeded) }
	if err := s.Show(t.Context(), p, s.other); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("show the other business: %v", err)
	}
	if all, err := s.Businesses(t.Context(), p); err != nil || len(all) != 0 {
		t.Errorf("memberships: %+v, %v", all, err)
	}
	if all, err := s.Sessions(t.Context(), p); err != nil || len(all) != 1 || all[0].ID != p.Session.ID {
		t.Errorf("sessions: %+v, %v", all, err)
	}
	if all, err := keys.List(t.Context(), p); err != nil || len(all) != 0 {
		t.Errorf("passkeys: %+v, %v", all, err)
	}
	owns("end a session", s.EndSession(t.Context(), p, "", boss.Session.ID))
	_, err := s.EndOtherSessions(t.Context(), p, "")
	owns("end the others", err)
	owns("set a password", s.SetPassword(t.Context(), p, "", "another horse battery staple"))
	owns("confirm by password", s.Confirm(t.Context(), browser, p, password))
	_, err = keys.AskToConfirm(t.Context(), p)
	owns("ask to confirm by passkey", err)
	owns("confirm by passkey", keys.ConfirmByPasskey(t.Context(), browser, p, "cer_1", nil))
	_, err = keys.AskToAdd(t.Context(), p)
	owns("ask to add a passkey", err)
	_, err = keys.Add(t.Context(), p, "", "cer_1", nil, "Mine")
	owns("add a passkey", err)
	owns("rename a passkey", keys.Rename(t.Context(), p, "", passkey.ID, "Mine"))
	owns("remove a passkey", keys.Remove(t.Context(), p, "", passkey.ID))
	company := people.NewCompany(s.Access, nil, nil, nil)
	_, err = company.BeginConfirm(t.Context(), p)
	owns("confirm at the identity provider", err)
	_, err = company.BeginConnect(t.Context(), p)
	owns("connect a company account", err)

	// Nothing of the person's own has changed, and they belong to nothing that they have not accepted.
	s.in(t, "the person's own session", boss)
	if _, err := s.SignIn(t.Context(), browser, domain.Portal, "boss@example.com", password); err != nil {
		t.Errorf("the person's own password: %v", err)
	}
	if all, err := s.Businesses(t.Context(), boss.Principal); err != nil || len(all) != 1 {
		t.Errorf("the person belongs to %+v, %v", all, err)
	}
}

func TestLinksMadeInASessionOfAPortalLinkOpenThatBusinessAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	own := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.stage.Clock.GoOn(time.Minute)
	p := s.byPortalLink(t, s.mine, "ama@example.com", domain.RoleOwner).Principal
	forSelf, err := s.LinkTo(t.Context(), p.Actor(""), s.mine, p.Person.ID)
	if err != nil {
		t.Fatal(err)
	}
	for what, issued := range map[string]people.Issued{
		"for itself":      forSelf,
		"for another":     s.invite(t, p.Actor(""), s.mine, "kofi@example.com", domain.RoleOwner),
		"of a new viewer": s.invite(t, p.Actor(""), s.mine, "efua@example.com", domain.RoleViewer),
	} {
		entered, err := s.Enter(t.Context(), browser, issued.Secret)
		if err != nil || !entered.Session.OneBusiness {
			t.Errorf("%s: %+v, %v", what, entered.Session, err)
		}
		if err := s.SetPassword(t.Context(), entered.Principal, "", password); !domain.HasCode(err, domain.CodeOwnSignInNeeded) {
			t.Errorf("%s: a password: %v", what, err)
		}
	}
	s.in(t, "the person's own session", own)
}

func TestAPortalLinkAcceptsNothingAndReplacesNoOtherLink(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	invited := s.invite(t, command, s.mine, "ama@example.com", domain.RoleDeveloper)
	first := s.portalLink(t, s.mine, "ama@example.com", domain.RoleOwner)
	entered := s.byPortalLink(t, s.mine, "ama@example.com", domain.RoleOwner)
	if entered.Role != domain.RoleDeveloper {
		t.Errorf("a member's role became %s", entered.Role)
	}
	_, err := s.Enter(t.Context(), browser, first.Secret)
	wantCode(t, "an earlier one", err, domain.CodeLinkReplaced)
	member, err := s.stage.Store.Read().Memberships.Member(t.Context(), s.mine, entered.Person.ID)
	if err != nil || member.Membership.AcceptedAt != nil || member.Person.State != domain.PersonInvited {
		t.Errorf("%+v, %v", member, err)
	}
	own, err := s.Enter(t.Context(), browser, invited.Secret)
	if err != nil || own.Session.OneBusiness || own.Person.State != domain.PersonActive {
		t.Errorf("the invitation: %+v, %v", own.Session, err)
	}
}

func TestNoPortalLinkIsMadeForTheStaff(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.portalLink(t, s.mine, "kofi@example.com", domain.RoleOwner)
	s.invite(t, command, "", "kofi@example.com", domain.RoleViewer)
	for email, state := range map[string]string{"kofi@example.com": "invited", "ADMIN@example.com": "active"} {
		if state == "active" {
			s.enter(t, "", "admin@example.com", domain.RoleAdmin)
		}
		_, err := s.OpenPortal(t.Context(), command, people.Invitation{BusinessID: s.mine, Email: email, Name: "X", Role: "viewer"})
		wantCode(t, state, err, domain.CodePersonIsStaff)
	}
	_, err := s.Enter(t.Context(), browser, before.Secret)
	wantCode(t, "one from before the person was invited to the staff", err, domain.CodeLinkUnknown)
	if members, err := s.Members(t.Context(), s.mine); err != nil || len(members) != 1 {
		t.Errorf("%+v, %v", members, err)
	}
}

// The site of one customer makes as many links for an address as anybody there asks for.
func TestPortalLinksOfOneBusinessShutNobodyOutOfAnother(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for range 20 {
		s.byPortalLink(t, s.mine, "boss@example.com", domain.RoleViewer)
	}
	_, err := s.Enter(t.Context(), browser, s.portalLink(t, s.mine, "boss@example.com", domain.RoleViewer).Secret)
	wantCode(t, "once more", err, domain.CodeTooManySignIns)
	s.byPortalLink(t, s.other, "boss@example.com", domain.RoleOwner)
}
