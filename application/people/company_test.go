package people_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/application/audit"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// vouching is a provider that vouches for the identity that it was given, to the request
// that it was begun with.
type vouching struct {
	domain.Identity
	failure error
	begun   map[string]ports.IdentityRequest // by state
}

func (v *vouching) Begin(_ context.Context, r ports.IdentityRequest) (string, error) {
	v.begun[r.State] = r
	return "https://id.example.com/?state=" + r.State, v.failure
}

func (v *vouching) Finish(_ context.Context, r ports.IdentityRequest, code string) (domain.Identity, error) {
	begun := v.begun[r.State]
	if v.failure == nil && (begun.Nonce != r.Nonce || begun.Verifier != r.Verifier || code != "code") {
		return domain.Identity{}, fmt.Errorf("%w: %+v, %s", ports.ErrIdentityUnproven, r, code)
	}
	return v.Identity, v.failure
}

type companyScene struct {
	*scene
	*people.Company
	provider *vouching
}

var rules = domain.RoleRules{
	"group:ops": domain.RoleAdmin, "group:dispatch": domain.RoleDispatcher, "domain:example.com": domain.RoleViewer,
}

func newCompanyScene(t *testing.T) *companyScene {
	s := &companyScene{scene: newScene(t), provider: &vouching{begun: map[string]ports.IdentityRequest{}}}
	s.Company = people.NewCompany(s.Access, s.provider, rules, stage.Digester{})
	s.vouch("ama@example.com", "dispatch")
	return s
}

// vouch makes the provider vouch for an account with an address, just now.
func (s *companyScene) vouch(email string, groups ...string) {
	s.provider.Identity = domain.Identity{Issuer: "https://id.example.com", Subject: "sub of " + email, Email: email, EmailVerified: true,
		Name: "Ama Mensah", Groups: groups, AuthenticatedAt: s.stage.Clock.Now()}
}

func (s *companyScene) away(t *testing.T) people.Answer {
	t.Helper()
	left, err := s.BeginSignIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return answerTo(left)
}

func answerTo(d people.Departure) people.Answer {
	_, state, _ := strings.Cut(d.Address, "state=")
	return people.Answer{Secret: d.Secret, State: state, Code: "code"}
}

func (s *companyScene) company(t *testing.T) (people.Entered, error) {
	t.Helper()
	back, err := s.Return(t.Context(), browser, domain.Principal{}, s.away(t))
	return back.Entered, err
}

func (s *companyScene) mustCompany(t *testing.T) people.Entered {
	t.Helper()
	entered, err := s.company(t)
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

func (s *companyScene) refused(t *testing.T, what, words string) {
	t.Helper()
	entered, err := s.company(t)
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != domain.CodeIdentityRefused || !strings.Contains(e.Message, words) || entered.Secret != "" {
		t.Errorf("%s: %+v, %v, want words about %q", what, entered.Principal, err, words)
	}
}

func (s *companyScene) staff(t *testing.T) map[domain.Email]domain.Role {
	t.Helper()
	members, err := s.Members(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	roles := map[domain.Email]domain.Role{}
	for _, m := range members {
		if m.Membership.AcceptedAt != nil {
			roles[m.Person.Email] = m.Membership.Role
		}
	}
	return roles
}

func (s *companyScene) audit(t *testing.T, action domain.Action) []domain.AuditEntry {
	t.Helper()
	found, err := audit.New(s.stage.Store, s.stage.Clock, s.stage.IDs).Entries(t.Context(), domain.AuditFilter{Action: action},
		domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestANewPersonOfTheCompanyComesToTheConsoleWithTheRoleOfTheRules(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	entered := s.mustCompany(t)
	p := s.in(t, "a new person", entered)
	if p.Role != domain.RoleDispatcher || p.Site() != domain.Console || p.Session.Method != domain.SignInByOIDC ||
		p.Person.Name != "Ama Mensah" {
		t.Errorf("%+v", p)
	}
	if err := p.Allows(domain.ActOwnAccount, s.stage.Clock.Now()); err != nil {
		t.Errorf("the sign-in is not recent: %v", err)
	}
	entries := s.audit(t, domain.ActionPersonAccept)
	if len(entries) != 1 || entries[0].Actor.ID != p.Person.ID || entries[0].Details["method"] != "oidc" ||
		entries[0].Actor.RequestID != browser.RequestID {
		t.Errorf("%+v", entries)
	}
	again := s.mustCompany(t)
	if again.Person.ID != p.Person.ID || len(s.audit(t, domain.ActionPersonSignIn)) != 1 {
		t.Errorf("the second time %+v", again.Principal)
	}
}

func TestAnAnswerWorksOnceInTheBrowserThatWasSentAwayAndInTime(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	for name, spoil := range map[string]func(*people.Answer){
		"another browser":   func(a *people.Answer) { a.Secret = domain.MakeBearerSecret([32]byte{1}) },
		"no cookie":         func(a *people.Answer) { a.Secret = "" },
		"another state":     func(a *people.Answer) { a.State = string(s.stage.IDs.ID(domain.PrefixCeremony)) },
		"no state":          func(a *people.Answer) { a.State = "" },
		"a state of others": func(a *people.Answer) { a.Secret = s.away(t).Secret },
		"another code":      func(a *people.Answer) { a.Code = "another" },
		"no code":           func(a *people.Answer) { a.Code = "" },
		"late":              func(*people.Answer) { s.stage.Clock.GoOn(domain.IdentityLifetime) },
	} {
		a := s.away(t)
		spoil(&a)
		_, err := s.Return(t.Context(), browser, domain.Principal{}, a)
		wantCode(t, name, err, domain.CodeIdentityRefused)
	}
	a := s.away(t)
	if _, err := s.Return(t.Context(), browser, domain.Principal{}, a); err != nil {
		t.Fatal(err)
	}
	_, err := s.Return(t.Context(), browser, domain.Principal{}, a)
	wantCode(t, "a second time", err, domain.CodeIdentityRefused)
	_, err = s.Return(t.Context(), browser, domain.Principal{}, people.Answer{Secret: "another", State: a.State, Code: a.Code})
	wantCode(t, "in another browser", err, domain.CodeIdentityRefused)
	_, err = s.Return(t.Context(), browser, domain.Principal{}, a)
	wantCode(t, "a second time, after another browser had tried it", err, domain.CodeIdentityRefused)
	a = s.away(t)
	s.Company = people.NewCompany(s.Access, s.provider, rules, changedPepper{})
	_, err = s.Return(t.Context(), browser, domain.Principal{}, a)
	wantCode(t, "begun under the pepper before the last", err, "")
}

// An office has one address, and anybody there may begin a sign-in.
func TestSignInsThatOthersBeginShutNobodyOutAndStoreNothing(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	var last people.Answer
	for range 400 {
		last = s.away(t)
	}
	s.stage.Write(t, func(ctx context.Context, tx ports.Stores) error {
		if _, err := tx.Ceremonies.Take(ctx, domain.ID(last.State)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a sign-in that was begun is stored: %v", err)
		}
		return nil
	})
	s.mustCompany(t)
}

func TestAChallengeOfAPasskeyIsNoneOfTheProvider(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	secret := domain.MakeBearerSecret([32]byte{7})
	c := domain.Ceremony{ID: s.stage.IDs.ID(domain.PrefixCeremony), Purpose: domain.CeremonySignIn, Challenge: domain.BearerDigest(secret),
		CreatedAt: s.stage.Clock.Now(), ExpiresAt: s.stage.Clock.Now().Add(time.Hour)}
	if err := s.stage.Store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return tx.Ceremonies.Insert(ctx, c)
	}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Return(t.Context(), browser, domain.Principal{}, people.Answer{Secret: secret, State: string(c.ID), Code: "code"})
	wantCode(t, "a passkey's", err, domain.CodeIdentityRefused)
}

func TestAnAccountThatTheRulesDoNotKnowIsToldWhy(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	s.vouch("ama@elsewhere.com", "riders")
	s.refused(t, "no rule", "in no group")
	s.vouch("ama@example.com")
	s.provider.EmailVerified = false
	s.refused(t, "not verified", "has verified")
	s.vouch("ama", "ops")
	s.refused(t, "no address", "has verified")
	s.vouch("", "ops")
	s.refused(t, "no address", "has verified")
	s.vouch("ama@example.com", "ops")
	s.provider.Subject = ""
	s.refused(t, "no subject", "cannot be kept")
	s.provider.Subject = strings.Repeat("s", domain.MaxSubject+1)
	s.refused(t, "a long subject", "cannot be kept")
	if len(s.staff(t)) != 0 {
		t.Errorf("%v", s.staff(t))
	}
	for fault, words := range map[string]string{
		"access_denied": "cancelled", "server_error": "fault of its own", "login_required": "did not finish",
		"unauthorized_client\x00": `refused with "unauthorized_client" and says "Not you."`,
	} {
		a := s.away(t)
		a.Fault, a.FaultWhy = fault, "Not you."
		_, err := s.Return(t.Context(), browser, domain.Principal{}, a)
		if !domain.HasCode(err, domain.CodeIdentityRefused) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", fault, err)
		}
	}
}

func TestAProviderThatIsGoneClosesNoOtherWayIn(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	a := s.away(t)
	s.provider.failure = fmt.Errorf("%w: refused", ports.ErrIdentityUnavailable)
	_, err := s.BeginSignIn(t.Context())
	wantCode(t, "to begin", err, domain.CodeIdentityUnavailable)
	_, err = s.Return(t.Context(), browser, domain.Principal{}, a)
	wantCode(t, "to come back", err, domain.CodeIdentityUnavailable)
	s.scene.enter(t, "", "kofi@example.com", domain.RoleAdmin)

	none := people.NewCompany(s.Access, nil, nil, nil)
	if _, err := none.BeginSignIn(t.Context()); none.Offered() || !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := none.Return(t.Context(), browser, domain.Principal{}, a); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestRefusalsHereCountAgainstNoPasswordOrLink(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	s.vouch("ama@elsewhere.com")
	for range 40 { // more than guesses are allowed
		s.refused(t, "no rule", "in no group")
	}
	s.scene.enter(t, "", "ama@elsewhere.com", domain.RoleAdmin)
}

func TestTheRoleIsThatOfTheLatestSignIn(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	s.scene.enter(t, "", "boss@example.com", domain.RoleAdmin)
	first := s.mustCompany(t)
	for _, c := range []struct {
		groups []string
		want   domain.Role
	}{{[]string{"ops", "dispatch"}, domain.RoleAdmin}, {nil, domain.RoleViewer}, {[]string{"dispatch"}, domain.RoleDispatcher}} {
		s.vouch("ama@example.com", c.groups...)
		if got := s.mustCompany(t); got.Role != c.want || s.in(t, "the older session", first).Role != c.want {
			t.Errorf("%v: %s", c.groups, got.Role)
		}
	}
	entries := s.audit(t, domain.ActionPersonRole)
	if len(entries) != 3 || entries[0].Details["before"] != "viewer" || entries[0].Details["role"] != "dispatcher" ||
		entries[0].Actor.ID != first.Person.ID {
		t.Errorf("%+v", entries)
	}

	s.vouch("ama@example.com")
	s.provider.Email = "ama@elsewhere.com" // married, and out of the domain
	s.refused(t, "no role any more", "in no group")
	s.out(t, "the session of a person without a role", first)
}

func TestAPersonWhoseRoleIsGoneAtTheProviderHasNoOtherWayIntoTheConsole(t *testing.T) {
	t.Parallel()
	for name, customer := range map[string]bool{"staff alone": false, "a customer's person too": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCompanyScene(t)
			s.scene.enter(t, "", "boss@example.com", domain.RoleAdmin)
			s.vouch("ama@example.com", "dispatch")
			entered := s.mustCompany(t)
			s.setPassword(t, entered.Principal)
			s.stage.Write(t, func(ctx context.Context, tx ports.Stores) error {
				if customer {
					accepted := s.stage.Clock.Now()
					if err := tx.Memberships.Insert(ctx, domain.Membership{PersonID: entered.Person.ID, BusinessID: s.mine,
						Role: domain.RoleOwner, CreatedAt: accepted, AcceptedAt: &accepted}); err != nil {
						return err
					}
				}
				return tx.Passkeys.Insert(ctx, domain.Passkey{ID: s.stage.IDs.ID(domain.PrefixPasskey), PersonID: entered.Person.ID, Name: "Phone",
					Host: "localhost", CredentialID: []byte("credential"), PublicKey: []byte("none"), CreatedAt: s.stage.Clock.Now()})
			})
			link, err := s.Link(t.Context(), command, entered.Person.ID, domain.Console)
			if err != nil {
				t.Fatal(err)
			}
			s.provider.Email, s.provider.Groups = "ama@elsewhere.com", nil
			s.refused(t, "no role any more", "in no group")

			s.out(t, "the session", entered)
			_, err = s.SignIn(t.Context(), browser, domain.Console, "ama@example.com", password)
			wantCode(t, "the password at the console", err, domain.CodeSignInRefused)
			if _, err := s.Enter(t.Context(), browser, link.Secret); err == nil {
				t.Error("the link lets the person in")
			}
			if _, still := s.staff(t)["ama@example.com"]; still {
				t.Error("the person is still a member of the staff")
			}
			keys, err := s.stage.Store.Read().Passkeys.OfPerson(t.Context(), entered.Person.ID)
			if err != nil || (len(keys) == 1) != customer {
				t.Errorf("%d passkeys, %v", len(keys), err)
			}
			_, err = s.SignIn(t.Context(), browser, domain.Portal, "ama@example.com", password)
			if (err == nil) != customer {
				t.Errorf("at the portal: %v", err)
			}
			if e := s.audit(t, domain.ActionPersonRemove); len(e) != 1 || e[0].Target != entered.Person.ID || e[0].Details["method"] != "oidc" {
				t.Errorf("%+v", e)
			}
			s.vouch("ama@example.com", "dispatch")
			if back := s.mustCompany(t); back.Person.ID != entered.Person.ID || back.Role != domain.RoleDispatcher {
				t.Errorf("with a role again: %+v", back)
			}
		})
	}
}

func TestGroupsThatTheProviderLeavesOutTakeNobodyFromTheStaff(t *testing.T) {
	t.Parallel()
	for _, email := range []string{"ama@example.com", "ama@elsewhere.com"} { // one has a role by its domain too, a weaker one
		s := newCompanyScene(t)
		s.scene.enter(t, "", "boss@example.com", domain.RoleAdmin)
		s.vouch("ama@example.com", "dispatch")
		entered := s.mustCompany(t)
		s.setPassword(t, entered.Principal)
		s.provider.Email, s.provider.Groups, s.provider.GroupsLeftOut = email, nil, true
		s.refused(t, email, "more groups than the identity provider names")
		s.in(t, email, entered)
		if role := s.staff(t)["ama@example.com"]; role != domain.RoleDispatcher {
			t.Errorf("%s: the role is %q", email, role)
		}
		if _, err := s.SignIn(t.Context(), browser, domain.Console, "ama@example.com", password); err != nil {
			t.Errorf("%s: by password: %v", email, err)
		}
	}
}

// A browser may be signed in at the provider as somebody else, who has not shown to be the person
// of the session.
func TestToConnectAnAccountTakesARecentSignInAtTheProvider(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		at    time.Duration // of the sign-in at the provider, after the departure
		none  bool          // it does not tell
		words string        // of the refusal; empty: none
	}{
		"two hours before":          {at: -2 * time.Hour, words: "did not ask you again"},
		"it does not tell":          {none: true, words: "does not tell"},
		"a day ahead":               {at: 24 * time.Hour, words: "in the future"},
		"just now":                  {at: time.Second},
		"by a clock that is behind": {at: -30 * time.Second},
	} {
		s := newCompanyScene(t)
		boss := s.enter(t, "", "boss@example.com", domain.RoleAdmin)
		left, err := s.BeginConnect(t.Context(), boss.Principal)
		if err != nil {
			t.Fatal(err)
		}
		if begun := s.provider.begun[answerTo(left).State]; begun.MaxAge != 0 {
			t.Errorf("%s: the provider may take a sign-in of the last %s", what, begun.MaxAge)
		}
		s.stage.Clock.GoOn(2 * time.Second)
		s.vouch("mallory@elsewhere.example")
		s.provider.AuthenticatedAt = s.stage.Clock.Now().Add(c.at)
		if c.none {
			s.provider.AuthenticatedAt = time.Time{}
		}
		_, err = s.Return(t.Context(), browser, boss.Principal, answerTo(left))
		connected, listed := s.Connected(t.Context(), boss.Principal)
		var e *domain.Error
		switch {
		case c.words == "" && (err != nil || len(connected) != 1):
			t.Errorf("%s: %+v, %v", what, connected, err)
		case c.words != "" && (!errors.As(err, &e) || !strings.Contains(e.Message, c.words) || len(connected) != 0 || listed != nil):
			t.Errorf("%s: %+v, %v", what, connected, err)
		}
	}
}

func TestAProviderThatRefusesTheClientIsToldSo(t *testing.T) {
	t.Parallel()
	s := newCompanyScene(t)
	left := s.away(t)
	s.provider.failure = fmt.Errorf("%w: invalid_client", ports.ErrIdentityClientRefused)
	_, err := s.Return(t.Context(), browser, domain.Principal{}, left)
	wantCode(t, "by its answer to a code", err, domain.CodeIdentityClientRefused)
	s.provider.failure = nil
	left = s.away(t)
	left.Code, left.Fault = "", "unauthorized_client"
	_, err = s.Return(t.Context(), browser, domain.Principal{}, left)
	wantCode(t, "by sending the browser back", err, domain.CodeIdentityClientRefused)
}
