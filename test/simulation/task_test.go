package simulation

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// task is something that is under way in a process.
type task struct {
	n       int
	p       *process
	rng     *rand.Rand
	drawn   atomic.Uint32 // identifiers
	mu      sync.Mutex
	facts   map[string]bool
	deaf    bool // every commit of it loses its answer
	faults  int
	began   time.Time
	turn    int
	done    atomic.Bool
	lost    bool // its answer was lost
	request *request
	answer  *httptest.ResponseRecorder
	ended   func(*task) // what the world makes of it
}

func (w *world) newTask(p *process, ended func(*task)) *task {
	w.tasks++
	w.turn++
	return &task{
		n: w.tasks, p: p, rng: rand.New(rand.NewPCG(w.seed, uint64(w.tasks))), facts: map[string]bool{},
		began: time.Now(), turn: w.turn, ended: ended,
	}
}

func (t *task) note(fact string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.facts[fact] = true
}

func (t *task) noted(fact string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.facts[fact]
}

func (t *task) chance(part float64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rng.Float64() < part
}

// duration is between two bounds, and not a round one: no two timers are due together.
func (t *task) duration(from, to time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return from + time.Duration(t.rng.Int64N(int64(to-from))) | 1
}

// begin starts the work of a task and lets it come to its first call.
func (w *world) begin(t *task, what string, work func(context.Context)) {
	w.say("#%d p%d begins: %s", t.n, t.p.n, what)
	w.open = append(w.open, t)
	go func() {
		w.x.belongs(t)
		work(context.WithValue(context.Background(), taskKey{}, t))
		t.done.Store(true)
		w.x.wake()
	}()
	synctest.Wait()
}

// send begins a request of a client.
func (w *world) send(p *process, r *request, ended func(*task)) {
	t := w.newTask(p, ended)
	t.request, t.answer = r, httptest.NewRecorder()
	req := httptest.NewRequest(r.method, "/v1"+r.path, strings.NewReader(r.body))
	req.Header.Set("Authorization", "Bearer "+r.from.secret)
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if r.force != "" {
		req.Header.Set("X-Sandbox-Error", r.force)
	}
	if r.etag != "" {
		req.Header.Set("If-None-Match", r.etag)
	}
	if r.use != nil {
		r.use.sent(t)
	}
	w.begin(t, r.String(), func(ctx context.Context) {
		p.apis[r.from.tenant.Environment].Handler().ServeHTTP(t.answer, req.WithContext(ctx))
	})
}
