package faults

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver is an integrator's server behind one endpoint. It verifies as he
// would, with the Standard Webhooks library, and notes everything that comes.
type receiver struct {
	app      *sender
	endpoint string // its ID
	server   *httptest.Server
	verifier *standardwebhooks.Webhook // set before anything is sent
	script   atomic.Pointer[script]
	unwell   atomic.Bool // it did not always take what came, and at once

	mu       sync.Mutex
	parcels  map[string]*parcel // by webhook-id
	arrivals int
	strange  map[string]int
}

// parcel is a webhook, which may come more than once.
type parcel struct {
	body     [sha256.Size]byte
	delivery string // 32 hex characters
	sequence int
	happened time.Time // in the words of the body
	arrivals []arrival
	differ   int // arrivals with another body than the first
}

// arrival is one attempt.
type arrival struct {
	came, answered time.Time
	status         int // 0: the sender did not wait for it
	attempt        int // x-webhook-attempt
}

func (a arrival) accepted() bool { return a.status/100 == 2 }

// script tells what a receiver does with a request: the status that it answers,
// or 0 for none.
type script func(r *http.Request) (status int)

func takes(*http.Request) int { return http.StatusNoContent }

// flaky refuses so many per cent.
func flaky(percent int) script {
	return func(*http.Request) int {
		if rand.IntN(100) < percent {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
}

// thinks takes it after so long.
func thinks(long time.Duration) script {
	return func(r *http.Request) int {
		select {
		case <-time.After(long):
			return http.StatusOK
		case <-r.Context().Done():
			return 0
		}
	}
}

func newReceiver(t *testing.T, app *sender, s script) *receiver {
	t.Helper()
	r := &receiver{app: app, parcels: map[string]*parcel{}, strange: map[string]int{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.plays(takes)
		r.server.CloseClientConnections() // on which it hung
		r.server.Close()
	})
	r.plays(s)
	r.unwell.Store(false)
	return r
}

// plays another script from now on.
func (r *receiver) plays(s script) {
	r.unwell.Store(true)
	r.script.Store(&s)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	came := time.Now()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender died before it was all sent
	}
	invalid := r.verifier.Verify(body, req.Header)
	id := req.Header.Get(standardwebhooks.HeaderWebhookID)
	nth := r.note(id, body, came, req, invalid)
	status := (*r.script.Load())(req)
	if req.Context().Err() != nil {
		status = 0
	}
	r.mu.Lock()
	a := &r.parcels[id].arrivals[nth]
	a.answered, a.status = time.Now(), status
	r.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
	}
}

// note remembers an arrival before it is answered.
func (r *receiver) note(id string, body []byte, came time.Time, req *http.Request, invalid error) (nth int) {
	hash := sha256.Sum256(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrivals++
	if invalid != nil {
		r.strange[invalid.Error()]++
	}
	attempt, err := strconv.Atoi(req.Header.Get("x-webhook-attempt"))
	if err != nil {
		r.strange["x-webhook-attempt: "+err.Error()]++
	}
	p := r.parcels[id]
	if p == nil {
		p = r.open(id, body)
		p.body = hash
		r.parcels[id] = p
	}
	if p.body != hash {
		p.differ++
	}
	p.arrivals = append(p.arrivals, arrival{came: came, attempt: attempt})
	return len(p.arrivals) - 1
}

func (r *receiver) open(id string, body []byte) *parcel {
	var content struct {
		ID        string
		Sequence  int
		Timestamp time.Time
		Data      struct{ Delivery struct{ ID string } }
	}
	if err := json.Unmarshal(body, &content); err != nil {
		r.strange[err.Error()]++
	}
	if content.ID != id {
		r.strange["another ID in the body"]++
	}
	return &parcel{delivery: hexOf(content.Data.Delivery.ID), sequence: content.Sequence, happened: content.Timestamp}
}

// taken is how many webhooks were accepted at least once.
func (r *receiver) taken() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parcels {
		if p.accepted() {
			n++
		}
	}
	return n
}

func (p *parcel) accepted() bool {
	for _, a := range p.arrivals {
		if a.accepted() {
			return true
		}
	}
	return false
}
