package people_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/passkeys"
	"waybill/application/people"
	"waybill/domain"
	"waybill/test/stage"
)

const portalURL = "https://portal.example.com"

func (s *scene) passkeys(t *testing.T) *people.Passkeys {
	t.Helper()
	party, err := passkeys.New(portalURL)
	if err != nil {
		t.Fatal(err)
	}
	return people.NewPasskeys(s.Access, party, stage.Digester{})
}

func newDevice() *stage.Device { return &stage.Device{Origin: portalURL, Count: 1} }

// add makes a passkey of the person.
func add(t *testing.T, k *people.Passkeys, p domain.Principal, d *stage.Device) domain.Passkey {
	t.Helper()
	prompt, err := k.AskToAdd(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	made, err := k.Add(t.Context(), p, "req_5", prompt.Ceremony, d.Make(t, prompt.Options), " Laptop ")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// signIn answers a challenge; spoil may change the device between the two.
func signIn(t *testing.T, k *people.Passkeys, d *stage.Device) (people.Entered, error) {
	t.Helper()
	prompt, err := k.AskToSignIn()
	if err != nil {
		t.Fatal(err)
	}
	return k.SignIn(t.Context(), browser, domain.Portal, prompt.Ceremony, d.Use(t, prompt.Options))
}

func TestAPasskeyLetsInWithoutAnAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	k, d := s.passkeys(t), newDevice()
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	made := add(t, k, ama.Principal, d)
	if made.Name != "Laptop" || made.Host != "portal.example.com" || made.LastUsedAt != nil {
		t.Errorf("%+v", made)
	}
	entered, err := signIn(t, k, d)
	if err != nil || entered.Session.Method != domain.SignInByPasskey || entered.Session.BusinessID != s.mine ||
		entered.Person.ID != ama.Person.ID {
		t.Fatalf("%+v, %v", entered, err)
	}
	s.in(t, "by passkey", entered)
	if known, err := k.List(t.Context(), ama.Principal); err != nil || len(known) != 1 || known[0].LastUsedAt == nil ||
		known[0].SignCount != 2 {
		t.Errorf("%+v, %v", known, err)
	}
	if err := k.Rename(t.Context(), ama.Principal, "req_6", made.ID, "Phone"); err != nil {
		t.Fatal(err)
	}
	if err := k.Remove(t.Context(), ama.Principal, "req_7", made.ID); err != nil {
		t.Fatal(err)
	}
	s.out(t, "the session of a device that was taken out", entered)
	s.in(t, "the session itself", ama)
	var told []domain.Action
	for _, e := range s.entries(t, s.mine) {
		switch e.Action {
		case domain.ActionPasskeyAdd, domain.ActionPasskeyRename, domain.ActionPasskeyRemove:
			if e.Target != made.ID || e.Actor.ID != ama.Person.ID || e.Details["name"] == "" {
				t.Errorf("%+v", e)
			}
			told = append(told, e.Action)
		case domain.ActionPersonSignIn:
			if e.Details["method"] != "passkey" {
				t.Errorf("%+v", e)
			}
			told = append(told, e.Action)
		}
	}
	if len(told) != 4 || told[0] != domain.ActionPasskeyRemove || told[3] != domain.ActionPasskeyAdd {
		t.Errorf("the audit log has %v", told)
	}
}

func TestASignInByPasskeyIsRefused(t *testing.T) {
	t.Parallel()
	type spoil func(t *testing.T, s *scene, k *people.Passkeys, owner people.Entered, d *stage.Device)
	device := func(change func(d *stage.Device)) spoil {
		return func(_ *testing.T, _ *scene, _ *people.Passkeys, _ people.Entered, d *stage.Device) { change(d) }
	}
	for what, spoil := range map[string]spoil{
		"from a foreign origin":          device(func(d *stage.Device) { d.Origin = "https://evil.example" }),
		"unverified":                     device(func(d *stage.Device) { d.Unverified = true }),
		"with the count of a copy":       device(func(d *stage.Device) { d.Count = 5 }),
		"with a lower count":             device(func(d *stage.Device) { d.Count = 3 }),
		"by a device that has forgotten": device(func(d *stage.Device) { d.Count = 0 }),
		"as nobody":                      device(func(d *stage.Device) { d.Handle = []byte{} }),
		"as another person": func(t *testing.T, s *scene, _ *people.Passkeys, _ people.Entered, d *stage.Device) {
			d.Handle = []byte(s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner).Person.ID)
		},
		"after it was removed": func(t *testing.T, _ *scene, k *people.Passkeys, owner people.Entered, _ *stage.Device) {
			known, _ := k.List(t.Context(), owner.Principal)
			wantCode(t, "remove", k.Remove(t.Context(), owner.Principal, "", known[0].ID), "")
		},
		"by a person who is disabled": func(t *testing.T, s *scene, _ *people.Passkeys, owner people.Entered, _ *stage.Device) {
			_, err := s.SetDisabled(t.Context(), command, owner.Person.ID, true)
			wantCode(t, "disable", err, "")
		},
		"by a person who was removed": func(t *testing.T, s *scene, _ *people.Passkeys, owner people.Entered, _ *stage.Device) {
			_, err := s.Directory.Remove(t.Context(), command, s.mine, owner.Person.ID)
			wantCode(t, "remove", err, "")
		},
		"with a passkey that was never added": func(t *testing.T, _ *scene, k *people.Passkeys, owner people.Entered, d *stage.Device) {
			prompt, err := k.AskToAdd(t.Context(), owner.Principal)
			wantCode(t, "ask", err, "")
			d.Make(t, prompt.Options)
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			k, d := s.passkeys(t), newDevice()
			owner := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
			add(t, k, owner.Principal, d)
			d.Count = 5
			if _, err := signIn(t, k, d); err != nil {
				t.Fatal(err)
			}
			spoil(t, s, k, owner, d)
			_, err := signIn(t, k, d)
			wantCode(t, what, err, domain.CodePasskeyRefused)
		})
	}
}

// changedPepper has another pepper now than stage.Digester.
type changedPepper struct{ stage.Digester }

func (changedPepper) Digest(string) (digest [32]byte) { return digest }

func (changedPepper) Previous(secret string) [][32]byte {
	return [][32]byte{{1}, stage.Digester{}.Digest(secret)}
}

func TestAChallengeIsAnsweredOnceInTimeAndWhereItWasGiven(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	k, d := s.passkeys(t), newDevice()
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	d.Count = 0 // so that a replayed answer would have the right count
	add(t, k, ama.Principal, d)
	over := func(what string, err error) { t.Helper(); wantCode(t, what, err, domain.CodeCeremonyOver) }

	prompt, err := k.AskToSignIn()
	wantCode(t, "ask", err, "")
	answer := d.Use(t, prompt.Options)
	try := func() error {
		_, err := k.SignIn(context.Background(), browser, domain.Portal, prompt.Ceremony, answer)
		return err
	}
	var in atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := try(); err == nil {
				in.Add(1)
			} else {
				wantCode(t, "another one", err, domain.CodeCeremonyOver)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("one answer let %d in", in.Load())
	}

	over("what signed in confirms nothing", k.ConfirmByPasskey(t.Context(), browser, ama.Principal, prompt.Ceremony, answer))
	over("after that", try())

	spent := func(spoil func()) error {
		prompt, err = k.AskToSignIn()
		wantCode(t, "ask", err, "")
		answer = d.Use(t, prompt.Options)
		spoil()
		return try()
	}
	over("too late", spent(func() { s.stage.Clock.GoOn(domain.CeremonyLifetime) }))
	s.stage.Clock.GoOn(-domain.CeremonyLifetime)
	wantCode(t, "a wrong answer", spent(func() { answer = []byte("{}") }), domain.CodePasskeyRefused)
	over("of no challenge at all", func() error { prompt.Ceremony = "cer_1"; return try() }())
	forged := s.stage.Clock.Now().Add(time.Minute).UnixMilli()
	wantCode(t, "of a challenge that was never given", spent(func() {
		prompt.Ceremony = domain.ID(fmt.Sprintf("cer_%012x%020x", forged, 7))
	}), domain.CodePasskeyRefused)
	party, _ := passkeys.New(portalURL)
	wantCode(t, "under the pepper before the last", spent(func() { k = people.NewPasskeys(s.Access, party, changedPepper{}) }), "")
	over("of a made-up challenge", spent(func() { prompt.Ceremony = s.stage.IDs.ID(domain.PrefixCeremony) }))

	// Challenges of a session are answered in that session, for what they were given for.
	second := s.enterAgain(t, ama.Person.ID)
	confirm, err := k.AskToConfirm(t.Context(), ama.Principal)
	wantCode(t, "ask", err, "")
	over("in another session", k.ConfirmByPasskey(t.Context(), browser, second.Principal, confirm.Ceremony, d.Use(t, confirm.Options)))
	confirm, err = k.AskToConfirm(t.Context(), ama.Principal)
	wantCode(t, "ask", err, "")
	_, err = k.SignIn(t.Context(), browser, domain.Portal, confirm.Ceremony, d.Use(t, confirm.Options))
	over("a confirmation to sign in", err)
	adding, err := k.AskToAdd(t.Context(), ama.Principal)
	wantCode(t, "ask", err, "")
	_, err = k.Add(t.Context(), second.Principal, "", adding.Ceremony, newDevice().Make(t, adding.Options), "")
	over("a passkey added in another session", err)
}

// enterAgain is a further session of the person.
func (s *scene) enterAgain(t *testing.T, person domain.ID) people.Entered {
	t.Helper()
	entered, err := s.Enter(t.Context(), browser, s.link(t, person))
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

func TestAPasskeyMakesASessionFreshAndChangesTakeAFreshOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	k, d := s.passkeys(t), newDevice()
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	_, err := k.AskToConfirm(t.Context(), ama.Principal)
	if !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("to confirm without a passkey: %v", err)
	}
	made := add(t, k, ama.Principal, d)
	begun, err := k.AskToAdd(t.Context(), ama.Principal)
	wantCode(t, "ask", err, "")

	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
	theirs := newDevice()
	foreign := add(t, k, kofi.Principal, theirs)
	for what, err := range map[string]error{
		"rename": k.Rename(t.Context(), ama.Principal, "", foreign.ID, "Mine"),
		"remove": k.Remove(t.Context(), ama.Principal, "", foreign.ID),
	} {
		if !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s of another person's: %v", what, err)
		}
	}

	s.stage.Clock.GoOn(domain.FreshFor)
	late := s.in(t, "later", ama)
	_, asked := k.AskToAdd(t.Context(), late)
	_, added := k.Add(t.Context(), late, "", begun.Ceremony, nil, "")
	for what, err := range map[string]error{
		"ask": asked, "add": added, "rename": k.Rename(t.Context(), late, "", made.ID, "x"), "remove": k.Remove(t.Context(), late, "", made.ID),
	} {
		wantCode(t, what+" ten minutes later", err, domain.CodeSignInTooOld)
	}
	confirm := func(d *stage.Device) error {
		prompt, err := k.AskToConfirm(t.Context(), late)
		wantCode(t, "ask", err, "")
		return k.ConfirmByPasskey(t.Context(), browser, late, prompt.Ceremony, d.Use(t, prompt.Options))
	}
	wantCode(t, "by another person's passkey", confirm(theirs), domain.CodePasskeyRefused)
	wantCode(t, "still", k.Remove(t.Context(), s.in(t, "", ama), "", made.ID), domain.CodeSignInTooOld)
	wantCode(t, "confirmed", confirm(d), "")
	fresh := s.in(t, "", ama)
	if fresh.Session.Method != domain.SignInByPasskey {
		t.Errorf("%+v", fresh.Session)
	}
	wantCode(t, "fresh again", k.Remove(t.Context(), fresh, "", made.ID), "")
}

func TestAPasskeyOfADeviceIsAddedOnceAndBySessionsThatGoOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	k := s.passkeys(t)
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	ask := func() people.Prompt {
		prompt, err := k.AskToAdd(t.Context(), ama.Principal)
		wantCode(t, "ask", err, "")
		return prompt
	}
	d := newDevice()
	d.Unverified = true
	prompt := ask()
	_, err := k.Add(t.Context(), ama.Principal, "", prompt.Ceremony, d.Make(t, prompt.Options), "")
	wantCode(t, "unverified", err, domain.CodePasskeyUnusable)
	prompt = ask()
	_, err = k.Add(t.Context(), ama.Principal, "", prompt.Ceremony, newDevice().Make(t, prompt.Options), "a\u202eb")
	wantCode(t, "a name that is none", err, domain.CodeValidation)
	if made, err := k.Add(t.Context(), ama.Principal, "", prompt.Ceremony, newDevice().Make(t, prompt.Options), ""); err != nil ||
		made.Name != "Passkey" {
		t.Errorf("%+v, %v", made, err)
	}
	for range domain.MaxPasskeys - 2 {
		add(t, k, ama.Principal, newDevice())
	}
	first, second := ask(), ask()
	_, err = k.Add(t.Context(), ama.Principal, "", first.Ceremony, newDevice().Make(t, first.Options), "")
	wantCode(t, "the last one", err, "")
	_, err = k.Add(t.Context(), ama.Principal, "", second.Ceremony, newDevice().Make(t, second.Options), "")
	wantCode(t, "one more", err, domain.CodeTooManyPasskeys)
	_, err = k.AskToAdd(t.Context(), ama.Principal)
	wantCode(t, "to ask for one more", err, domain.CodeTooManyPasskeys)

	kofi := s.enter(t, s.mine, "kofi@example.com", domain.RoleOwner)
	prompt, err = k.AskToAdd(t.Context(), kofi.Principal)
	wantCode(t, "ask", err, "")
	wantCode(t, "end", s.EndSession(t.Context(), kofi.Principal, "", kofi.Session.ID), "")
	_, err = k.Add(t.Context(), kofi.Principal, "", prompt.Ceremony, newDevice().Make(t, prompt.Options), "")
	wantCode(t, "by a session that has ended", err, domain.CodeSessionEnded)
}

func TestGuessingOfPasskeysIsLimited(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	k, d := s.passkeys(t), newDevice()
	ama := s.enter(t, s.mine, "ama@example.com", domain.RoleOwner)
	add(t, k, ama.Principal, d)
	from := func(address, mark, code string) {
		t.Helper()
		b := people.Browser{Address: address, Mark: mark}
		prompt, err := k.AskToSignIn()
		wantCode(t, "ask", err, "")
		_, err = k.SignIn(t.Context(), b, domain.Portal, prompt.Ceremony, d.Use(t, prompt.Options))
		wantCode(t, "from "+address, err, code)
	}
	d.Unverified = true
	for range 10 { // answers that name Ama, which anybody can write
		from("forger", "", domain.CodePasskeyRefused)
	}
	from("forger", "", domain.CodeTooManySignIns)
	d.Unverified = false
	from("forger", ama.Mark, "") // the browser in which Ama has been before
	from("home", "", "")
	ask := func() (people.Prompt, error) { return k.AskToConfirm(t.Context(), ama.Principal) }
	prompt, err := ask()
	wantCode(t, "ask to confirm", err, "")
	wantCode(t, "confirm", k.ConfirmByPasskey(t.Context(), browser, ama.Principal, prompt.Ceremony, d.Use(t, prompt.Options)), "")

	for range 18 { // with the two above
		from("home", "", "")
	}
	from("home", "", domain.CodeTooManySignIns)
	prompt, err = ask()
	wantCode(t, "ask to confirm", err, "")
	wantCode(t, "confirm, after many sign-ins", k.ConfirmByPasskey(t.Context(), browser, ama.Principal, prompt.Ceremony,
		d.Use(t, prompt.Options)), "")

	// Nobody is shut out by answers that others make up at the same address.
	for range 400 {
		answer := fmt.Appendf(nil, `{"response":{"userHandle":%q}}`, s.stage.IDs.ID(domain.PrefixPerson))
		_, err := k.SignIn(t.Context(), people.Browser{Address: "office"}, domain.Portal, s.stage.IDs.ID(domain.PrefixCeremony), answer)
		if !domain.HasCode(err, domain.CodeCeremonyOver) && !domain.HasCode(err, domain.CodeTooManySignIns) {
			t.Errorf("made up: %v", err)
		}
	}
	esi, hers := s.enter(t, s.mine, "esi@example.com", domain.RoleOwner), newDevice()
	add(t, k, esi.Principal, hers)
	prompt, err = k.AskToSignIn()
	wantCode(t, "ask", err, "")
	_, err = k.SignIn(t.Context(), people.Browser{Address: "office"}, domain.Portal, prompt.Ceremony, hers.Use(t, prompt.Options))
	wantCode(t, "another person there", err, "")
}
