package oidc_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/oidc"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/conformance"
)

const redirect = "http://127.0.0.1:9/console/signin/oidc/callback"

var known = backend.DexKnown{
	Sessions: true,
	Clients: []backend.DexClient{{ID: "waybill", Secret: "waybill's", RedirectURIs: []string{redirect}},
		{ID: "another", Secret: "another's", RedirectURIs: []string{redirect}}},
	Accounts: []backend.DexAccount{
		{ID: "1", Email: "ama@example.com", Name: "Ama Mensah", Verified: true, Groups: []string{"dispatch", "everybody"}},
		{ID: "2", Email: "kofi@example.com", Name: "Kofi"},
	},
}

// wallClock is the clock of this machine.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func client(dex *backend.Dex, id string) *oidc.Provider {
	return oidc.New(oidc.Config{Issuer: dex.Issuer, ClientID: id, ClientSecret: id + "'s", RedirectURL: redirect,
		GroupsClaim: "groups"}, wallClock{})
}

func request(name string) ports.IdentityRequest {
	return ports.IdentityRequest{State: "state-" + name, Nonce: "nonce-" + name, Verifier: strings.Repeat("v", 43) + name, MaxAge: time.Hour}
}

func signIn(t testing.TB, v *backend.DexVisitor, address, email string) url.Values {
	t.Helper()
	back, _, err := v.SignIn(t.Context(), address, email)
	if err != nil {
		t.Fatal(err)
	}
	return back.Query()
}

func begin(t *testing.T, p ports.IdentityProvider, r ports.IdentityRequest) string {
	t.Helper()
	address, err := p.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func TestLongADexPassesTheExam(t *testing.T) {
	t.Parallel()
	dex := backend.DexForTest(t, known)
	conformance.ExamineIdentityProvider(t, func(*testing.T) conformance.IdentityScene {
		v := backend.NewDexVisitor()
		return conformance.IdentityScene{
			Provider: client(dex, "waybill"),
			SignIn:   func(t testing.TB, address string) url.Values { return signIn(t, v, address, "ama@example.com") },
			Want: domain.Identity{Issuer: dex.Issuer, Subject: "CgExEgVsb2NhbA", Email: "ama@example.com", EmailVerified: true,
				Name: "Ama Mensah", Groups: []string{"dispatch", "everybody"}},
		}
	})
}

func TestLongACodeOfAnotherClientIsWorthNothing(t *testing.T) {
	t.Parallel()
	dex, r := backend.DexForTest(t, known), request("1")
	another, ours := client(dex, "another"), client(dex, "waybill")
	code := signIn(t, backend.NewDexVisitor(), begin(t, another, r), "ama@example.com").Get("code")
	if i, err := ours.Finish(t.Context(), r, code); !errors.Is(err, ports.ErrIdentityUnproven) {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestLongAnAddressThatWasNotVerifiedIsToldAsSuch(t *testing.T) {
	t.Parallel()
	dex, r := backend.DexForTest(t, known), request("1")
	p := client(dex, "waybill")
	got, err := p.Finish(t.Context(), r, signIn(t, backend.NewDexVisitor(), begin(t, p, r), "kofi@example.com").Get("code"))
	if err != nil || got.EmailVerified || got.Email != "kofi@example.com" || len(got.Groups) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLongATokenUnderANewKeyIsBelieved(t *testing.T) {
	t.Parallel()
	dex, v := backend.DexForTest(t, known), backend.NewDexVisitor()
	p := client(dex, "waybill")
	for _, name := range []string{"before", "after", "after another"} {
		r := request(name)
		code := signIn(t, v, begin(t, p, r), "ama@example.com").Get("code")
		if _, err := p.Finish(t.Context(), r, code); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := dex.RotateKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLongAProviderThatHangsHoldsNobodyForLongAndIsFoundAgain(t *testing.T) {
	t.Parallel()
	dex, r := backend.DexForTest(t, known), request("1")
	p := client(dex, "waybill")
	if err := dex.Hang(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if address, err := p.Begin(t.Context(), r); !errors.Is(err, ports.ErrIdentityUnavailable) {
				t.Errorf("%q, %v", address, err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took > 20*time.Second { // one deadline of 5 s for all of them
		t.Errorf("20 people waited %s", took)
	}
	if err := dex.Resume(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := p.Begin(t.Context(), r)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not found again: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := dex.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Begin(t.Context(), r); err != nil {
		t.Errorf("what was found a moment ago does not count any more: %v", err)
	}
	if _, err := p.Finish(t.Context(), r, "abc"); !errors.Is(err, ports.ErrIdentityUnavailable) {
		t.Errorf("a provider that is gone: %v", err)
	}
	if _, err := client(dex, "waybill").Begin(t.Context(), r); !errors.Is(err, ports.ErrIdentityUnavailable) {
		t.Errorf("a provider that is gone: %v", err)
	}
}
