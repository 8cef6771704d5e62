package access_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

var (
	noon = stage.Noon

	limits = access.Limits{
		PerKey:      domain.RateLimit{Limit: 600, Window: time.Minute},
		PerBusiness: domain.RateLimit{Limit: 1200, Window: time.Minute},
		PerAddress:  domain.RateLimit{Limit: 60, Window: time.Minute},
	}
	liveKey = domain.MakeAPIKey(domain.Live, [32]byte{1})
	testKey = domain.MakeAPIKey(domain.Sandbox, [32]byte{1})

	plenty    = domain.RateLimit{Limit: 10_000_000, Window: time.Minute}
	errBroken = errors.New("the disk is on fire")
)

var boss = domain.AuditActor{Name: "command:boss"}

const address = "203.0.113.7"

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

// GiveBack does nothing for a client that has left, as over a network.
func (c *counter) GiveBack(ctx context.Context, buckets ...ports.Bucket) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range buckets {
		c.taken[b.Scope+" "+b.Name]--
	}
	return nil
}

// gate is admission in front of a storage that may only be asked what is expected.
type gate struct {
	*access.Admission
	store   *mocks.MockTenancyReader
	limiter *counter
	clock   *stage.Clock
}

func newGate(t *testing.T) *gate {
	ctrl := gomock.NewController(t)
	g := &gate{store: mocks.NewMockTenancyReader(ctrl), limiter: &counter{taken: map[string]int{}}, clock: &stage.Clock{}}
	storage := mocks.NewMockStorage(ctrl)
	storage.EXPECT().Read().Return(ports.Readers{Tenancy: g.store}).AnyTimes()
	g.Admission = access.NewAdmission(storage, g.limiter, stage.Digester{}, g.clock, limits)
	return g
}

func (g *gate) credentials(t *testing.T, secret string) (access.Grant, error) {
	return g.Admit(t.Context(), access.Credentials{Environment: domain.Live, Address: address, Key: secret})
}

// knows lets the storage be asked for the key that often.
func (g *gate) knows(secret string, times int, change func(*domain.Credential)) *gomock.Call {
	return g.store.EXPECT().Credential(gomock.Any(), stage.Digester{}.Digest(secret)).DoAndReturn(
		func(context.Context, ...[32]byte) (domain.Credential, error) { return credential(secret, change), nil }).Times(times)
}

// known lets the storage be asked once for many keys, and find those of these.
func (g *gate) known(secrets ...string) {
	found := make([][32]byte, len(secrets))
	for i, secret := range secrets {
		found[i] = stage.Digester{}.Digest(secret)
	}
	g.store.EXPECT().Known(gomock.Any(), gomock.Any()).Return(found, nil)
}

func (g *gate) knowsNothingOf(secret string, times int) *gomock.Call {
	return g.store.EXPECT().Credential(gomock.Any(), stage.Digester{}.Digest(secret)).Return(domain.Credential{}, domain.ErrNotFound).Times(
		times)
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

// scene is the operators' use cases on a real database.
type scene struct {
	*access.Tenants
	*stage.Stage
	grapevine grapevine
}

func newScene(t *testing.T) *scene {
	t.Helper()
	o := &scene{Stage: stage.New(t)}
	o.Clock.Step = 0 // it stands still
	o.on(o.Store)
	return o
}

// on makes the use cases anew on another storage.
func (o *scene) on(s ports.Storage) {
	o.Tenants = access.NewTenants(s, stage.Digester{}, o.Clock, o.IDs, &o.grapevine)
}

func (o *scene) newBusiness(t *testing.T) domain.Business {
	t.Helper()
	b, err := o.CreateBusiness(t.Context(), boss, "Shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (o *scene) newApplication(t *testing.T) domain.Application {
	t.Helper()
	a, err := o.CreateApplication(t.Context(), boss, o.newBusiness(t).ID, "App")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (o *scene) issue(t *testing.T, lifetime *time.Duration) access.IssuedKey {
	t.Helper()
	k, err := o.IssueKey(t.Context(), boss, o.newApplication(t).ID, domain.Live,
		[]domain.Scope{domain.ScopeQuotesRead, domain.ScopeDeliveriesWrite}, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// grapevine keeps what was announced.
type grapevine struct {
	mu     sync.Mutex
	passed []domain.ID
	notice func(context.Context) // at the moment of each announcement; may be nil
}

func (g *grapevine) Announce(ctx context.Context, application domain.ID) {
	if g.notice != nil {
		g.notice(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passed = append(g.passed, application)
}

// Listen is for servers.
func (*grapevine) Listen(context.Context, func(domain.ID)) { panic("not for use cases") }

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
