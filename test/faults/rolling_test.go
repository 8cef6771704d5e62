package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/test/backend"
	"waybill/test/program"
)

const (
	// takesOn is how long a server that was told to end takes requests: several looks of the balancer.
	takesOn = 3 * time.Second
	// crowded is the answer to a bulk of an application that waits too long for others at one server, restart or not.
	crowded = "429 RATE_LIMIT_EXCEEDED"
	// rollingLate is how long after its event a webhook may come while processes are replaced.
	rollingLate = 60 * time.Second
)

// rollout is a post whose processes are replaced one after another, under load.
type rollout struct {
	*post
	*balancer
	shop *shop // whose portal has an inbox that is open; its application gets nothing

	mu      sync.Mutex
	streams int // that ended with their server
	broken  []string
}

// TestARollingRestartFailsNothing replaces every server and every worker while clients order
// and move deliveries, as a new version of the program is brought in.
func TestARollingRestartFailsNothing(t *testing.T) {
	alongside(t)
	rounds, lookEvery, pause := 1, 50*time.Millisecond, 10*time.Millisecond
	if full() {
		rounds, lookEvery, pause = 8, 250*time.Millisecond, 0
	}
	r := newRollout(t, lookEvery)
	rolled := make(chan struct{})
	over := func() bool {
		select {
		case <-rolled:
			return true
		default:
			return false
		}
	}
	writers := r.write(t.Context(), 8, pause, over)
	calm := make(chan struct{})
	reader := &feedReader{app: r.apps[0]}
	var beside sync.WaitGroup
	beside.Go(func() { reader.follow(t.Context(), calm, func() int { return r.count(t, r.apps[0]) }) })
	until(t, "there is load", time.Minute, func() bool { return r.written.Load() > 50 })
	r.begin(t, 20*rounds, 1)
	begun := time.Now()
	var slowest time.Duration
	for round := range rounds {
		for n := range r.servers {
			slowest = max(slowest, r.replaceServer(t, n, (n+round)%2 == 0))
		}
		for n := range r.workers {
			slowest = max(slowest, r.replaceWorker(t, n, (n+round)%2 == 0))
		}
	}
	took := time.Since(begun)
	close(rolled)
	writers.Wait()
	r.drain(t, time.Minute)
	close(calm)
	beside.Wait()
	r.tell(t, took, slowest, reader)
}

func newRollout(t *testing.T, lookEvery time.Duration) *rollout {
	t.Helper()
	servers, workers := 2, 1
	if full() {
		servers, workers = 4, 2
	}
	p := newPost(t, setting{dialect: Postgres, redis: backend.OwnRedis(t).URL, servers: servers, workers: workers, apps: 2,
		with: []string{"WAYBILL_SHUTDOWN_DELAY=" + takesOn.String()}})
	r := &rollout{post: p, balancer: newBalancer(t, lookEvery, p.servers...), shop: &shop{env: p.servers[0].env}}
	var quiet struct{ ID string }
	business := p.apps[0].customer.BusinessID
	command(t, r.shop.env, &quiet, "app", "create", "--business", business, "--name", "Quiet")
	r.shop.sender = &sender{customer: customer{BusinessID: business, AppID: quiet.ID}}
	until(t, "all servers are ready", program.Patience, func() bool {
		for _, v := range p.servers {
			if !r.leadsTo(v) {
				return false
			}
		}
		return true
	})
	p.client.Transport = r.balancer
	for _, app := range p.apps {
		r.receive(t, app, takes)
		r.receive(t, app, takes)
	}
	return r
}

// successor is a process of the same kind at addresses of its own.
func successor(t *testing.T, v *victim) *victim {
	t.Helper()
	return newVictimOf(t, v.env, v.command...)
}

// replaceServer ends a server, and starts its successor before that or, at the same addresses,
// after it. Streams that it has open have to end whole.
func (r *rollout) replaceServer(t *testing.T, n int, before bool) (ended time.Duration) {
	t.Helper()
	old, life := r.servers[n], r.serving[n]
	if before {
		r.servers[n] = successor(t, old)
		r.serving[n] = r.servers[n].start(t)
		r.balancer.add(t, r.servers[n])
	}
	streams := r.openStreams(t, old)
	begun := time.Now()
	if err := life.Stop(); err != nil {
		t.Errorf("server %d: %v", n, err)
	}
	ended = time.Since(begun)
	streams.Wait()
	if before {
		r.balancer.remove(old)
		return ended
	}
	r.serving[n] = old.start(t)
	until(t, "a server is ready again", program.Patience, func() bool { return r.leadsTo(old) })
	return ended
}

func (r *rollout) replaceWorker(t *testing.T, n int, before bool) (ended time.Duration) {
	t.Helper()
	old, life := r.workers[n], r.lives[n]
	if before {
		r.workers[n] = successor(t, old)
		r.lives[n] = r.workers[n].start(t)
	}
	begun := time.Now()
	if err := life.Stop(); err != nil {
		t.Errorf("worker %d: %v", n, err)
	}
	ended = time.Since(begun)
	if !before {
		r.lives[n] = old.start(t)
	}
	return ended
}

// openStreams opens the tracking page of a delivery and the inbox of the portal at a server,
// both of which stay open until the server ends them.
func (r *rollout) openStreams(t *testing.T, at *victim) *sync.WaitGroup {
	t.Helper()
	key, body := order(newClerk(0, 0), nil)
	booked, err := r.apps[0].insist(t.Context(), http.MethodPost, singlePath, key, body)
	if err != nil || booked.status != http.StatusCreated {
		t.Fatalf("a delivery to follow: %s (error %v)", booked, err)
	}
	d, err := booked.delivery()
	if err != nil {
		t.Fatal(err)
	}
	r.acknowledge(hexOf(d.ID))
	var reference string
	if err := r.db.QueryRowContext(t.Context(), "SELECT reference FROM deliveries WHERE id = CAST($1 AS uuid)", hexOf(d.ID)).
		Scan(&reference); err != nil {
		t.Fatal(err)
	}
	var open atomic.Int64
	var all sync.WaitGroup
	stream := func(name string, client *http.Client, url string) {
		all.Go(func() {
			if err := readStream(t.Context(), client, url, &open); err != nil {
				r.mu.Lock()
				r.broken = append(r.broken, fmt.Sprintf("%s: %v", name, err))
				r.mu.Unlock()
			}
		})
	}
	person := newVisitor(t, "http://"+at.portal)
	r.shop.invites(t, person, fmt.Sprintf("ama%d@stormy.example", r.written.Load()), "owner")
	stream("the tracking page", &http.Client{}, "http://"+at.sandbox+"/track/"+reference+"/stream")
	stream("the inbox", &http.Client{Jar: person.client.Jar}, "http://"+at.portal+"/sandbox/inbox?application="+r.shop.sender.customer.AppID)
	until(t, "the streams are open", program.Patience, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return open.Load() == 2 || len(r.broken) > 0
	})
	r.mu.Lock()
	r.streams += 2
	r.mu.Unlock()
	return &all
}

// readStream reads until the stream ends; one that is cut off is an error.
func readStream(ctx context.Context, client *http.Client, url string, open *atomic.Int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return fmt.Errorf("it was answered %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	open.Add(1)
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// tell compares what came with what is stored.
func (r *rollout) tell(t *testing.T, took, slowest time.Duration, reader *feedReader) {
	t.Helper()
	l := r.audit(t)
	missed, repeated := reader.against(r.published(t)[hexOf(reader.app.customer.AppID)])
	t.Logf("%d processes were replaced in %.1f s, none took longer than %.2f s to end; %d connections were refused, "+
		"%d streams ended", len(r.servers)+len(r.workers), took.Seconds(), slowest.Seconds(), r.refused, r.streams)
	t.Log(l)
	t.Logf("webhooks came within %.0f ms, 99 of 100 within %.0f ms, half within %.0f ms", ms(l.quantile(1000)), ms(l.quantile(990)),
		ms(l.quantile(500)))
	if len(r.failures) > 0 || r.refused > 0 {
		t.Errorf("clients saw %d connections refused, %s", r.refused, counts(r.failures))
	}
	r.answered(t)
	for _, app := range r.apps {
		for what, n := range app.seen {
			if what != crowded && what != inProgress { // a server that ends leaves a bulk after 5 s
				t.Errorf("clients were told %d times: %s", n, what)
			}
		}
	}
	for _, what := range r.broken {
		t.Errorf("a stream broke off: %s", what)
	}
	if !l.sound() {
		t.Error("want every webhook once, and all that was acknowledged")
	}
	if late := l.quantile(1000); late > rollingLate {
		t.Errorf("a webhook came %s after its event, want at most %s", late, rollingLate)
	}
	if missed > 0 || repeated > 0 || reader.err != nil {
		t.Errorf("a reader of the feed missed %d events and saw %d twice (error %v)", missed, repeated, reader.err)
	}
}
