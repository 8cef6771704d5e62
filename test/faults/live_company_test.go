package faults

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"waybill/test/backend"
	"waybill/test/contract"
)

// company is all that a delivery company runs in production, every part a
// process of its own, and a customer whose server takes webhooks.
type company struct {
	database *backend.Postgres
	db       *sql.DB
	servers  []*victim
	parts    []*part

	operators *sender // of the operations API
	token     string  // ID of theirs
	customer  *sender
	pickup    string // ID
	hooks     *receiver

	ordered atomic.Int64 // numbers orders
	mu      sync.Mutex
	carried []*journey
	wrong   []string // sights that must not happen
}

// part is one that can be killed.
type part struct {
	name  string
	kill  func() error
	start func(ctx context.Context) error
	may   []string // be answered while it is away, beside what answers allows

	from int           // the first point of a delivery's way at which it is killed
	down time.Duration // at least
}

// trackingBase is the public address of tracking pages, which a proxy would lead
// to the servers.
const trackingBase = "https://track.example.com/track"

// What clients are told while something is away; they repeat what they asked.
const (
	away     = "503 SERVICE_UNAVAILABLE"
	unpriced = "503 QUOTE_UNAVAILABLE"
	// inProgress is the answer to the repetition of a request that died with a
	// server, or that the server could not release because its database was away.
	inProgress = "409 IDEMPOTENCY_IN_PROGRESS"
	cutOff     = "connection errors" // no answer
)

// receiving is how long the customer's server takes to take a webhook: the sender
// may die meanwhile.
const receiving = 25 * time.Millisecond

// lookEvery is longer than the time from one look of a stream at its delivery to
// the next.
const lookEvery = 2100 * time.Millisecond

// newCompany starts all parts, and lets an operator take a customer in.
func newCompany(t *testing.T) *company {
	t.Helper()
	database := ownPostgres(t)
	cache := backend.OwnRedis(t)
	dialect := backend.ValhallaForTest(t)
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := &company{database: database}

	prices := freeAddress(t)
	pricing := newVictimOf(t, binary, []string{"WAYBILL_ROUTING_URL=" + dialect.URL, "WAYBILL_LOG_LEVEL=warn"}, "pricing", "serve", "--addr",
		prices)
	pricing.ops = prices
	env := append(settings(database.URL), "WAYBILL_REDIS_URL="+cache.URL, "WAYBILL_PRICING_URL=http://"+prices,
		"WAYBILL_TRACKING_BASE_URL="+trackingBase, "WAYBILL_RATE_LIMIT_PER_BUSINESS="+noLimit,
		"WAYBILL_WEBHOOK_ALLOW_PRIVATE=true", "WAYBILL_WEBHOOK_RETRY_SCHEDULE="+impatient)

	c.parts = []*part{
		// A stream is open by then, and looks at the database while that is away.
		{name: "Postgres", kill: database.Kill, start: database.Restart, may: []string{away, inProgress}, from: 1, down: lookEvery},
		{name: "Redis", kill: func() error { cache.Kill(); return nil }, start: cache.Restart},
		process(t, "pricing", pricing),
		{name: "Valhalla", kill: func() error { dialect.Kill(); return nil }, start: dialect.Restart},
	}
	for _, name := range []string{"serve A", "serve B"} {
		v := newVictim(t, binary, env)
		c.servers = append(c.servers, v)
		c.parts = append(c.parts, process(t, name, v, inProgress, cutOff))
	}
	for _, name := range []string{"worker A", "worker B"} {
		c.parts = append(c.parts, process(t, name, newVictimOf(t, binary, env, "worker")))
	}
	c.db = openDatabase(t, database.URL)
	c.takeIn(t, binary, env)
	return c
}

// process starts a victim that is a part.
func process(t *testing.T, name string, v *victim, may ...string) *part {
	t.Helper()
	l := v.start(t)
	t.Cleanup(func() { l.kill() })
	return &part{name: name, may: may,
		kill: func() error { l.kill(); return nil },
		start: func(ctx context.Context) (err error) {
			next, err := v.launch(ctx)
			if err == nil {
				l = next
			}
			return err
		},
	}
}

// takeIn makes what a customer needs through the operations API, of either
// server, with a token that a command made; the endpoint is the customer's own.
func (c *company) takeIn(t *testing.T, binary string, env []string) {
	t.Helper()
	var made struct{ ID, Token string }
	if err := command(t.Context(), binary, env, &made, "operator", "create", "--name", "Dispatch", "--json"); err != nil {
		t.Fatal(err)
	}
	c.token = made.ID
	c.operators = c.client(t, made.Token, contract.LoadOperations(t))
	c.customer = c.client(t, "", contract.Load(t))
	for _, v := range c.servers {
		c.operators.targets = append(c.operators.targets, "http://"+v.ops+"/ops/v1")
		c.customer.targets = append(c.customer.targets, v.url())
	}
	c.customer.customer.BusinessID = c.made(t, "/businesses", m{"name": "Kejetia Kitchens"}).ID
	c.customer.customer.AppID = c.made(t, "/businesses/"+c.customer.customer.BusinessID+"/applications", m{"name": "Web shop"}).ID
	c.customer.customer.Key = c.made(t, "/applications/"+c.customer.customer.AppID+"/keys",
		m{"environment": "live", "scopes": []string{"all"}}).Key
	c.pickup = c.made(t, "/businesses/"+c.customer.customer.BusinessID+"/environments/live/pickup-locations", m{
		"name": "Osu kitchen", "contact": "0302000011", "address": "8 Cantonments Close",
		"latitude": backend.PlaceA.Latitude, "longitude": backend.PlaceA.Longitude,
	}).ID

	c.hooks = newReceiver(t, c.customer, thinks(receiving))
	r, err := c.customer.ask(t.Context(), http.MethodPost, "/webhook-endpoints", "the endpoint of the shop", m{"url": c.hooks.server.URL})
	var endpoint struct{ Data struct{ ID, Secret string } }
	if err == nil && r.status != http.StatusCreated {
		err = fmt.Errorf("answered %s", r)
	}
	if err == nil {
		err = json.Unmarshal(r.body, &endpoint)
	}
	if err == nil {
		c.hooks.verifier, err = standardwebhooks.NewWebhook(endpoint.Data.Secret)
	}
	if err != nil {
		t.Fatalf("an endpoint: %v", err)
	}
}

// client sends with a key or a token; every answer is held against the
// description of its API.
func (c *company) client(t *testing.T, key string, described *contract.Document) *sender {
	t.Helper()
	connections := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(connections.CloseIdleConnections)
	return &sender{
		customer: customer{Key: key}, seen: map[string]int{},
		client: &http.Client{Timeout: 30 * time.Second, Transport: described.Transport(connections, func(err error) { c.accuse("%v", err) })},
	}
}

// made creates something while all is well.
func (c *company) made(t *testing.T, path string, body m) (record struct{ ID, Key string }) {
	t.Helper()
	r, err := c.operators.ask(t.Context(), http.MethodPost, path, "", body)
	if err != nil || r.status != http.StatusCreated {
		t.Fatalf("POST %s: %s (error %v)", path, r, err)
	}
	answer := struct{ Data *struct{ ID, Key string } }{&record}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		t.Fatal(err)
	}
	return record
}

func (c *company) accuse(what string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(what, args...))
}

// insist sends a request until its answer is final, as the documentation says:
// the same again under the same key, after Retry-After where there is one.
func (c *company) insist(ctx context.Context, as *sender, method, path, key string, body m) (reply, error) {
	for {
		r, err := as.ask(ctx, method, path, key, body)
		pause := refusedPause
		switch {
		case ctx.Err() != nil:
			return r, fmt.Errorf("%s %s was never answered: %w", method, path, context.Cause(ctx))
		case err == nil && !r.mayBeRepeated():
			return r, nil
		case err == nil:
			as.note(r.String())
			pause = max(pause, time.Duration(r.retryAfter)*time.Second)
		default:
			as.note(cutOff)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause + rand.N(pause/4)):
		}
	}
}

// answers are those that were no success since the last call. Any but those that
// are named is wrong, save that a price may be late on a machine that is too
// busy, and that servers go without prices for some seconds after failures.
func (c *company) answers(may []string) (all map[string]int) {
	all = map[string]int{}
	for _, s := range []*sender{c.customer, c.operators} {
		s.mu.Lock()
		for what, n := range s.seen {
			all[what] += n
		}
		clear(s.seen)
		s.mu.Unlock()
	}
	for what, n := range all {
		if what != unpriced && !slices.Contains(may, what) {
			c.accuse("%d answers were %q", n, what)
		}
	}
	return all
}
