package webhooks_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
	"waybill/adapters/clock"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"waybill/adapters/crypto"
	"waybill/domain"
)

// volume is how much is sent.
type volume struct {
	cycles    int // of rotations
	bulk      int // webhooks, of as many deliveries
	meanwhile int // bulks around a rotation, at least
	after     int // and when all of these have come
	clients   int
}

// overlaps are those of a cycle of rotations. One ends while webhooks are sent.
var overlaps = []time.Duration{time.Hour, time.Hour, 0, shortOverlap, defaultOverlap}

const (
	shortOverlap   = 2 * time.Second
	defaultOverlap = 24 * time.Hour // where none is asked for
)

// What receivers have is a library and the secrets they were told. Here all are
// shown all: real processes send while the secret is rotated, and each request
// has to be good under the secrets of its time and under no other, to the
// public library. In full with a server, a worker, Postgres and Redis.
func TestThePublicLibraryVerifiesWhatIsSentAcrossRotations(t *testing.T) {
	t.Parallel()
	of, on := volume{cycles: 1, bulk: 25, meanwhile: 4, after: 4, clients: 2}, embedded
	if os.Getenv("WAYBILL_STORM") == "full" {
		of, on = volume{cycles: 2, bulk: 100, meanwhile: 6, after: 4, clients: 4}, production
	}
	c := &correspondence{service: on(t), volume: of, inbox: newInbox(t), history: history{verifiers: map[string]*standardwebhooks.Webhook{}}}
	c.begin(t)
	for range of.cycles {
		for _, overlap := range overlaps {
			c.rotateAmidst(t, overlap)
		}
	}
}

// correspondence is a service, an endpoint of it, and what came there.
type correspondence struct {
	*service
	volume
	inbox    *inbox
	endpoint string
	history

	ordered int // webhooks that have to come
	judged  int // parcels
}

type endpointSecret struct{ Data struct{ ID, Secret string } }

func (c *correspondence) begin(t *testing.T) {
	t.Helper()
	var made endpointSecret
	asked := time.Now()
	if err := c.post(t.Context(), "/webhook-endpoints", map[string]any{"url": c.inbox.URL + "/hooks"}, http.StatusCreated, &made); err != nil {
		t.Fatal(err)
	}
	c.endpoint = made.Data.ID
	c.rotated(t, made.Data.Secret, 0, asked, time.Now())
}

// rotateAmidst rotates the secret while webhooks are sent, and sends more when
// these have come, and when a short overlap is over.
func (c *correspondence) rotateAmidst(t *testing.T, overlap time.Duration) {
	t.Helper()
	c.inbox.turn(unwell)
	some := c.inbox.accepted() + c.meanwhile*c.bulk/2
	rotated, ordered := make(chan struct{}), make(chan error, 1)
	go func() { ordered <- c.order(t.Context(), c.meanwhile, rotated) }()
	eventually(t, "some webhooks have come", func() bool { return c.inbox.accepted() >= some || len(ordered) > 0 })
	over := c.rotate(t, overlap)
	close(rotated)
	if err := <-ordered; err != nil {
		t.Fatal(err)
	}
	c.settle(t)
	c.inbox.turn(well)
	c.orderMore(t)
	if overlap == shortOverlap {
		<-time.After(time.Until(over))
		c.settle(t)
		c.orderMore(t)
	}
}

func (c *correspondence) orderMore(t *testing.T) {
	t.Helper()
	over := make(chan struct{})
	close(over)
	if err := c.order(t.Context(), c.after, over); err != nil {
		t.Fatal(err)
	}
	c.settle(t)
}

// rotate tells when the secret before ends.
func (c *correspondence) rotate(t *testing.T, overlap time.Duration) (over time.Time) {
	t.Helper()
	body := map[string]any{}
	if overlap != defaultOverlap {
		body["overlap_seconds"] = overlap.Seconds()
	}
	var made endpointSecret
	asked := time.Now()
	if err := c.post(t.Context(), "/webhook-endpoints/"+c.endpoint+"/rotate-secret", body, http.StatusOK, &made); err != nil {
		t.Fatal(err)
	}
	answered := time.Now()
	c.rotated(t, made.Data.Secret, overlap, asked, answered)
	return answered.Add(overlap)
}

// order books deliveries, whose events are sent: so many bulks, and more until
// over is closed.
func (c *correspondence) order(ctx context.Context, bulks int, over <-chan struct{}) error {
	next := make(chan int)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var group sync.WaitGroup
	for range c.clients {
		group.Go(func() {
			for from := range next {
				if err := c.post(ctx, "/deliveries/bulk", map[string]any{"deliveries": orders(from, c.bulk)}, http.StatusCreated, nil); err != nil {
					fail(err)
				}
			}
		})
	}
	ends := func(n int) bool {
		select {
		case <-ctx.Done():
			return true
		case <-over:
			return n >= bulks
		default:
			return false
		}
	}
	for n := 0; !ends(n); n++ {
		next <- c.ordered
		c.ordered += c.bulk
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// orders are a bulk. Their text is not all ASCII, and some of it is what
// encoders of JSON differ about.
func orders(from, n int) (orders []map[string]any) {
	for i := range n {
		orders = append(orders, map[string]any{
			"recipient": map[string]any{
				"name": fmt.Sprintf("Esi Ɔkɔmfɔ <%d> & Söhne 🛵 \u2028", from+i), "phone_number": fmt.Sprintf("+23324%07d", from+i),
				"address": map[string]any{"address": "4 \"Harbour\" \\ Lane, Tɛma", "latitude": 5.58, "longitude": -0.19},
			},
			"pickup": map[string]any{"name": "Osu kitchen", "contact": "+233302000011", "address": "8 Cantonments Close", "latitude": 5.5571,
				"longitude": -0.1818},
			"payment": map[string]any{"type": "delivery_only"}, "vehicle_type": "bike",
		})
	}
	return orders
}

// settle waits until all expected webhooks have come and are stored, and no
// sender is at work. Then it judges what came.
func (c *correspondence) settle(t *testing.T) {
	t.Helper()
	eventually(t, "all webhooks have come, and nobody sends", func() bool {
		return c.inbox.accepted() == c.ordered && c.idle(t.Context())
	})
	c.quiet()
	came := c.inbox.all()
	const most = 5
	wrong := 0
	for _, p := range came[c.judged:] {
		if err := c.judge(p); err != nil {
			if wrong++; wrong <= most {
				t.Errorf("%s: %v", p.header.Get(domain.HeaderWebhookID), err)
			}
		}
	}
	if c.judged = len(came); wrong > 0 {
		t.Fatalf("%d of these webhooks were wrong", wrong)
	}
}

// idle reports whether nothing is pending and no sender holds the endpoint: it
// takes the lease to find out.
func (c *correspondence) idle(ctx context.Context) bool {
	outbox, id, token := c.store.Outbox(), domain.ID(c.endpoint), crypto.NewIdentifiers(clock.NewSystem()).ID("").Hex()
	if n, _, err := outbox.Backlog(ctx, time.Now().Add(time.Hour)); n != 0 || err != nil {
		return false
	}
	_, leased, err := outbox.Lease(ctx, id, token, time.Second)
	return err == nil && leased && outbox.Release(ctx, id, token) == nil
}

// inbox is an integrator's server that keeps what comes.
type inbox struct {
	*httptest.Server

	mu      sync.Mutex
	parcels []parcel
	came    map[string]time.Time // by webhook-id, the last time
	taken   map[string]bool      // by webhook-id
	mood    mood
}

// mood is how an inbox answers.
type mood bool

const (
	well mood = false // at once, and all
	// unwell takes its time, so that a sender is at work at any moment, and refuses
	// one in twenty at first, which comes again under the secrets of that time.
	unwell mood = true

	unwellFor = 40 * time.Millisecond
)

func newInbox(t *testing.T) *inbox {
	i := &inbox{came: map[string]time.Time{}, taken: map[string]bool{}}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := parcel{came: time.Now(), header: r.Header}
	var err error
	if p.body, err = io.ReadAll(r.Body); err != nil {
		return // it was not all sent
	}
	status := i.keep(p)
	if i.is() == unwell {
		select {
		case <-time.After(unwellFor):
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(status)
}

// keep tells what is to be answered.
func (i *inbox) keep(p parcel) (status int) {
	id := p.header.Get(domain.HeaderWebhookID)
	i.mu.Lock()
	defer i.mu.Unlock()
	p.before = i.came[id]
	i.came[id] = p.came
	i.parcels = append(i.parcels, p)
	if i.mood == unwell && p.before.IsZero() && len(i.came)%20 == 0 {
		return http.StatusServiceUnavailable
	}
	i.taken[id] = true
	return http.StatusNoContent
}

func (i *inbox) turn(m mood) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mood = m
}

func (i *inbox) is() mood {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mood
}

// accepted is how many webhooks were taken.
func (i *inbox) accepted() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.taken)
}

func (i *inbox) all() []parcel {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.parcels)
}
