package people_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"waybill/application/audit"
	"waybill/application/people"
	"waybill/domain"
)

func TestPeopleDoNotLeaveTheirBusinessWithoutAnOwner(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.invite(t, command, s.mine, "invited@example.com", domain.RoleOwner)
	by := ama.Actor("req_4")
	_, err := s.Remove(t.Context(), by, s.mine, ama.Person.ID)
	wantCode(t, "the last owner removed", err, domain.CodeLastOwner)
	_, err = s.SetRole(t.Context(), by, s.mine, ama.Person.ID, "viewer")
	wantCode(t, "the last owner demoted", err, domain.CodeLastOwner)

	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleDeveloper)
	if m, err := s.SetRole(t.Context(), by, s.mine, kofi.Person.ID, "owner"); err != nil || m.Membership.Role != domain.RoleOwner {
		t.Fatalf("%+v, %v", m, err)
	}
	if p := s.in(t, "kofi", kofi); p.Role != domain.RoleOwner {
		t.Errorf("the next page goes by the role %s", p.Role)
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, pair := range [][2]people.Entered{{ama, kofi}, {kofi, ama}} {
		by := pair[0].Actor("")
		by.Session = "" // its end alone would refuse the second one
		wg.Go(func() { _, errs[i] = s.Remove(context.Background(), by, s.mine, pair[1].Person.ID) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !domain.HasCode(errors.Join(errs...), domain.CodeLastOwner) {
		t.Errorf("two owners removed each other: %v", errs)
	}
	for _, m := range []people.Entered{ama, kofi} {
		_, err = s.Remove(t.Context(), command, s.mine, m.Person.ID)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a command: %v", err)
		}
	}
	admin := s.enter(t, "", "admin@example.com", domain.RoleAdmin)
	_, err = s.Remove(t.Context(), admin.Actor(""), "", admin.Person.ID)
	wantCode(t, "the last admin", err, domain.CodeLastOwner)
}

func TestAnOwnerReachesNoMemberOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner).Actor("")
	foreign := s.enter(t, s.other, "kofi@example.com", domain.RoleOwner)
	for what, try := range map[string]func() error{
		"invite there": func() error {
			_, err := s.Invite(t.Context(), owner, people.Invitation{BusinessID: s.other, Email: "x@example.com", Name: "X", Role: "owner"})
			return err
		},
		"invite to the staff": func() error {
			_, err := s.Invite(t.Context(), owner, people.Invitation{Email: "x@example.com", Name: "X", Role: "admin"})
			return err
		},
		"link": func() error {
			_, err := s.Directory.Link(t.Context(), owner, foreign.Person.ID, domain.Portal)
			return err
		},
		"link to there": func() error {
			_, err := s.LinkTo(t.Context(), owner, s.other, foreign.Person.ID)
			return err
		},
		"role": func() error {
			_, err := s.SetRole(t.Context(), owner, s.other, foreign.Person.ID, "viewer")
			return err
		},
		"remove":       func() error { _, err := s.Remove(t.Context(), owner, s.other, foreign.Person.ID); return err },
		"remove here":  func() error { _, err := s.Remove(t.Context(), owner, s.mine, foreign.Person.ID); return err },
		"disable":      func() error { _, err := s.SetDisabled(t.Context(), owner, foreign.Person.ID, true); return err },
		"end sessions": func() error { _, err := s.EndSessions(t.Context(), owner, foreign.Person.ID); return err },
	} {
		if err := try(); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if p := s.in(t, "the foreign owner", foreign); p.Role != domain.RoleOwner {
		t.Errorf("%+v", p)
	}
	if members, err := s.Members(t.Context(), s.other); err != nil || len(members) != 1 {
		t.Errorf("%+v, %v", members, err)
	}
	if _, err := s.Members(t.Context(), "biz_1"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("members of no business: %v", err)
	}
}

// An owner invites the address of a person outside the business, is shown the link, opens it
// and sets a password. The invited person's own business must not be within reach of that.
func TestAnAccountMadeByAnotherBusinessOpensNothingElse(t *testing.T) {
	t.Parallel()
	for what, own := range map[string]func(s *scene, t *testing.T, person domain.ID) string{
		"a link of a command": func(s *scene, t *testing.T, person domain.ID) string { return s.link(t, person) },
		"a link that was mailed": func(s *scene, t *testing.T, person domain.ID) string {
			return s.mailed(t, person, s.mine, domain.LinkSignIn)
		},
		"one to the other business": func(s *scene, t *testing.T, person domain.ID) string {
			return s.mailed(t, person, s.other, domain.LinkSignIn)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			k, d := s.passkeys(t), newDevice()
			attacker := s.enter(t, s.mine, "attacker@example.com", domain.RoleOwner)
			issued := s.inviteAs(t, attacker.Actor(""), s.mine, "victim@example.com", "Mallory")
			stolen, err := s.Enter(t.Context(), browser, issued.Secret)
			if err != nil {
				t.Fatal(err)
			}
			s.setPassword(t, stolen.Principal)
			add(t, k, stolen.Principal, d)

			owner := s.enter(t, s.other, "owner@example.com", domain.RoleOwner)
			invited := s.inviteAs(t, owner.Actor(""), s.other, "victim@example.com", "Ama Mensah")
			if err := s.Show(t.Context(), stolen.Principal, s.other); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("before the invitation was used: %v", err)
			}
			_, err = s.Enter(t.Context(), browser, invited.Secret)
			wantCode(t, "the invitation alone", err, domain.CodeOwnSignInToAccept)

			// The person has nothing to sign in by, and gets a link that nobody else sees.
			victim, err := s.Enter(t.Context(), browser, own(s, t, issued.PersonID))
			if err != nil || !victim.CredentialsEnded {
				t.Fatalf("%+v, %v", victim, err)
			}
			if victim.Session.BusinessID == s.mine {
				wantCode(t, "then the invitation", s.AcceptHere(t.Context(), browser, victim.Principal, invited.Secret), "")
			}
			s.out(t, "the attacker's session", stolen)
			_, err = s.SignIn(t.Context(), browser, domain.Portal, "victim@example.com", password)
			wantCode(t, "the attacker's password", err, domain.CodeSignInRefused)
			_, err = signIn(t, k, d)
			wantCode(t, "the attacker's passkey", err, domain.CodePasskeyRefused)
			if victim.Principal = s.in(t, "accepted", victim); victim.Session.BusinessID != s.other {
				t.Errorf("%+v", victim.Principal)
			}
			if known, err := s.stage.Store.Read().Devices.Known(t.Context(), issued.PersonID, domain.BearerDigest(stolen.Mark)); known || err != nil {
				t.Errorf("the attacker's browser is one of the person's: %v, %v", known, err)
			}
			there, err := s.stage.Store.Read().Memberships.Member(t.Context(), s.mine, issued.PersonID)
			if err != nil || there.Membership.AcceptedAt == nil {
				t.Errorf("a membership became an invitation again: %+v, %v", there.Membership, err)
			}
			again := s.setPasswordOf(t, victim)
			if next, err := s.Enter(t.Context(), browser, s.link(t, issued.PersonID)); err != nil || next.CredentialsEnded {
				t.Errorf("the next link: %+v, %v", next, err)
			}
			s.in(t, "from now on nothing ends", again)
		})
	}
}

// setPasswordOf sets a password in a session, and answers that.
func (s *scene) setPasswordOf(t *testing.T, e people.Entered) people.Entered {
	t.Helper()
	s.setPassword(t, e.Principal)
	return e
}

func TestACompanysOwnSiteLetsItsCustomersIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admit := func(role string) people.Issued {
		issued, err := s.Admit(t.Context(), command, people.Invitation{BusinessID: s.mine, Email: "ama@example.com", Name: "Ama", Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return issued
	}
	first := admit("developer")
	if _, err := s.Enter(t.Context(), browser, first.Secret); err != nil || first.Purpose != domain.LinkInvitation {
		t.Fatalf("%+v, %v", first, err)
	}
	second := admit("owner")
	entered, err := s.Enter(t.Context(), browser, second.Secret)
	if err != nil || second.Purpose != domain.LinkSignIn || entered.Role != domain.RoleDeveloper || entered.CredentialsEnded {
		t.Errorf("%+v, %+v, %v", second, entered, err)
	}
	_, err = s.Invite(t.Context(), command, people.Invitation{BusinessID: s.mine, Email: "ama@example.com", Name: "Ama", Role: "owner"})
	wantCode(t, "another role", err, domain.CodeAlreadyMember)
}

func TestNobodyDisablesThemselfOrTheLastAdmin(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.enter(t, "", "admin@example.com", domain.RoleAdmin)
	_, err := s.SetDisabled(t.Context(), admin.Actor(""), admin.Person.ID, true)
	wantCode(t, "themself", err, domain.CodeDisableSelf)
	_, err = s.SetDisabled(t.Context(), command, admin.Person.ID, true)
	wantCode(t, "the last admin, by a command", err, domain.CodeLastOwner)

	second := s.enter(t, "", "second@example.com", domain.RoleAdmin)
	if p, err := s.SetDisabled(t.Context(), admin.Actor("req_9"), second.Person.ID, true); err != nil || p.State != domain.PersonDisabled {
		t.Fatalf("%+v, %v", p, err)
	}
	s.out(t, "disabled", second)
	_, err = s.Link(t.Context(), command, second.Person.ID, domain.Console)
	wantCode(t, "a link for one who is disabled", err, domain.CodePersonDisabled)
	s.in(t, "the other admin", admin)
	_, err = s.SetDisabled(t.Context(), command, admin.Person.ID, true)
	wantCode(t, "the last one who is active", err, domain.CodeLastOwner)
	if p, err := s.SetDisabled(t.Context(), admin.Actor(""), second.Person.ID, false); err != nil || p.State != domain.PersonActive {
		t.Errorf("%+v, %v", p, err)
	}
	s.out(t, "a session from before", second)
	invited := s.invite(t, command, s.mine, "ama@example.com", domain.RoleOwner)
	for _, disabled := range []bool{true, false} {
		if _, err = s.SetDisabled(t.Context(), admin.Actor(""), invited.PersonID, disabled); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := s.stage.Store.Read().Persons.Get(t.Context(), invited.PersonID); err != nil || p.State != domain.PersonInvited {
		t.Errorf("one who never came became %s, %v", p.State, err)
	}
	told, err := audit.New(s.stage.Store, s.stage.Clock, s.stage.IDs).Entries(t.Context(), domain.AuditFilter{Action: domain.ActionPersonDisable},
		domain.PageRequest{Limit: 10})
	if err != nil || len(told) != 2 || told[1].Actor.ID != admin.Person.ID || told[1].Target != second.Person.ID || told[1].Details["name"] == "" {
		t.Errorf("%+v, %v", told, err)
	}
}
