package people_test

import (
	"context"
	"testing"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// inviteAs invites an address under a name that the inviter types.
func (s *scene) inviteAs(t *testing.T, by domain.AuditActor, business domain.ID, email, name string) people.Issued {
	t.Helper()
	issued, err := s.Invite(t.Context(), by, people.Invitation{BusinessID: business, Email: email, Name: name, Role: "viewer"})
	if err != nil {
		t.Fatalf("%s: %v", email, err)
	}
	return issued
}

// names are the members of a business by email address.
func (s *scene) names(t *testing.T, business domain.ID) map[domain.Email]string {
	t.Helper()
	members, err := s.Members(t.Context(), business)
	if err != nil {
		t.Fatal(err)
	}
	names := map[domain.Email]string{}
	for _, m := range members {
		names[m.Person.Email] = m.Person.Name
	}
	return names
}

// member is an accepted member with a name and a password of their own.
func (s *scene) member(t *testing.T, business domain.ID, email, name string, role domain.Role) people.Entered {
	t.Helper()
	entered := s.enter(t, business, email, role)
	if err := s.Rename(t.Context(), entered.Principal, "", name); err != nil {
		t.Fatal(err)
	}
	s.setPassword(t, entered.Principal)
	return entered
}

func TestAnInvitationTellsNothingOfAnAccountAndNamesItInItsBusinessAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.enter(t, s.mine, "owner@example.com", domain.RoleOwner).Actor("")
	s.member(t, s.other, "boss@example.com", "Dr. Secret", domain.RoleOwner)
	s.member(t, "", "admin@example.com", "Akosua", domain.RoleAdmin)
	disabled := s.member(t, s.other, "disabled@example.com", "Secret too", domain.RoleViewer)
	if _, err := s.SetDisabled(t.Context(), command, disabled.Person.ID, true); err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{"boss@example.com", "admin@example.com", "disabled@example.com", "nobody@example.com"} {
		issued := s.inviteAs(t, owner, s.mine, email, "Whoever")
		if issued.Member.Person.Name != "Whoever" || issued.MailOnly || issued.Secret == "" || issued.Purpose != domain.LinkInvitation ||
			issued.OneBusiness || issued.Private() {
			t.Errorf("%s is answered %+v", email, issued)
		}
		if got := s.names(t, s.mine)[domain.Email(email)]; got != "Whoever" {
			t.Errorf("%s is listed as %q", email, got)
		}
		// The ID of a person is in the order of time, so that an older one would tell.
		if issued.Member.Reference() == issued.Member.Person.ID {
			t.Errorf("%s is listed under the ID of the account", email)
		}
	}
	again := s.inviteAs(t, owner, s.mine, "boss@example.com", "The Boss")
	if got := s.names(t, s.mine)["boss@example.com"]; got != "The Boss" || s.names(t, s.other)["boss@example.com"] != "Dr. Secret" {
		t.Errorf("invited again, the person is %q here and %q there", got, s.names(t, s.other)["boss@example.com"])
	}
	if _, err := s.AcceptByPassword(t.Context(), browser, again.Secret, password); err != nil {
		t.Fatal(err)
	}
	if got := s.names(t, s.mine)["boss@example.com"]; got != "Dr. Secret" {
		t.Errorf("after accepting, the person is %q", got)
	}
}

func TestAPersonIsCalledAsTheInvitationThatWasAcceptedSaysAndChangesIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	thief := s.enter(t, s.mine, "thief@example.com", domain.RoleOwner).Actor("")
	first := s.inviteAs(t, thief, s.mine, "ceo@example.com", "Thief And Liar")
	second := s.inviteAs(t, command, s.other, "ceo@example.com", "Ama Mensah")
	entered, err := s.Enter(t.Context(), browser, second.Secret)
	if err != nil || entered.Person.Name != "Ama Mensah" {
		t.Fatalf("%+v, %v", entered.Person, err)
	}
	if s.names(t, s.mine)["ceo@example.com"] != "Thief And Liar" || s.names(t, s.other)["ceo@example.com"] != "Ama Mensah" {
		t.Errorf("%v and %v", s.names(t, s.mine), s.names(t, s.other))
	}
	_, err = s.Enter(t.Context(), browser, first.Secret)
	wantCode(t, "the other invitation, which still works with a sign-in", err, domain.CodeOwnSignInToAccept)
	wantCode(t, "it is accepted in the session", s.AcceptHere(t.Context(), browser, entered.Principal, first.Secret), "")
	p := s.in(t, "the session goes on", entered)
	if p.Session.BusinessID != s.mine || p.Person.Name != "Ama Mensah" {
		t.Errorf("%+v", p)
	}

	wantCode(t, "rename", s.Rename(t.Context(), p, "req_3", ` Ama O. Mensah\ `), "")
	if p := s.in(t, "renamed", entered); p.Person.Name != `Ama O. Mensah\` || s.names(t, s.mine)["ceo@example.com"] != p.Person.Name {
		t.Errorf("%+v", p.Person)
	}
	for _, name := range []string{"", "a\nb", "a\u202eb", "a\u2066b"} {
		wantCode(t, "the name "+name, s.Rename(t.Context(), entered.Principal, "req_3", name), domain.CodeValidation)
		_, err := s.Invite(t.Context(), command, people.Invitation{BusinessID: s.mine, Email: "x@example.com", Name: name, Role: "viewer"})
		wantCode(t, "an invitation of "+name, err, domain.CodeValidation)
	}
}

// A customer may invite anybody, an admin of the console too. What the link alone must not do
// is sign in, or touch the account.
func TestAcceptingTakesTheSignInOfTheAccountAndChangesNothingOfIt(t *testing.T) {
	t.Parallel()
	for what, accept := range map[string]func(t *testing.T, s *scene, k *people.Passkeys, d *stage.Device, secret string) (people.Entered, error){
		"by password": func(t *testing.T, s *scene, _ *people.Passkeys, _ *stage.Device, secret string) (people.Entered, error) {
			t.Helper()
			_, err := s.AcceptByPassword(t.Context(), browser, secret, "wrong "+password)
			wantCode(t, "a wrong password", err, domain.CodeSignInRefused)
			return s.AcceptByPassword(t.Context(), browser, secret, password)
		},
		"by passkey": func(t *testing.T, s *scene, k *people.Passkeys, d *stage.Device, secret string) (people.Entered, error) {
			t.Helper()
			stranger := newDevice()
			add(t, k, s.enter(t, s.other, "stranger@example.com", domain.RoleOwner).Principal, stranger)
			answer := func(d *stage.Device) (people.Entered, error) {
				prompt, err := k.AskToSignIn()
				wantCode(t, "ask", err, "")
				return k.Accept(t.Context(), browser, secret, prompt.Ceremony, d.Use(t, prompt.Options))
			}
			_, err := answer(stranger)
			wantCode(t, "a passkey of another account", err, domain.CodePasskeyRefused)
			return answer(d)
		},
		"by a sign-in link of a command": func(t *testing.T, s *scene, _ *people.Passkeys, _ *stage.Device, secret string) (people.Entered, error) {
			t.Helper()
			link, err := s.Look(t.Context(), browser, secret)
			wantCode(t, "look", err, "")
			return s.Enter(t.Context(), browser, s.link(t, link.PersonID))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			k, d := s.passkeys(t), newDevice()
			owner := s.enter(t, s.mine, "owner@example.com", domain.RoleOwner).Actor("")
			admin := s.member(t, "", "root@example.com", "Root", domain.RoleAdmin)
			add(t, k, admin.Principal, d)
			toConsole, err := s.Directory.Link(t.Context(), command, admin.Person.ID, domain.Console)
			wantCode(t, "link", err, "")

			for _, by := range []domain.AuditActor{owner, command} {
				_, err = s.Enter(t.Context(), browser, s.inviteAs(t, by, s.mine, "root@example.com", "R").Secret)
				wantCode(t, "the link alone", err, domain.CodeOwnSignInToAccept)
			}
			issued := s.inviteAs(t, owner, s.mine, "root@example.com", "R")
			entered, err := accept(t, s, k, d, issued.Secret)
			if err != nil || entered.Session.BusinessID != s.mine || entered.Person.Name != "Root" || entered.CredentialsEnded {
				t.Fatalf("%+v, %v", entered, err)
			}
			s.in(t, "the session of the console", admin)
			if known, err := k.List(t.Context(), admin.Principal); err != nil || len(known) != 1 {
				t.Errorf("passkeys: %+v, %v", known, err)
			}
			_, err = s.SignIn(t.Context(), browser, domain.Console, "root@example.com", password)
			wantCode(t, "the password", err, "")
			_, err = s.Enter(t.Context(), browser, toConsole.Secret)
			wantCode(t, "the link to the console", err, "")
			if _, err = s.Enter(t.Context(), browser, issued.Secret); !domain.HasCode(err, domain.CodeLinkUsed) &&
				!domain.HasCode(err, domain.CodeLinkReplaced) {
				t.Errorf("the invitation, once more: %v", err)
			}
		})
	}
}

func TestAnInvitationIsAcceptedInNoSessionButTheInvitedPersons(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	owner := s.enter(t, s.mine, "owner@example.com", domain.RoleOwner)
	kofi := s.enter(t, s.other, "kofi@example.com", domain.RoleOwner)
	issued := s.inviteAs(t, owner.Actor(""), s.mine, "kofi@example.com", "K")
	wantCode(t, "in the inviter's session", s.AcceptHere(t.Context(), browser, owner.Principal, issued.Secret), domain.CodeSessionEnded)
	ended := s.enter(t, s.other, "late@example.com", domain.RoleOwner)
	late := s.inviteAs(t, owner.Actor(""), s.mine, "late@example.com", "L")
	wantCode(t, "sign out", s.SignOut(t.Context(), ended.Principal, ""), "")
	wantCode(t, "in one that has ended", s.AcceptHere(t.Context(), browser, ended.Principal, late.Secret), domain.CodeSessionEnded)

	// A link that the owner is shown for a member opens the own business and not the account.
	shown, err := s.LinkTo(t.Context(), s.in(t, "kofi", kofi).Actor(""), s.other, kofi.Person.ID)
	if err != nil || !shown.OneBusiness || shown.Secret == "" {
		t.Fatalf("%+v, %v", shown, err)
	}
	opened, err := s.Enter(t.Context(), browser, shown.Secret)
	wantCode(t, "the shown link", err, "")
	wantCode(t, "in its session", s.AcceptHere(t.Context(), browser, opened.Principal, issued.Secret), domain.CodeOwnSignInNeeded)
	wantCode(t, "a password in its session", s.SetPassword(t.Context(), opened.Principal, "", password), domain.CodeOwnSignInNeeded)
	wantCode(t, "another name in its session", s.Rename(t.Context(), opened.Principal, "", "Mallory"), domain.CodeOwnSignInNeeded)
	wantCode(t, "in kofi's own", s.AcceptHere(t.Context(), browser, kofi.Principal, issued.Secret), "")
}

func TestInvitationsToOneAddressDoNotTouchEachOther(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a := s.enter(t, s.mine, "a@example.com", domain.RoleOwner).Actor("")
	first := s.inviteAs(t, a, s.mine, "new@example.com", "New")
	second := s.inviteAs(t, command, s.other, "new@example.com", "New")
	staff := s.invite(t, command, "", "new@example.com", domain.RoleSupport)
	if _, err := s.Enter(t.Context(), browser, staff.Secret); err != nil {
		t.Fatal(err)
	}
	for what, issued := range map[string]people.Issued{"a customer's": first, "another customer's": second} {
		_, err := s.Enter(t.Context(), browser, issued.Secret)
		wantCode(t, what+" is still there", err, domain.CodeOwnSignInToAccept)
	}
}

func TestNobodyIsShownTheLinkOfAnotherPersonWhereEmailsAreSent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Directory = people.NewDirectory(s.stage.Store, s.stage.Clock, s.stage.IDs, true)
	owner := s.enter(t, s.mine, "owner@example.com", domain.RoleOwner).Actor("")
	developer := s.enter(t, s.mine, "developer@example.com", domain.RoleViewer)
	s.enter(t, s.other, "boss@example.com", domain.RoleOwner)
	told := func() (kinds []domain.MailKind) {
		t.Helper()
		mails, err := s.stage.Store.Mails().Lease(t.Context(), ports.MailLease{Now: s.stage.Clock.Now(),
			Until: s.stage.Clock.Now().Add(domain.MailKept), Limit: 100})
		wantCode(t, "mails", err, "")
		for _, m := range mails {
			kinds = append(kinds, m.Kind)
		}
		return kinds
	}
	told()
	for email, mail := range map[string]domain.MailKind{
		"new@example.com": domain.MailInvitation, "boss@example.com": domain.MailInvitation, "developer@example.com": domain.MailSignInLink,
	} {
		issued := s.inviteAs(t, owner, s.mine, email, "Whoever")
		if !issued.MailOnly || issued.Secret != "" {
			t.Errorf("%s: %+v", email, issued)
		}
		if _, err := s.stage.Store.Read().Links.FindByDigest(t.Context(), issued.Digest); !domain.HasCode(err, domain.CodeNotFound) {
			t.Errorf("%s: a link was made that nobody has: %v", email, err)
		}
		if got := told(); len(got) != 1 || got[0] != mail {
			t.Errorf("%s is told by %v, want %s", email, got, mail)
		}
	}
	issued, err := s.LinkTo(t.Context(), owner, s.mine, developer.Person.ID)
	if got := told(); err != nil || !issued.MailOnly || len(got) != 1 || got[0] != domain.MailSignInLink {
		t.Errorf("a link: %+v, %v, told by %v", issued, err, got)
	}
	if issued := s.inviteAs(t, command, s.mine, "more@example.com", "More"); issued.Secret == "" {
		t.Error("a command is not shown a link")
	}
}

// A person who was only ever invited and is disabled and enabled is still to come.
func TestAnInvitedPersonWhoWasDisabledIsStillToCome(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	issued := s.inviteAs(t, command, s.mine, "new@example.com", "New")
	for _, disabled := range []bool{true, false} {
		if _, err := s.SetDisabled(t.Context(), command, issued.PersonID, disabled); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Enter(t.Context(), browser, s.inviteAs(t, command, s.mine, "new@example.com", "New").Secret); err != nil {
		t.Errorf("%v", err)
	}
}

// mailed makes the link that an email carries.
func (s *scene) mailed(t *testing.T, person, business domain.ID, purpose domain.LinkPurpose) string {
	t.Helper()
	secret, now := domain.MakeBearerSecret(s.stage.IDs.SigningSecret()), s.stage.Clock.Now()
	s.stage.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Links.Insert(ctx, domain.Link{ID: s.stage.IDs.ID(domain.PrefixLink), PersonID: person, BusinessID: business, Purpose: purpose,
			Origin: domain.LinkMailed, Digest: domain.BearerDigest(secret), CreatedAt: now, ExpiresAt: now.Add(purpose.Lifetime())})
	})
	return secret
}
