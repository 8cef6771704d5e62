package tenancy_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/tenancy"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
)

var (
	noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

	limits = tenancy.Limits{
		PerKey:      domain.RateLimit{Limit: 600, Window: time.Minute},
		PerBusiness: domain.RateLimit{Limit: 1200, Window: time.Minute},
		PerAddress:  domain.RateLimit{Limit: 60, Window: time.Minute},
	}
	liveKey = domain.MakeAPIKey(domain.Live, [32]byte{1})
	testKey = domain.MakeAPIKey(domain.Sandbox, [32]byte{1})

	errBroken = errors.New("the disk is on fire")
)

const address = "203.0.113.7"

// digester is enough of one: equal for equal secrets only.
type digester struct{}

func (digester) Digest(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// clock stands still until it is told to go on.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) goOn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// counter is a limiter whose windows never end.
type counter struct {
	mu    sync.Mutex
	taken map[string]int // by scope and name
}

func (c *counter) ask(take bool, buckets []ports.Bucket) (ports.Allowance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := ports.Allowance{Admitted: true, Remaining: 1 << 30, Reset: time.Minute}
	for _, b := range buckets {
		left := b.Limit.Limit - c.taken[b.Scope+" "+b.Name]
		if left < answer.Remaining {
			answer.Scope, answer.Limit, answer.Remaining = b.Scope, b.Limit, left
		}
		answer.Admitted = answer.Admitted && left > 0
	}
	if !answer.Admitted {
		answer.RetryAfter = 17 * time.Second
		return answer, nil
	}
	for _, b := range buckets {
		if take {
			c.taken[b.Scope+" "+b.Name]++
		}
	}
	if take {
		answer.Remaining--
	}
	return answer, nil
}

func (c *counter) Take(_ context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	return c.ask(true, b)
}
func (c *counter) Peek(_ context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	return c.ask(false, b)
}

func (c *counter) GiveBack(_ context.Context, buckets ...ports.Bucket) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range buckets {
		c.taken[b.Scope+" "+b.Name]--
	}
	return nil
}

// gate is admission in front of a storage that may only be asked what is expected.
type gate struct {
	*tenancy.Admission
	store   *mocks.MockTenancyReader
	limiter *counter
	clock   *clock
}

func newGate(t *testing.T) *gate {
	ctrl := gomock.NewController(t)
	g := &gate{store: mocks.NewMockTenancyReader(ctrl), limiter: &counter{taken: map[string]int{}}, clock: &clock{now: noon}}
	storage := mocks.NewMockStorage(ctrl)
	storage.EXPECT().Read().Return(ports.Readers{Tenancy: g.store}).AnyTimes()
	g.Admission = tenancy.NewAdmission(storage, g.limiter, digester{}, g.clock, limits)
	return g
}

func (g *gate) knock(t *testing.T, secret string) (tenancy.Grant, error) {
	return g.Admit(t.Context(), tenancy.Knock{Environment: domain.Live, Address: address, Key: secret})
}

// knows lets the storage be asked for the key that often.
func (g *gate) knows(secret string, times int, change func(*domain.Credential)) *gomock.Call {
	return g.store.EXPECT().Credential(gomock.Any(), digester{}.Digest(secret)).DoAndReturn(
		func(context.Context, [32]byte) (domain.Credential, error) { return credential(secret, change), nil }).Times(times)
}

func (g *gate) knowsNothingOf(secret string, times int) *gomock.Call {
	return g.store.EXPECT().Credential(gomock.Any(), digester{}.Digest(secret)).Return(domain.Credential{}, domain.ErrNotFound).Times(times)
}

func credential(secret string, change func(*domain.Credential)) domain.Credential {
	environment, _ := domain.ParseAPIKey(secret)
	c := domain.Credential{
		Key:         domain.APIKey{ID: "key_1", ApplicationID: "app_1", Environment: environment, LastFour: secret[len(secret)-4:]},
		Application: domain.Application{ID: "app_1", BusinessID: "biz_1"},
		Business:    domain.Business{ID: "biz_1"},
	}
	if change != nil {
		change(&c)
	}
	return c
}

// lockOut uses up what the address may fail.
func (g *gate) lockOut() { g.limiter.taken["address "+address] = 60 }

func (g *gate) failures() int { return g.limiter.taken["address "+address] }

func wantCode(t *testing.T, err error, kind domain.Kind, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code || e.Kind != kind {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}

func TestAGoodKeyIsLetInAndCounted(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 1, nil)
	grant, err := g.knock(t, liveKey)
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
		knock  tenancy.Knock
		expect func(*gate)
		code   string
		detail map[string]any
	}{
		"no key":           {knock: tenancy.Knock{}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "missing"}},
		"no bearer":        {knock: tenancy.Knock{Malformed: true}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "malformed"}},
		"malformed first":  {knock: tenancy.Knock{Malformed: true, Key: testKey}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "malformed"}},
		"a wrong checksum": {knock: tenancy.Knock{Key: mistyped}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "malformed"}},
		"a short key":      {knock: tenancy.Knock{Key: "x"}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "malformed"}},
		"checksum first":   {knock: tenancy.Knock{Key: testKey[:20] + "x" + testKey[21:]}, code: "INVALID_API_KEY", detail: map[string]any{"reason": "malformed"}},
		"the wrong host":   {knock: tenancy.Knock{Key: testKey}, code: "ENVIRONMENT_MISMATCH", detail: map[string]any{"key_environment": "sandbox", "host_environment": "live"}},
		"an unknown key":   {knock: tenancy.Knock{Key: liveKey}, expect: func(g *gate) { g.knowsNothingOf(liveKey, 1) }, code: "INVALID_API_KEY", detail: map[string]any{"reason": "unknown"}},
		"a revoked key":    {knock: tenancy.Knock{Key: liveKey}, expect: func(g *gate) { g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &past }) }, code: "API_KEY_REVOKED"},
		"an expired key":   {knock: tenancy.Knock{Key: liveKey}, expect: func(g *gate) { g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.ExpiresAt = &noon }) }, code: "API_KEY_EXPIRED"},
		"a disabled app":   {knock: tenancy.Knock{Key: liveKey}, expect: func(g *gate) { g.knows(liveKey, 1, func(c *domain.Credential) { c.Application.Disabled = true }) }, code: "INVALID_API_KEY", detail: map[string]any{"reason": "unknown"}},
		"disabled, revoked": {knock: tenancy.Knock{Key: liveKey}, expect: func(g *gate) {
			g.knows(liveKey, 1, func(c *domain.Credential) { c.Application.Disabled, c.Key.RevokedAt = true, &past })
		}, code: "INVALID_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			if c.expect != nil {
				c.expect(g) // otherwise the storage must not be asked at all
			}
			c.knock.Environment, c.knock.Address = domain.Live, address
			grant, err := g.Admit(t.Context(), c.knock)
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
		})
	}
}

func TestAKeyWithAWrongChecksumNeverReachesTheStorage(t *testing.T) {
	t.Parallel()
	g := newGate(t) // no call of the storage is expected
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for range 10_000 {
		guess := []byte("svc_live_key_")
		for range 38 {
			guess = append(guess, letters[random.IntN(len(letters))])
		}
		g.limiter.taken = map[string]int{}
		_, err := g.knock(t, string(guess))
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
	}
}

func TestAnAddressThatFailsTooOftenIsLockedOut(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	for range 60 {
		_, err := g.knock(t, "guess")
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
	}
	grant, err := g.knock(t, "guess")
	e := wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
	if e.RetryAfter != 17*time.Second || e.Details["scope"] != "address" || e.Details["limit"] != 60 || e.Details["window_seconds"] != 60 {
		t.Errorf("retry after %s, details %v", e.RetryAfter, e.Details)
	}
	if grant.Allowance.Admitted || grant.Allowance.Remaining != 0 || g.failures() != 60 {
		t.Errorf("allowance %+v, %d failures", grant.Allowance, g.failures())
	}
	// A key that nobody knows here yet is not even looked up from there ...
	_, err = g.knock(t, liveKey)
	wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
	// ... and is let in from elsewhere.
	g.knows(liveKey, 1, nil)
	if _, err := g.Admit(t.Context(), tenancy.Knock{Environment: domain.Live, Address: "198.51.100.1", Key: liveKey}); err != nil {
		t.Errorf("another address: %v", err)
	}
}

func TestAKeyThatWorkedSurvivesTheLockoutOfItsAddress(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 3, nil)
	for _, wait := range []time.Duration{0, 10*time.Minute - time.Millisecond, 10*time.Minute - time.Millisecond} {
		g.clock.goOn(wait)
		if _, err := g.knock(t, liveKey); err != nil {
			t.Fatalf("after %s: %v", wait, err)
		}
		g.lockOut()
	}
	g.clock.goOn(10 * time.Minute)
	_, err := g.knock(t, liveKey)
	wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
}

func TestATrustedKeyThatIsRevokedIsNotServed(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	gomock.InOrder(g.knows(liveKey, 1, nil), g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon }))
	if _, err := g.knock(t, liveKey); err != nil {
		t.Fatal(err)
	}
	g.lockOut()
	g.clock.goOn(2 * time.Second)
	_, err := g.knock(t, liveKey)
	wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
}

func TestTheLimitThatBitesIsTold(t *testing.T) {
	t.Parallel()
	own := &domain.RateLimit{Limit: 3, Window: 2 * time.Minute}
	for name, c := range map[string]struct {
		taken         map[string]int
		own           *domain.RateLimit
		scope         string
		limit, window int
	}{
		"of the key":              {map[string]int{"key key_1": 600}, nil, "key", 600, 60},
		"of the business":         {map[string]int{"business biz_1/live": 1200}, nil, "business", 1200, 60},
		"of the business's own":   {map[string]int{"business biz_1/live": 3}, own, "business", 3, 120},
		"of the other one is not": {map[string]int{"business biz_1/sandbox": 1200, "key key_2": 600}, nil, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			g.limiter.taken = c.taken
			g.knows(liveKey, 1, func(cr *domain.Credential) { cr.Business.RateLimit = c.own })
			grant, err := g.knock(t, liveKey)
			if c.scope == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			e := wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
			if e.Details["scope"] != c.scope || e.Details["limit"] != c.limit || e.Details["window_seconds"] != c.window || e.RetryAfter != 17*time.Second {
				t.Errorf("retry after %s, details %v", e.RetryAfter, e.Details)
			}
			if grant.Allowance.Scope != c.scope || grant.Allowance.Remaining != 0 || g.failures() != 0 {
				t.Errorf("allowance %+v, %d failures", grant.Allowance, g.failures())
			}
		})
	}
}

func TestLimitsOfACredential(t *testing.T) {
	t.Parallel()
	g, c := newGate(t), credential(liveKey, nil)
	if key, business := g.LimitsOf(&c); key != limits.PerKey || business != limits.PerBusiness {
		t.Errorf("%+v, %+v", key, business)
	}
	c.Business.RateLimit = &domain.RateLimit{Limit: 3, Window: time.Second}
	if key, business := g.LimitsOf(&c); key != limits.PerKey || business != *c.Business.RateLimit {
		t.Errorf("%+v, %+v", key, business)
	}
}

func TestAnAnswerThatDoesNotCountIsGivenBack(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 1, nil)
	grant, err := g.knock(t, liveKey)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the headers never promise more than the limit
		if err := g.GiveBack(t.Context(), &grant); err != nil || grant.Allowance.Remaining != 600 {
			t.Errorf("%v, remaining %d", err, grant.Allowance.Remaining)
		}
	}
	if g.limiter.taken["key key_1"] != -1 || g.limiter.taken["business biz_1/live"] != -1 {
		t.Errorf("counted %v", g.limiter.taken)
	}
}

func TestAStrangerIsToldAboutItsAddressAndNotCounted(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	a, err := g.Stranger(t.Context(), address)
	if err != nil || a.Scope != "address" || a.Remaining != 60 || g.failures() != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestARevokedKeyStopsWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	gomock.InOrder(g.knows(liveKey, 1, nil), g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon }))
	if _, err := g.knock(t, liveKey); err != nil {
		t.Fatal(err)
	}
	served := time.Duration(0) // for how long after it was revoked
	for range 200 {
		g.clock.goOn(10 * time.Millisecond)
		if _, err := g.knock(t, liveKey); err != nil {
			wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
			if served >= 2*time.Second || served < time.Second {
				t.Errorf("served for %s; the cache is there to serve for at least one", served)
			}
			return
		}
		served += 10 * time.Millisecond
	}
	t.Errorf("still served after %s", served)
}

func TestASlowLookUpDoesNotProlongAKey(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context, [32]byte) (domain.Credential, error) {
		found := credential(liveKey, nil)
		g.clock.goOn(1400 * time.Millisecond) // it was revoked right behind the read
		return found, nil
	})
	if _, err := g.knock(t, liveKey); err != nil {
		t.Fatal(err)
	}
	g.clock.goOn(500 * time.Millisecond)
	g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon })
	_, err := g.knock(t, liveKey)
	wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
}

func TestAClockThatStepsBackDoesNotProlongAKey(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	gomock.InOrder(g.knows(liveKey, 1, nil), g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon }))
	if _, err := g.knock(t, liveKey); err != nil {
		t.Fatal(err)
	}
	g.clock.goOn(-time.Hour)
	_, err := g.knock(t, liveKey)
	wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
}

func TestAKeyExpiresToTheMillisecondWhileItIsRemembered(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	expires := noon.Add(700 * time.Millisecond)
	g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.ExpiresAt = &expires })
	for _, wait := range []time.Duration{0, 699 * time.Millisecond} {
		g.clock.goOn(wait)
		if _, err := g.knock(t, liveKey); err != nil {
			t.Fatalf("after %s: %v", wait, err)
		}
	}
	g.clock.goOn(time.Millisecond)
	_, err := g.knock(t, liveKey)
	wantCode(t, err, domain.KindUnauthenticated, "API_KEY_EXPIRED")
}

func TestAnUnknownKeyIsLookedUpOncePerSecond(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knowsNothingOf(liveKey, 1)
	for _, wait := range []time.Duration{0, 500 * time.Millisecond, 499 * time.Millisecond} {
		g.clock.goOn(wait)
		_, err := g.knock(t, liveKey)
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
	}
	if g.failures() != 3 {
		t.Errorf("%d failures counted, want each", g.failures())
	}
	g.clock.goOn(time.Millisecond)
	g.knows(liveKey, 1, nil)
	if _, err := g.knock(t, liveKey); err != nil {
		t.Errorf("it was issued meanwhile: %v", err)
	}
}

func TestAFailureOfOursIsNotTheClients(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).Return(domain.Credential{}, errBroken)
	grant, err := g.knock(t, liveKey)
	if !errors.Is(err, errBroken) || domain.HasCode(err, "INVALID_API_KEY") {
		t.Errorf("got %v", err)
	}
	if g.failures() != 0 || grant.Allowance.Remaining != 60 {
		t.Errorf("%d failures, allowance %+v", g.failures(), grant.Allowance)
	}
	g.knows(liveKey, 1, nil) // and it was not remembered
	if _, err := g.knock(t, liveKey); err != nil {
		t.Errorf("when the storage is back: %v", err)
	}
}

func TestNobodyIsLetInWhileTheLimiterFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key    string
		expect func(*mocks.MockRateLimiter, *mocks.MockTenancyReader)
	}{
		"at the peek": {liveKey, func(l *mocks.MockRateLimiter, _ *mocks.MockTenancyReader) {
			l.EXPECT().Peek(gomock.Any(), gomock.Any()).Return(ports.Allowance{}, errBroken).MinTimes(1)
		}},
		"at the take": {liveKey, func(l *mocks.MockRateLimiter, s *mocks.MockTenancyReader) {
			l.EXPECT().Peek(gomock.Any(), gomock.Any()).Return(ports.Allowance{Admitted: true}, nil)
			s.EXPECT().Credential(gomock.Any(), gomock.Any()).Return(credential(liveKey, nil), nil)
			l.EXPECT().Take(gomock.Any(), gomock.Any(), gomock.Any()).Return(ports.Allowance{}, errBroken)
		}},
		"at the count of a failure": {"guess", func(l *mocks.MockRateLimiter, _ *mocks.MockTenancyReader) {
			l.EXPECT().Take(gomock.Any(), gomock.Any()).Return(ports.Allowance{}, errBroken)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctrl := gomock.NewController(t)
			limiter, store, storage := mocks.NewMockRateLimiter(ctrl), mocks.NewMockTenancyReader(ctrl), mocks.NewMockStorage(ctrl)
			storage.EXPECT().Read().Return(ports.Readers{Tenancy: store}).AnyTimes()
			c.expect(limiter, store)
			a := tenancy.NewAdmission(storage, limiter, digester{}, &clock{now: noon}, limits)
			_, err := a.Admit(t.Context(), tenancy.Knock{Environment: domain.Live, Address: address, Key: c.key})
			wantCode(t, err, domain.KindInternal, "INTERNAL_SERVER_ERROR")
			if !errors.Is(err, errBroken) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

func TestGiveBackThatFailsPromisesNothing(t *testing.T) {
	t.Parallel()
	ctrl := gomock.NewController(t)
	limiter := mocks.NewMockRateLimiter(ctrl)
	limiter.EXPECT().GiveBack(gomock.Any()).Return(errBroken)
	a := tenancy.NewAdmission(nil, limiter, digester{}, &clock{now: noon}, limits)
	grant := tenancy.Grant{Allowance: ports.Allowance{Limit: limits.PerKey, Remaining: 5}}
	if err := a.GiveBack(t.Context(), &grant); !errors.Is(err, errBroken) || grant.Allowance.Remaining != 5 {
		t.Errorf("%v, remaining %d", err, grant.Allowance.Remaining)
	}
}

func TestAdmissionIsSafeForManyAtOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).Return(credential(liveKey, nil), nil).MinTimes(1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				g.clock.goOn(100 * time.Millisecond)
				if _, err := g.knock(t, liveKey); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if g.limiter.taken["key key_1"] != 400 {
		t.Errorf("counted %v", g.limiter.taken)
	}
}
