package faults

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop is a few servers on one database, with customers that keep ordering,
// whatever the servers answer.
type shop struct {
	env     []string
	servers []*victim
	sender  *sender
	watch   *stopwatch
	bulks   bool     // every tenth job is one
	may     []string // be answered

	closing chan struct{}
	open    sync.WaitGroup

	mu   sync.Mutex
	jobs []*job
}

const customers = 4

// What clients are told while something is away; they repeat what they asked.
const (
	away     = "503 SERVICE_UNAVAILABLE"
	unpriced = "503 QUOTE_UNAVAILABLE"
	// inProgress is the answer to the repetition of a request that died with a
	// server, or that the server could not release because its database was away.
	inProgress = "409 IDEMPOTENCY_IN_PROGRESS"
)

// serve is a shop on a migrated database, without customers yet. Each server has
// the settings besides the usual ones.
func serve(t *testing.T, url string, servers int, with ...string) *shop {
	t.Helper()
	s := &shop{
		env:     append(settings(url), with...),
		closing: make(chan struct{}), watch: &stopwatch{transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		may: []string{"201", "207", "replays"},
	}
	for range servers {
		v := newVictim(t, s.env)
		v.start(t)
		s.servers = append(s.servers, v)
	}
	s.sender = newSender(enroll(t, s.env, noLimit), s.servers)
	s.sender.client = &http.Client{Transport: s.watch, Timeout: time.Minute}
	t.Cleanup(s.watch.transport.CloseIdleConnections)
	return s
}

// admit starts customers that order all the time.
func (s *shop) admit(ctx context.Context) {
	for range customers {
		s.open.Go(func() { s.trade(ctx, newClerk(0, 50)) })
	}
}

// trade sends one job after the other, each until it is answered.
func (s *shop) trade(ctx context.Context, c *clerk) {
	for n := 1; ctx.Err() == nil; n++ {
		select {
		case <-s.closing:
			return
		default:
		}
		j := c.single()
		if s.bulks && n%10 == 0 {
			j = c.bulk(12, nil)
		}
		s.remember(j)
		s.sender.send(ctx, j)
	}
}

// remember makes settle ask for the job.
func (s *shop) remember(jobs ...*job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, jobs...)
}

// booked is how many jobs were done.
func (s *shop) booked() int { return s.sender.count("201") }

// list asks the first server for deliveries.
func (s *shop) list(ctx context.Context) (reply, error) {
	return s.sender.get(ctx, s.sender.targets[0]+singlePath)
}

// operators is what the operators' listener of the first server answers.
func (s *shop) operators(t *testing.T, path string) int {
	t.Helper()
	res, err := http.Get("http://" + s.servers[0].ops + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // only the status is asked for
	return res.StatusCode
}

// close lets the customers end what they are at.
func (s *shop) close() {
	s.mu.Lock()
	select {
	case <-s.closing:
	default:
		close(s.closing)
	}
	s.mu.Unlock()
	s.open.Wait()
}

// settle lets the customers end, sends every job once more to every server,
// and compares what they were told with what is stored.
func (s *shop) settle(t *testing.T, name string, db *sql.DB, dialect Dialect) {
	t.Helper()
	s.close()
	replayAll(t.Context(), s.sender, s.jobs, s.servers)
	o := outcome{name: name, seen: s.sender.seen}
	o.examine(t, db, dialect, s.jobs)
	t.Log(o, "slowest", s.watch.slowest())
	if !o.sound() {
		t.Errorf("what went wrong:\n%s", o.report())
	}
	for answer, n := range s.sender.seen {
		if !slices.Contains(s.may, answer) {
			t.Errorf("%d answers were %q", n, answer)
		}
	}
}

// until polls for what has to become true.
func until(t *testing.T, what string, within time.Duration, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s: not so that %s", within, what)
		}
	}
}

// stopwatch is a transport that knows how long answers took.
type stopwatch struct {
	transport *http.Transport

	mu      sync.Mutex
	longest time.Duration
}

func (w *stopwatch) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	res, err := w.transport.RoundTrip(r)
	took := time.Since(begun)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longest = max(w.longest, took)
	return res, err
}

func (w *stopwatch) slowest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.longest
}

// says asks the first server why it is not ready.
func (s *shop) says(t *testing.T, why string) {
	t.Helper()
	var body string
	until(t, "/readyz says that "+why, goneWithin, func() bool {
		res, err := http.Get("http://" + s.servers[0].ops + "/readyz?verbose")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		read, _ := io.ReadAll(res.Body) // what is missing is not in it
		body = string(read)
		return res.StatusCode == http.StatusServiceUnavailable && strings.Contains(body, why)
	})
}
