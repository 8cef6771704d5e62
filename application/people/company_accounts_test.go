package people_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

func TestTheLastAdminStaysOneWhateverTheRulesSay(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	s.vouch("ama@example.com", "ops")
	first := s.mustCompany(t)
	s.vouch("ama@example.com", "dispatch")
	if got := s.mustCompany(t); got.Role != domain.RoleAdmin {
		t.Errorf("the last admin is %s", got.Role)
	}
	s.provider.Email, s.provider.Groups = "ama@elsewhere.com", nil
	s.refused(t, "no role", "in no group")
	s.in(t, "the last admin", first)

	s.scene.enter(t, "", "boss@example.com", domain.RoleAdmin)
	s.vouch("ama@example.com", "dispatch")
	if got := s.mustCompany(t); got.Role != domain.RoleDispatcher {
		t.Errorf("one of two admins is %s", got.Role)
	}
}

func TestAnInvitedPersonWhoNeverCameIsTheOneOfTheAddress(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	invited := s.invite(t, command, "", "ama@example.com", domain.RoleSupport)
	entered := s.mustCompany(t)
	if entered.Person.ID != invited.Member.Person.ID || entered.Role != domain.RoleDispatcher {
		t.Errorf("%+v", entered.Principal)
	}
	_, err := s.Enter(t.Context(), browser, invited.Secret)
	wantCode(t, "the link of the invitation", err, domain.CodeLinkReplaced)
}

// Customers may type any address, and be shown the link. They keep nobody from the console.
func TestAnAccountWhoseAddressNobodyProvedStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]func(t *testing.T, s *companyScene, owner domain.AuditActor) (opened people.Entered){
		"invited by a customer": func(t *testing.T, s *companyScene, owner domain.AuditActor) people.Entered {
			s.inviteAs(t, owner, s.mine, "ama@example.com", "Mallory")
			return people.Entered{}
		},
		"invited by a customer and to the staff": func(t *testing.T, s *companyScene, owner domain.AuditActor) people.Entered {
			s.inviteAs(t, owner, s.mine, "ama@example.com", "Mallory")
			s.invite(t, command, "", "ama@example.com", domain.RoleAdmin)
			return people.Entered{}
		},
		"opened by a customer": func(t *testing.T, s *companyScene, owner domain.AuditActor) people.Entered {
			opened, err := s.Enter(t.Context(), browser, s.inviteAs(t, owner, s.mine, "ama@example.com", "Mallory").Secret)
			wantCode(t, "enter", err, "")
			s.setPassword(t, opened.Principal)
			err = s.stage.Store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				_, _, err := tx.Devices.Seen(ctx, opened.Person.ID, [32]byte{1}, s.stage.Clock.Now())
				return cmp.Or(err, tx.Identities.Insert(ctx, domain.ConnectedIdentity{Issuer: "https://id.example.com", Subject: "mallory",
					PersonID: opened.Person.ID, CreatedAt: s.stage.Clock.Now()}))
			})
			wantCode(t, "connect", err, "")
			return opened
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCompanyScene(t)
			opened := there(t, s, s.scene.enter(t, s.mine, "owner@example.com", domain.RoleOwner).Actor(""))
			entered := s.mustCompany(t)
			if entered.Role != domain.RoleDispatcher || entered.Site() != domain.Console || entered.Person.Name != "Ama Mensah" {
				t.Errorf("%+v", entered.Principal)
			}
			if opened.Secret != "" {
				s.out(t, "who opened it", opened)
				left, err := s.stage.Store.Read().Identities.OfPerson(t.Context(), opened.Person.ID)
				known, unread := s.stage.Store.Read().Devices.Known(t.Context(), opened.Person.ID, [32]byte{1})
				if len(left) != 1 || left[0].Subject == "mallory" || known || err != nil || unread != nil {
					t.Errorf("connected: %v, the device is known: %t, %v, %v", left, known, err, unread)
				}
			}
			// Until an invitation is accepted, its business sees the name that it typed.
			want := "Mallory"
			if opened.Secret != "" {
				want = "Ama Mensah"
			}
			if got := s.names(t, s.mine)["ama@example.com"]; got != want {
				t.Errorf("the customer sees the name %q", got)
			}
			for _, site := range []domain.Site{domain.Console, domain.Portal} {
				_, err := s.SignIn(t.Context(), browser, site, "ama@example.com", password)
				wantCode(t, "a password from before, at the "+string(site), err, domain.CodeSignInRefused)
			}
		})
	}
}

// An admin was shown the link of the invitation, so that the account could be taken over.
func TestTheFirstSignInSetsTheRoleOfAMembershipThatWasAccepted(t *testing.T) {
	t.Parallel()
	for last, want := range map[bool]domain.Role{false: domain.RoleDispatcher, true: domain.RoleAdmin} {
		s := newCompanyScene(t)
		root := s.scene.enter(t, "", "root@example.com", domain.RoleAdmin)
		s.enterBy(t, root.Actor(""), "ama@example.com", domain.RoleAdmin)
		if last {
			_, err := s.Remove(t.Context(), command, "", root.Person.ID)
			wantCode(t, "remove", err, "")
		}
		entered := s.mustCompany(t)
		changes := s.audit(t, domain.ActionPersonRole)
		if entered.Role != want || s.in(t, "in", entered).Role != want || (len(changes) == 1) == last {
			t.Errorf("the last admin: %t, the role is %s, %+v", last, entered.Role, changes)
		}
		if len(changes) == 1 && (changes[0].Details["before"] != "admin" || changes[0].Details["method"] != "oidc") {
			t.Errorf("%+v", changes)
		}
	}
}

// enterBy enters the console by a link that the inviter was shown.
func (s *companyScene) enterBy(t *testing.T, by domain.AuditActor, email string, role domain.Role) {
	t.Helper()
	_, err := s.Enter(t.Context(), browser, s.invite(t, by, "", email, role).Secret)
	wantCode(t, "enter", err, "")
}

func TestNoOtherPersonIsTakenOverByAnAddress(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]func(t *testing.T, s *companyScene){
		"a customer":      func(t *testing.T, s *companyScene) { s.scene.enter(t, s.mine, "ama@example.com", domain.RoleOwner) },
		"staff by a link": func(t *testing.T, s *companyScene) { s.scene.enter(t, "", "ama@example.com", domain.RoleAdmin) },
		"staff by a link, with another role": func(t *testing.T, s *companyScene) {
			s.scene.enter(t, "", "ama@example.com", domain.RoleSupport)
		},
		"another account of the provider": func(t *testing.T, s *companyScene) {
			s.mustCompany(t)
			s.provider.Subject = "made anew"
		},
		"staff that was removed": func(t *testing.T, s *companyScene) {
			e := s.scene.enter(t, "", "ama@example.com", domain.RoleSupport)
			if _, err := s.Remove(t.Context(), command, "", e.Person.ID); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCompanyScene(t)
			there(t, s)
			before := s.staff(t)
			s.refused(t, name, "here already")
			if after := s.staff(t); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%v became %v", before, after)
			}
		})
	}
}

func TestAPersonConnectsTheAccountInASessionOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	s.scene.enter(t, "", "boss@example.com", domain.RoleAdmin)
	ama := s.scene.enter(t, "", "ama@home.org", domain.RoleSupport)
	connect := func(p domain.Principal, with people.Departure) error {
		_, err := s.Return(t.Context(), browser, p, answerTo(with))
		return err
	}
	begin := func(p domain.Principal) people.Departure {
		t.Helper()
		left, err := s.BeginConnect(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	kofi := s.scene.enter(t, "", "kofi@home.org", domain.RoleSupport)
	wantCode(t, "in the session of another person", connect(kofi.Principal, begin(ama.Principal)), domain.CodeIdentityRefused)
	wantCode(t, "without a session", connect(domain.Principal{}, begin(ama.Principal)), domain.CodeIdentityRefused)
	wantCode(t, "to connect", connect(ama.Principal, begin(ama.Principal)), "")
	wantCode(t, "to connect it again", connect(ama.Principal, begin(ama.Principal)), "")
	wantCode(t, "to connect it with another person", connect(kofi.Principal, begin(kofi.Principal)), domain.CodeIdentityTaken)
	if entries := s.audit(t, domain.ActionIdentityConnect); len(entries) != 1 || entries[0].Target != ama.Person.ID ||
		entries[0].Details["subject"] != "sub of ama@example.com" {
		t.Errorf("%+v", entries)
	}
	if all, err := s.Connected(t.Context(), ama.Principal); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if got := s.mustCompany(t); got.Person.ID != ama.Person.ID || got.Role != domain.RoleDispatcher {
		t.Errorf("%+v", got.Principal)
	}
	ama.Principal = s.in(t, "the older session", ama) // with another role

	left := begin(ama.Principal)
	if err := s.SignOut(t.Context(), ama.Principal, "req_9"); err != nil {
		t.Fatal(err)
	}
	s.provider.Subject = "one more"
	wantCode(t, "after signing out", connect(ama.Principal, left), domain.CodeSessionEnded)
	s.stage.Clock.GoOn(domain.FreshFor)
	_, err := s.BeginConnect(t.Context(), s.in(t, "kofi's", kofi))
	wantCode(t, "with an old sign-in", err, domain.CodeSignInTooOld)
}

func TestAnOldSignInIsMadeRecentOnlyByAProviderThatAskedAgain(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	entered := s.mustCompany(t)
	s.stage.Clock.GoOn(30 * time.Minute)
	p := s.in(t, "half an hour later", entered)
	confirm := func() error {
		left, err := s.BeginConfirm(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if r := s.provider.begun[answerTo(left).State]; r.MaxAge != 0 {
			t.Errorf("an age of %s is allowed", r.MaxAge)
		}
		_, err = s.Return(t.Context(), browser, p, answerTo(left))
		return err
	}
	old := func(what string, words string) {
		t.Helper()
		err := confirm()
		if !domain.HasCode(err, domain.CodeIdentityRefused) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
		if s.in(t, what, entered).Session.Fresh(s.stage.Clock.Now()) {
			t.Errorf("%s: recent", what)
		}
	}
	old("signed in half an hour ago", "did not ask you again")
	s.provider.AuthenticatedAt = time.Time{}
	old("it does not tell when", "does not tell when")
	s.vouch("kofi@example.com", "ops")
	old("as another person", "not the one of your session")
	s.vouch("ama@example.com", "dispatch")
	if err := confirm(); err != nil || !s.in(t, "asked again", entered).Session.Fresh(s.stage.Clock.Now()) {
		t.Errorf("%v", err)
	}
}

func TestASignInThatIsOldThereIsNoRecentOneHere(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	for _, at := range []time.Time{s.stage.Clock.Now().Add(-time.Hour), {}} {
		s.provider.AuthenticatedAt = at
		p := s.in(t, "in", s.mustCompany(t))
		wantCode(t, at.String(), p.Allows(domain.ActOwnAccount, s.stage.Clock.Now()), domain.CodeSignInTooOld)
	}
}

func TestAPersonWhoWasRemovedComesBackByTheRules(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	entered := s.mustCompany(t)
	if _, err := s.Remove(t.Context(), command, "", entered.Person.ID); err != nil {
		t.Fatal(err)
	}
	s.out(t, "removed", entered)

	// The owner of a business invites the address and is shown the link.
	owner := s.scene.enter(t, s.mine, "owner@example.com", domain.RoleOwner)
	_, err := s.Enter(t.Context(), browser, s.inviteAs(t, owner.Actor(""), s.mine, "ama@example.com", "A").Secret)
	wantCode(t, "the link alone", err, domain.CodeOwnSignInToAccept)
	back := s.mustCompany(t)
	if back.Person.ID != entered.Person.ID || back.CredentialsEnded || back.Role != domain.RoleDispatcher {
		t.Errorf("%+v", back)
	}

	if _, err := s.SetDisabled(t.Context(), command, entered.Person.ID, true); err != nil {
		t.Fatal(err)
	}
	s.refused(t, "disabled", "is disabled")
}
