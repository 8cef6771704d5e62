package access_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

func TestAGoodKeyIsLetInAndCounted(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 1, nil)
	grant, err := g.credentials(t, liveKey)
	if err != nil {
		t.Fatal(err)
	}
	if grant.Credential.Tenant() != (domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Live}) {
		t.Errorf("tenant %+v", grant.Credential.Tenant())
	}
	a := grant.Allowance
	if !a.Admitted || a.Scope != "key" || a.Limit.Limit != 600 || a.Remaining != 599 {
		t.Errorf("allowance %+v", a)
	}
	if g.limiter.taken["key key_1"] != 1 || g.limiter.taken["business biz_1/live"] != 1 || g.failures() != 0 {
		t.Errorf("counted %v", g.limiter.taken)
	}
}

func TestEveryWayNotToBeLetIn(t *testing.T) {
	t.Parallel()
	past := noon.Add(-time.Second)
	mistyped := liveKey[:20] + "x" + liveKey[21:]
	for name, c := range map[string]struct {
		credentials access.Credentials
		expect      func(*gate)
		code        string
		detail      map[string]any
	}{
		"no key": {credentials: access.Credentials{}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "missing"}},
		"no bearer": {credentials: access.Credentials{Malformed: true}, code: "INVALID_API_KEY",
			detail: map[string]any{"reason": "malformed"}},
		"malformed first": {credentials: access.Credentials{Malformed: true, Key: testKey}, code: "INVALID_API_KEY",
			detail: map[string]any{"reason": "malformed"}},
		"a wrong checksum": {credentials: access.Credentials{Key: mistyped}, code: "INVALID_API_KEY",
			detail: map[string]any{"reason": "malformed"}},
		"a short key": {credentials: access.Credentials{Key: "x"}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "malformed"}},
		"checksum first": {credentials: access.Credentials{Key: testKey[:20] + "x" + testKey[21:]}, code: "INVALID_API_KEY",
			detail: map[string]any{"reason": "malformed"}},
		"the wrong host": {credentials: access.Credentials{Key: testKey}, expect: func(g *gate) {
			g.knows(testKey, 1, nil) // its owner finds the call in the log
		}, code: "ENVIRONMENT_MISMATCH",
			detail: map[string]any{"key_environment": "sandbox", "host_environment": "live"}},
		"an unknown key": {credentials: access.Credentials{Key: liveKey}, expect: func(g *gate) {
			g.knowsNothingOf(liveKey, 1)
		}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "unknown"}},
		"a revoked key": {credentials: access.Credentials{Key: liveKey}, expect: func(g *gate) {
			g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &past })
		}, code: "API_KEY_REVOKED"},
		"an expired key": {credentials: access.Credentials{Key: liveKey}, expect: func(g *gate) {
			g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.ExpiresAt = &noon })
		}, code: "API_KEY_EXPIRED"},
		"a disabled app": {credentials: access.Credentials{Key: liveKey}, expect: func(g *gate) {
			g.knows(liveKey, 1, func(c *domain.Credential) { c.Application.Disabled = true })
		}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "unknown"}},
		"disabled, revoked": {credentials: access.Credentials{Key: liveKey}, expect: func(g *gate) {
			g.knows(liveKey, 1, func(c *domain.Credential) { c.Application.Disabled, c.Key.RevokedAt = true, &past })
		}, code: "INVALID_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			if c.expect != nil {
				c.expect(g) // otherwise the storage must not be asked at all
			}
			c.credentials.Environment, c.credentials.Address = domain.Live, address
			grant, err := g.Admit(t.Context(), c.credentials)
			e := wantCode(t, err, domain.KindUnauthenticated, c.code)
			for k, v := range c.detail {
				if e.Details[k] != v {
					t.Errorf("details %v", e.Details)
				}
			}
			if strings.Contains(e.Message, liveKey) || strings.Contains(e.Message, testKey) {
				t.Errorf("the message repeats the secret: %s", e.Message)
			}
			if len(g.limiter.taken) != 1 || g.failures() != 1 {
				t.Errorf("counted %v, want one failure of the address", g.limiter.taken)
			}
			if grant.Allowance.Scope != "address" || grant.Allowance.Remaining != 59 || grant.Credential.Key.ID != "" {
				t.Errorf("grant %+v", grant)
			}
			var of domain.Tenant // the tenant in the record of the call
			if c.expect != nil && name != "an unknown key" {
				of = domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Live}
			}
			if name == "the wrong host" {
				of.Environment = domain.Sandbox
			}
			if caller := grant.Caller(); caller.Tenant() != of || (of.ApplicationID == "") != (caller.Key.ID == "") {
				t.Errorf("the caller is %+v, want %+v", caller, of)
			}
		})
	}
}

func TestTheCallerOfAnUnknownPathIsRecognizedAndChargedOnlyForGuesses(t *testing.T) {
	t.Parallel()
	unknown := domain.MakeAPIKey(domain.Live, [32]byte{9})
	for name, c := range map[string]struct {
		key      string
		expect   func(*gate)
		caller   domain.ID
		failures int
	}{
		"no key":      {},
		"a cut-off":   {key: liveKey[:30]},
		"a good one":  {key: liveKey, expect: func(g *gate) { g.knows(liveKey, 1, nil) }, caller: "key_1"},
		"a revoked":   {key: liveKey, expect: func(g *gate) { g.knows(liveKey, 1, revoked) }, caller: "key_1", failures: 1},
		"a guess":     {key: unknown, expect: func(g *gate) { g.knowsNothingOf(unknown, 1) }, failures: 1},
		"of the test": {key: testKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			if c.expect != nil {
				c.expect(g) // otherwise the storage must not be asked at all
			}
			grant := g.Recognize(t.Context(), access.Credentials{Environment: domain.Live, Address: address, Key: c.key})
			if got := grant.Caller().Key.ID; got != c.caller || (grant.Refused != nil) != (name == "a revoked") {
				t.Errorf("the caller is %q, want %q; refused %+v", got, c.caller, grant.Refused)
			}
			if g.failures() != c.failures || g.limiter.taken["key key_1"]+g.limiter.taken["business biz_1/live"] != 0 {
				t.Errorf("counted %v, want %d failures and nothing else", g.limiter.taken, c.failures)
			}
		})
	}
}

func TestAnAddressThatFailsTooOftenIsLockedOut(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	for range 60 {
		_, err := g.credentials(t, "guess")
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
	}
	grant, err := g.credentials(t, "guess")
	e := wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
	if e.RetryAfter != 17*time.Second || e.Details["scope"] != "address" || e.Details["limit"] != 60 || e.Details["window_seconds"] != 60 {
		t.Errorf("retry after %s, details %v", e.RetryAfter, e.Details)
	}
	if grant.Allowance.Admitted || grant.Allowance.Remaining != 0 || g.failures() != 60 {
		t.Errorf("allowance %+v, %d failures", grant.Allowance, g.failures())
	}
	// An unknown key is looked up together with others, and refused alike ...
	g.known()
	_, err = g.credentials(t, liveKey)
	wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
	// ... while one that exists is let in, and charged nothing, though it was never
	// seen here.
	g.known(liveKey)
	g.knows(liveKey, 1, nil)
	if _, err := g.credentials(t, liveKey); err != nil || g.failures() != 60 {
		t.Errorf("a key that exists: %v, %d failures", err, g.failures())
	}
}

// What is wrong with a key that exists, or is none of this host's, is told at any time.
func TestALockedOutAddressIsToldWhatIsWrongWithAKeyThatIsNoGuess(t *testing.T) {
	t.Parallel()
	for code, change := range map[string]func(*domain.Credential){
		"API_KEY_REVOKED": func(c *domain.Credential) { c.Key.RevokedAt = &noon },
		"API_KEY_EXPIRED": func(c *domain.Credential) { c.Key.ExpiresAt = &noon },
	} {
		g := newGate(t)
		g.lockOut()
		g.known(liveKey)
		g.knows(liveKey, 1, change)
		for range 2 { // new here, and then known
			_, err := g.credentials(t, liveKey)
			wantCode(t, err, domain.KindUnauthenticated, code)
		}
	}
	g := newGate(t)
	g.lockOut()
	_, err := g.credentials(t, testKey)
	wantCode(t, err, domain.KindUnauthenticated, "ENVIRONMENT_MISMATCH")
}

func TestALookUpOfManyThatFailsIsOurs(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.lockOut()
	g.store.EXPECT().Known(gomock.Any(), gomock.Any()).Return(nil, errBroken)
	if _, err := g.credentials(t, liveKey); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

func TestAKeyThatWorkedSurvivesTheLockoutOfItsAddress(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 3, nil)
	for _, wait := range []time.Duration{0, 10*time.Minute - time.Millisecond, 10*time.Minute - time.Millisecond} {
		g.clock.GoOn(wait)
		if _, err := g.credentials(t, liveKey); err != nil {
			t.Fatalf("after %s: %v", wait, err)
		}
		g.lockOut()
	}
	g.clock.GoOn(10 * time.Minute)
	g.known() // it was deleted meanwhile, and has to be looked up like any other
	_, err := g.credentials(t, liveKey)
	wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
}

func TestATrustedKeyThatIsRevokedIsNotServed(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	gomock.InOrder(g.knows(liveKey, 1, nil), g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon }))
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Fatal(err)
	}
	g.lockOut()
	g.clock.GoOn(2 * time.Second)
	_, err := g.credentials(t, liveKey)
	wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
}

func TestAFailureOfOursIsNotTheClients(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).Return(domain.Credential{}, errBroken)
	grant, err := g.credentials(t, liveKey)
	if !errors.Is(err, errBroken) || domain.HasCode(err, "INVALID_API_KEY") {
		t.Errorf("got %v", err)
	}
	if g.failures() != 0 || grant.Allowance.Remaining != 60 {
		t.Errorf("%d failures, allowance %+v", g.failures(), grant.Allowance)
	}
	g.knows(liveKey, 1, nil) // and it was not remembered
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Errorf("when the storage is back: %v", err)
	}
}

func TestNoRequestIsAdmittedWhileTheLimiterFails(t *testing.T) {
	t.Parallel()
	ofAddress := ports.Bucket{Scope: "address", Name: address, Limit: limits.PerAddress}
	for name, c := range map[string]struct {
		key    string
		expect func(*mocks.MockRateLimiter, *mocks.MockTenancyReader)
	}{
		"at the charge of a new key": {liveKey, func(l *mocks.MockRateLimiter, _ *mocks.MockTenancyReader) {
			l.EXPECT().Take(gomock.Any(), ofAddress).Return(ports.Allowance{}, errBroken)
		}},
		"as it is given back": {liveKey, func(l *mocks.MockRateLimiter, s *mocks.MockTenancyReader) {
			l.EXPECT().Take(gomock.Any(), ofAddress).Return(ports.Allowance{Admitted: true}, nil)
			s.EXPECT().Credential(gomock.Any(), gomock.Any()).Return(credential(liveKey, nil), nil)
			l.EXPECT().GiveBack(gomock.Any(), ofAddress).Return(errBroken)
		}},
		"as it is given back for a failure of ours": {liveKey, func(l *mocks.MockRateLimiter, s *mocks.MockTenancyReader) {
			l.EXPECT().Take(gomock.Any(), ofAddress).Return(ports.Allowance{Admitted: true}, nil)
			s.EXPECT().Credential(gomock.Any(), gomock.Any()).Return(domain.Credential{}, errors.New("gone"))
			l.EXPECT().GiveBack(gomock.Any(), ofAddress).Return(errBroken)
		}},
		"at the take": {liveKey, func(l *mocks.MockRateLimiter, s *mocks.MockTenancyReader) {
			l.EXPECT().Take(gomock.Any(), ofAddress).Return(ports.Allowance{Admitted: true}, nil)
			s.EXPECT().Credential(gomock.Any(), gomock.Any()).Return(credential(liveKey, nil), nil)
			l.EXPECT().GiveBack(gomock.Any(), ofAddress).Return(nil)
			l.EXPECT().Take(gomock.Any(), gomock.Any(), gomock.Any()).Return(ports.Allowance{}, errBroken)
		}},
		"at the count of a failure": {"guess", func(l *mocks.MockRateLimiter, _ *mocks.MockTenancyReader) {
			l.EXPECT().Take(gomock.Any(), ofAddress).Return(ports.Allowance{}, errBroken)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctrl := gomock.NewController(t)
			limiter, store, storage := mocks.NewMockRateLimiter(ctrl), mocks.NewMockTenancyReader(ctrl), mocks.NewMockStorage(ctrl)
			storage.EXPECT().Read().Return(ports.Readers{Tenancy: store}).AnyTimes()
			c.expect(limiter, store)
			a := access.NewAdmission(storage, limiter, stage.Digester{}, &stage.Clock{}, limits)
			_, err := a.Admit(t.Context(), access.Credentials{Environment: domain.Live, Address: address, Key: c.key})
			wantCode(t, err, domain.KindInternal, "INTERNAL_SERVER_ERROR")
			if !errors.Is(err, errBroken) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}
