package people_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

// mails takes all mails that wait.
func (s *scene) mails(t *testing.T) (all []domain.Mail) {
	t.Helper()
	due := s.stage.Clock.Now().Add(24 * time.Hour)
	for {
		some, err := s.stage.Store.Mails().Lease(t.Context(), ports.MailLease{Now: due, Until: due.Add(time.Hour), Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, some...); len(some) < 100 {
			return all
		}
	}
}

func (s *scene) wantTold(t *testing.T, what string, p domain.Principal, want ...domain.MailKind) {
	t.Helper()
	var told []domain.MailKind
	for _, m := range s.mails(t) {
		if m.PersonID == p.Person.ID && m.Kind.AboutAccount() {
			told = append(told, m.Kind)
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("%s: told is %v, want %v", what, told, want)
	}
}

func TestAPersonIsToldOfWhatLetsThemIn(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner).Principal
	s.wantTold(t, "the first sign-in", ama)
	s.setPassword(t, ama)
	s.wantTold(t, "the first password", ama, domain.MailPasswordSet)
	s.setPassword(t, ama)
	s.wantTold(t, "another password", ama, domain.MailPasswordChanged)
	k := s.passkeys(t)
	made := add(t, k, ama, newDevice())
	s.wantTold(t, "a passkey", ama, domain.MailPasskeyAdded)
	wantCode(t, "rename", k.Rename(t.Context(), ama, "", made.ID, "Phone"), "")
	s.wantTold(t, "another name for it", ama)
	wantCode(t, "remove", k.Remove(t.Context(), ama, "", made.ID), "")
	s.wantTold(t, "no passkey", ama, domain.MailPasskeyRemoved)

	kofi := s.enter(t, "", "kofi@example.com", domain.RoleDispatcher).Principal
	s.enter(t, "", "admin@example.com", domain.RoleAdmin)
	s.vouch("kofi@example.com", "dispatch")
	left, err := s.BeginConnect(t.Context(), kofi)
	wantCode(t, "begin to connect", err, "")
	_, err = s.Return(t.Context(), browser, kofi, answerTo(left))
	wantCode(t, "connect", err, "")
	s.setPassword(t, kofi)
	s.wantTold(t, "an account at the provider", kofi, domain.MailIdentityConnected, domain.MailPasswordSet)
	s.vouch("kofi@example.com")
	s.provider.Email = "kofi@elsewhere.example" // in no domain that has a role
	s.refused(t, "no role any more", "in no group")
	s.wantTold(t, "a password that the provider's word removed", kofi, domain.MailCredentialsRemoved)
}

func TestInvitationsByPeopleAreBoundedAndTakeNoRoomOfOthers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	mallory := s.enter(t, s.mine, "mallory@example.com", domain.RoleOwner).Actor("")
	efua := s.enter(t, s.other, "efua@example.com", domain.RoleOwner).Actor("")
	admin := s.enter(t, "", "admin@example.com", domain.RoleAdmin).Actor("")
	mallory.Session, efua.Session, admin.Session = "", "", "" // they end before the day does
	s.mails(t)
	const victim = "victim@example.com"
	try := func(by domain.AuditActor, business domain.ID, email string) error {
		_, err := s.Invite(t.Context(), by, people.Invitation{BusinessID: business, Email: email, Name: "Victim", Role: "viewer"})
		return err
	}
	for range domain.MailsAnHourToOne {
		wantCode(t, "within the bound", try(mallory, s.mine, victim), "")
	}
	before := len(s.entries(t, s.mine))
	err := try(mallory, s.mine, victim)
	wantCode(t, "one more", err, domain.CodeTooManyMails)
	if err == nil || !strings.Contains(err.Error(), "Try again in 60 minutes") {
		t.Errorf("%v", err)
	}
	wantCode(t, "behind a plus sign", try(mallory, s.mine, "victim+news@example.com"), domain.CodeTooManyMails)
	if after := len(s.entries(t, s.mine)); after != before {
		t.Errorf("%d entries of the audit log were added by refused invitations", after-before)
	}
	n := domain.MailsAnHourToOne
	for i := 0; i < domain.MailsADayOfBusiness && try(mallory, s.mine, fmt.Sprintf("v%d@example.com", i)) == nil; i++ {
		n++
	}
	if n != domain.InvitationsAnHour {
		t.Errorf("%d invitations in an hour", n)
	}
	wantCode(t, "another business", try(efua, s.other, victim), "")
	wantCode(t, "the staff, for this business", try(admin, s.mine, victim), "")
	wantCode(t, "a command", try(command, s.mine, victim), "")
	wantCode(t, "the person's own link", s.SendLink(t.Context(), browser, domain.Portal, victim), "")
	if got := len(s.mails(t)); got != n+4 {
		t.Errorf("%d mails wait, want %d", got, n+4)
	}

	s.stage.Clock.GoOn(time.Hour)
	wantCode(t, "an hour later", try(mallory, s.mine, victim), "")
	for range 3 {
		for i := 0; i < domain.MailsADayOfBusiness && try(mallory, s.mine, fmt.Sprintf("w%d@example.com", i)) == nil; i++ {
			n++
		}
		s.stage.Clock.GoOn(time.Hour)
	}
	if n+1 != domain.MailsADayOfBusiness {
		t.Errorf("%d invitations in a day", n+1)
	}
	s.stage.Clock.GoOn(24 * time.Hour)
	wantCode(t, "a day later", try(mallory, s.mine, victim), "")
}

// The budget of mails counts by mailbox; here others could use up the links of ama@ by asking for
// ama+1@ to ama+5@, which is nobody.
func TestSignInLinksAreCountedByAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 5 {
		wantCode(t, "a link", s.SendLink(t.Context(), browser, domain.Portal, "ama@example.com"), "")
		wantCode(t, "of nobody", s.SendLink(t.Context(), browser, domain.Portal, fmt.Sprintf("kofi+%d@example.com", i)), "")
	}
	wantCode(t, "one more", s.SendLink(t.Context(), browser, domain.Portal, "ama@example.com"), domain.CodeTooManySignIns)
	wantCode(t, "another address", s.SendLink(t.Context(), browser, domain.Portal, "kofi@example.com"), "")
}

// An office has one address.
func TestLinksThatOneAsksForShutNobodyElseOut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	office := people.Browser{Address: "office"}
	for i := range 40 {
		wantCode(t, "of nobody", s.SendLink(t.Context(), office, domain.Portal, fmt.Sprintf("x%d@example.com", i)), "")
	}
	wantCode(t, "one for each person", s.SendLink(t.Context(), office, domain.Portal, "ama@example.com"), "")
	wantCode(t, "and no more", s.SendLink(t.Context(), office, domain.Portal, "ama@example.com"), domain.CodeTooManySignIns)
	office.Mark = ama.Mark
	for range 5 {
		wantCode(t, "in a browser of Ama's", s.SendLink(t.Context(), office, domain.Portal, "ama@example.com"), "")
	}
	wantCode(t, "and no more", s.SendLink(t.Context(), office, domain.Portal, "ama@example.com"), domain.CodeTooManySignIns)
	sent := 5
	for range 4 { // further browsers in which Ama has been
		office.Mark = s.enterAgain(t, ama.Person.ID).Mark
		for range 5 {
			if s.SendLink(t.Context(), office, domain.Portal, "ama@example.com") == nil {
				sent++
			}
		}
	}
	if sent != 15 {
		t.Errorf("%d links from browsers of Ama's", sent)
	}
}
