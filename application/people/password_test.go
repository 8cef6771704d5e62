package people_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

func TestASignInByPasswordTellsNothingOfWhyItIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	s.enter(t, s.mine, "none@example.com", domain.RoleViewer)
	disabled := s.enter(t, s.mine, "disabled@example.com", domain.RoleViewer)
	s.setPassword(t, disabled.Principal)
	removed := s.enter(t, s.mine, "removed@example.com", domain.RoleViewer)
	s.setPassword(t, removed.Principal)
	_, err := s.SetDisabled(t.Context(), command, disabled.Person.ID, true)
	wantCode(t, "disable", err, "")
	_, err = s.Remove(t.Context(), command, s.mine, removed.Person.ID)
	wantCode(t, "remove", err, "")
	s.invite(t, command, s.mine, "invited@example.com", domain.RoleViewer)

	entered, err := s.SignIn(t.Context(), browser, domain.Portal, " AMA@example.com", password)
	if err != nil || entered.Session.Method != domain.SignInByPassword || entered.Session.BusinessID != s.mine {
		t.Fatalf("%+v, %v", entered, err)
	}
	s.in(t, "by password", entered)

	var first error
	for what, c := range map[string]struct {
		site            domain.Site
		email, password string
	}{
		"a wrong password": {domain.Portal, "ama@example.com", password + "x"}, "no password": {domain.Portal, "ama@example.com", ""},
		"the other site": {domain.Console, "ama@example.com", password}, "unknown": {domain.Portal, "nobody@example.com", password},
		"no address at all": {domain.Portal, "nobody", password}, "without a password": {domain.Portal, "none@example.com", password},
		"without a password, empty": {domain.Portal, "none@example.com", ""}, "disabled": {domain.Portal, "disabled@example.com", password},
		"removed": {domain.Portal, "removed@example.com", password}, "invited": {domain.Portal, "invited@example.com", password},
	} {
		before := s.hasher.work.Load()
		_, err := s.SignIn(t.Context(), browser, c.site, c.email, c.password)
		wantCode(t, what, err, domain.CodeSignInRefused)
		if n := s.hasher.work.Load() - before; n != 1 {
			t.Errorf("%s: %d hashes, want 1: the time tells", what, n)
		}
		if first == nil {
			first = err
		} else if err != nil && err.Error() != first.Error() {
			t.Errorf("%s: %v, and another one was told %v", what, err, first)
		}
	}
}

// People of one business who set passwords make nobody of another one wait, and strangers nobody
// who is known.
func TestAPasswordWaitsInTheLineOfItsBusinessOrNetwork(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	known := ports.Caller{Known: true, Line: "portal " + string(s.mine), Member: string(ama.Person.ID)}
	waits := func(what string, want ports.Caller) {
		t.Helper()
		if got := s.hasher.caller.Swap(ports.Caller{}); got != want {
			t.Errorf("%s waits as %+v, want %+v", what, got, want)
		}
	}
	waits("a new password", known)
	wantCode(t, "confirm", s.Confirm(t.Context(), browser, ama.Principal, password), "")
	waits("a confirmation", known)
	for _, b := range []people.Browser{{Address: "2001:db8:1:100::/56", Mark: ama.Mark}, {Address: "2001:db8:1:100::/56"}} {
		_, err := s.SignIn(t.Context(), b, domain.Portal, "ama@example.com", password)
		wantCode(t, "sign in", err, "")
		waits("a sign-in", known)
		known = ports.Caller{Line: "2001:db8:1::/48", Member: b.Address}
	}
	// Who is no member of a site is a stranger there, in a browser of theirs too.
	b := people.Browser{Address: "192.0.2.1", Mark: ama.Mark}
	_, err := s.SignIn(t.Context(), b, domain.Console, "ama@example.com", password)
	wantCode(t, "at the console", err, domain.CodeSignInRefused)
	waits("a customer at the console", ports.Caller{Line: "192.0.2.0/24", Member: b.Address})
}

// guess tries a wrong password so many times.
func (s *scene) guess(t *testing.T, b people.Browser, email string, n int, code string) {
	t.Helper()
	for range n {
		_, err := s.SignIn(t.Context(), b, domain.Portal, email, "a guess of mine")
		wantCode(t, email+" from "+b.Address, err, code)
	}
}

func TestFailuresLockOnePersonAtOneAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
	s.setPassword(t, kofi.Principal)
	signIn := func(what string, b people.Browser, email, code string) {
		t.Helper()
		_, err := s.SignIn(t.Context(), b, domain.Portal, email, password)
		wantCode(t, what, err, code)
	}
	office, home := people.Browser{Address: "office"}, people.Browser{Address: "home"}
	for _, email := range []string{"Ama@example.com", "nobody@example.com", "malformed"} { // known or not: alike
		s.guess(t, office, email, 10, domain.CodeSignInRefused)
		s.guess(t, office, email, 3, domain.CodeTooManySignIns)
		s.guess(t, home, email, 1, domain.CodeSignInRefused)
	}
	_, err := s.SignIn(t.Context(), office, domain.Portal, "ama@example.com", password)
	var limited *domain.Error
	if !errors.As(err, &limited) || limited.Code != domain.CodeTooManySignIns || limited.RetryAfter != 17*time.Second {
		t.Errorf("with the right password: %v", err)
	}
	signIn("at another address", home, "ama@example.com", "")
	signIn("another person at that address", office, "kofi@example.com", "")
	known := people.Browser{Address: "office", Mark: ama.Mark}
	signIn("in a browser in which Ama was before", known, "ama@example.com", "")
	signIn("in a browser of Kofi", people.Browser{Address: "office", Mark: kofi.Mark}, "ama@example.com", domain.CodeTooManySignIns)
	s.guess(t, known, "ama@example.com", 10, domain.CodeSignInRefused)
	signIn("that browser has its own limit", known, "ama@example.com", domain.CodeTooManySignIns)
	if _, err := s.Enter(t.Context(), office, s.link(t, ama.Person.ID)); err != nil {
		t.Errorf("by a link, while passwords are limited: %v", err)
	}
}

func TestNobodyGuessesFromManyAddressesOrAtManyPersons(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	for _, email := range []string{"ama@example.com", "nobody@example.com"} { // known or not: alike
		for i := range 10 {
			s.guess(t, people.Browser{Address: fmt.Sprintf("192.0.%d.1", i)}, email, 10, domain.CodeSignInRefused)
		}
		s.guess(t, people.Browser{Address: "198.51.100.1"}, email, 1, domain.CodeTooManySignIns)
	}
	for i := range 3 { // a few addresses of a network lock nobody there: two are left at each of the others
		s.guess(t, people.Browser{Address: fmt.Sprintf("2001:db8:1:%d00::/56", i)}, "esi@example.com", 10, domain.CodeSignInRefused)
	}
	s.guess(t, people.Browser{Address: "2001:db8:1:800::/56"}, "esi@example.com", 2, domain.CodeSignInRefused)
	s.guess(t, people.Browser{Address: "2001:db8:1:800::/56"}, "esi@example.com", 1, domain.CodeTooManySignIns)
	s.guess(t, people.Browser{Address: "2001:db8:1:900::/56"}, "esi@example.com", 2, domain.CodeSignInRefused)
	s.guess(t, people.Browser{Address: "2001:db8:2:900::/56"}, "esi@example.com", 1, domain.CodeSignInRefused)
	if _, err := s.SignIn(t.Context(), people.Browser{Address: "12", Mark: ama.Mark}, domain.Portal, "ama@example.com", password); err != nil {
		t.Errorf("Ama, in a browser of hers: %v", err)
	}
	marks := []string{ama.Mark}
	for range 10 {
		marks = append(marks, s.enter(t, s.mine, "ama@example.com", domain.RoleOwner).Mark)
	}
	for i, mark := range marks[1:] {
		s.guess(t, people.Browser{Address: fmt.Sprint(i), Mark: mark}, "ama@example.com", 10, domain.CodeSignInRefused)
	}
	s.guess(t, people.Browser{Address: "13", Mark: ama.Mark}, "ama@example.com", 1, domain.CodeTooManySignIns)
	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
	s.setPassword(t, kofi.Principal)
	for i := range 100 {
		s.guess(t, people.Browser{Address: "sprayer"}, fmt.Sprintf("p%d@example.com", i), 1, domain.CodeSignInRefused)
	}
	// What those failures lock is nobody else at that address; only fewer guesses are left there.
	for _, mark := range []string{"", kofi.Mark} {
		if _, err := s.SignIn(t.Context(), people.Browser{Address: "sprayer", Mark: mark}, domain.Portal, "kofi@example.com", password); err != nil {
			t.Errorf("Kofi at that address, with the mark %q: %v", mark, err)
		}
	}
	s.guess(t, people.Browser{Address: "sprayer"}, "yaa@example.com", 2, domain.CodeSignInRefused)
	before := s.hasher.work.Load()
	s.guess(t, people.Browser{Address: "sprayer"}, "yaa@example.com", 1, domain.CodeTooManySignIns)
	if s.hasher.work.Load() != before {
		t.Error("a guess that was refused was hashed")
	}
}

func TestConfirmingIsCountedBySessionAndPerson(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	s.guess(t, browser, "ama@example.com", 10, domain.CodeSignInRefused)
	wantCode(t, "while others guess at the sign-in page", s.Confirm(t.Context(), browser, ama.Principal, password), "")
	for i := range 5 {
		thief := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
		if i == 4 {
			break
		}
		for range 10 {
			wantCode(t, "a guess", s.Confirm(t.Context(), browser, thief.Principal, "a guess of mine"), domain.CodeSignInRefused)
		}
		wantCode(t, "too many in that session", s.Confirm(t.Context(), browser, thief.Principal, password), domain.CodeTooManySignIns)
		wantCode(t, "in the session of Ama", s.Confirm(t.Context(), browser, ama.Principal, password), "")
	}
	for range 10 {
		wantCode(t, "a guess", s.Confirm(t.Context(), browser, ama.Principal, "a guess of mine"), domain.CodeSignInRefused)
	}
	fresh, err := s.SignIn(t.Context(), people.Browser{Address: "home"}, domain.Portal, "ama@example.com", password)
	wantCode(t, "a further session", err, "")
	wantCode(t, "50 of one person", s.Confirm(t.Context(), browser, fresh.Principal, password), domain.CodeTooManySignIns)
}

func TestSignInsThatSucceedAreBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
	s.setPassword(t, kofi.Principal)
	signIn := func(address, email, code string) {
		t.Helper()
		_, err := s.SignIn(t.Context(), people.Browser{Address: address}, domain.Portal, email, password)
		wantCode(t, email, err, code)
	}
	for i := range 20 {
		signIn(fmt.Sprint(i), "ama@example.com", "")
	}
	before := s.hasher.work.Load()
	signIn("another", "ama@example.com", domain.CodeTooManySignIns)
	if s.hasher.work.Load() != before {
		t.Error("the password was hashed")
	}
	signIn("another", "kofi@example.com", "")
	for range 19 { // and by the invitation
		_, err := s.Enter(t.Context(), browser, s.link(t, ama.Person.ID))
		wantCode(t, "by a link, which others can make", err, "")
	}
	link := s.link(t, ama.Person.ID)
	_, err := s.Enter(t.Context(), browser, link)
	wantCode(t, "by one link more", err, domain.CodeTooManySignIns)
	_, err = s.Look(t.Context(), browser, link)
	wantCode(t, "which works later", err, "")
	for range 20 {
		wantCode(t, "confirmed", s.Confirm(t.Context(), browser, ama.Principal, password), "")
	}
	wantCode(t, "confirmed once more", s.Confirm(t.Context(), browser, ama.Principal, password), domain.CodeTooManySignIns)
	signIn("another", "kofi@example.com", "")
}

func TestAPasswordTakesAFreshSignInAndEndsAllElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	old := s.enter(t, s.mine, "ama@example.com", domain.RoleViewer)
	entered, err := s.Enter(t.Context(), browser, s.link(t, old.Person.ID))
	if err != nil {
		t.Fatal(err)
	}
	open := s.link(t, old.Person.ID)
	wantCode(t, "a common one", s.SetPassword(t.Context(), entered.Principal, "", "Password2026!"), domain.CodeValidation)
	s.setPassword(t, entered.Principal)
	s.out(t, "the other session", old)
	s.in(t, "the session itself", entered)
	_, err = s.Enter(t.Context(), browser, open)
	wantCode(t, "a link from before", err, domain.CodeLinkReplaced)
	wantCode(t, "with a session that was ended", s.SetPassword(t.Context(), old.Principal, "", password), domain.CodeSessionEnded)

	s.stage.Clock.GoOn(domain.FreshFor)
	late := s.in(t, "later", entered)
	wantCode(t, "ten minutes later", s.SetPassword(t.Context(), late, "", password+" 2"), domain.CodeSignInTooOld)
	wantCode(t, "confirmed wrongly", s.Confirm(t.Context(), browser, late, "a guess of mine"), domain.CodeSignInRefused)
	wantCode(t, "still", s.SetPassword(t.Context(), s.in(t, "", entered), "", password+" 2"), domain.CodeSignInTooOld)
	wantCode(t, "confirmed", s.Confirm(t.Context(), browser, late, password), "")
	wantCode(t, "fresh again", s.SetPassword(t.Context(), s.in(t, "", entered), "", password+" 2"), "")
}

func TestAnOutdatedHashIsReplacedAtSignInAndABusyHasherIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	s.setPassword(t, ama.Principal)
	s.hasher.made = "2"
	if _, err := s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password); err != nil {
		t.Fatal(err)
	}
	if p, err := s.stage.Store.Read().Persons.Get(t.Context(), ama.Person.ID); err != nil || p.PasswordHash != "2"+password {
		t.Errorf("%q, %v", p.PasswordHash, err)
	}
	s.hasher.verdict = ports.ErrPasswordsBusy
	_, err := s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password)
	wantCode(t, "busy", err, domain.CodeServiceUnavailable)
	wantCode(t, "busy", s.SetPassword(t.Context(), s.in(t, "", ama), "", password), domain.CodeServiceUnavailable)
}

func TestTheFirstPasswordOrPasskeyIsSetAsLongAsTheSessionOfALinkLasts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	keys, stale := s.passkeys(t), domain.FreshFor+time.Minute
	invited := s.enter(t, s.mine, "ama@example.com", domain.RoleViewer)
	s.stage.Clock.GoOn(stale)
	s.setPassword(t, invited.Principal)
	wantCode(t, "a second one", s.SetPassword(t.Context(), invited.Principal, "", password+"2"), domain.CodeSignInTooOld)
	_, err := keys.AskToAdd(t.Context(), invited.Principal)
	wantCode(t, "a passkey beside the password", err, domain.CodeSignInTooOld)

	invited = s.enter(t, s.mine, "kofi@example.com", domain.RoleViewer)
	byLink, err := s.Enter(t.Context(), browser, s.link(t, invited.Person.ID))
	if err != nil {
		t.Fatal(err)
	}
	s.stage.Clock.GoOn(stale)
	add(t, keys, byLink.Principal, newDevice())
	_, err = keys.AskToAdd(t.Context(), byLink.Principal)
	wantCode(t, "a second passkey", err, domain.CodeSignInTooOld)
	wantCode(t, "a password beside the passkey", s.SetPassword(t.Context(), byLink.Principal, "", password), domain.CodeSignInTooOld)

	confirmed := s.enter(t, s.mine, "efua@example.com", domain.RoleViewer)
	confirmed.Session.Method = domain.SignInByOIDC
	portalLink := s.byPortalLink(t, s.mine, "esi@example.com", domain.RoleOwner)
	s.stage.Clock.GoOn(stale)
	wantCode(t, "in the session of another sign-in", s.SetPassword(t.Context(), confirmed.Principal, "", password), domain.CodeSignInTooOld)
	wantCode(t, "in that of a portal link", s.SetPassword(t.Context(), portalLink.Principal, "", password), domain.CodeOwnSignInNeeded)
}

// Anybody can try at one site what only the people of the other could succeed with.
func TestAttemptsAtOneSiteLockNobodyOutOfTheOther(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const email = "admin@example.com"
	admin := s.enter(t, "", email, domain.RoleAdmin)
	s.setPassword(t, admin.Principal)
	k := s.passkeys(t)
	claim := fmt.Appendf(nil, `{"response":{"userHandle":%q}}`, admin.Person.ID)
	for what, c := range map[string]struct {
		try  func(people.Browser, domain.Site) error
		code string // of the first one at the console
	}{
		"a link": {func(b people.Browser, at domain.Site) error { return s.SendLink(t.Context(), b, at, email) }, ""},
		"a passkey": {func(b people.Browser, at domain.Site) error {
			_, err := k.SignIn(t.Context(), b, at, s.stage.IDs.ID(domain.PrefixCeremony), claim)
			return err
		}, domain.CodeCeremonyOver},
		"a password": {func(b people.Browser, at domain.Site) error {
			_, err := s.SignIn(t.Context(), b, at, email, password)
			return err
		}, ""},
	} {
		for _, b := range []people.Browser{{Address: "office"}, {Address: "office", Mark: admin.Mark}} {
			tries := 0
			for ; tries < 400 && !domain.HasCode(c.try(b, domain.Portal), domain.CodeTooManySignIns); tries++ {
				if what == "a password" && tries%10 == 9 { // from everywhere
					b.Address = fmt.Sprintf("10.0.%d.1", tries)
				}
			}
			if tries == 400 {
				t.Errorf("%s: never too many at the portal", what)
			}
			wantCode(t, what+" at the console", c.try(b, domain.Console), c.code)
		}
	}
}
