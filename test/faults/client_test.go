package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// answers is what came back for one order, on all its sends.
type answers struct {
	mu      sync.Mutex
	body    []byte // of the first 201
	id      string // of the delivery, 32 hex characters
	differ  int    // later 201s with other bytes
	wrong   map[string]int
	pending int // sends that no 201 was seen for
}

// told notes a 201.
func (a *answers) told(body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.body != nil {
		if !bytes.Equal(a.body, body) {
			a.differ++
		}
		return
	}
	a.body = body
	var seen struct{ Data struct{ ID string } }
	if json.Unmarshal(body, &seen) == nil && len(seen.Data.ID) > 32 {
		a.id = seen.Data.ID[len(seen.Data.ID)-32:]
	}
}

// refused notes an answer that nobody who sends his own order again may get.
func (a *answers) refused(code string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wrong == nil {
		a.wrong = map[string]int{}
	}
	a.wrong[code]++
}

func (a *answers) unanswered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending++
}

// sender sends orders as a customer's program would: until it is told 201.
type sender struct {
	client   *http.Client
	customer customer
	targets  []string

	mu   sync.Mutex
	seen map[string]int // how often each answer came
}

func newSender(c customer, victims []*victim) *sender {
	s := &sender{
		customer: c, seen: map[string]int{},
		client: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	for _, v := range victims {
		s.targets = append(s.targets, v.url())
	}
	return s
}

func (s *sender) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[what]++
}

// retryPause is what a sender waits before it tries again; short, so that
// tries fall into every phase of a server's life.
const retryPause = 8 * time.Millisecond

// send repeats the order, to any of the servers, until it is answered.
func (s *sender) send(ctx context.Context, o *order) {
	for ctx.Err() == nil {
		reply, err := s.post(ctx, o, s.targets[rand.IntN(len(s.targets))])
		if err != nil {
			s.note("connection errors")
		} else if done := s.judge(o, reply); done {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause/2 + rand.N(retryPause)):
		}
	}
	o.toldBy.unanswered()
}

// judge notes the reply and tells whether it ends the send.
func (s *sender) judge(o *order, r reply) (done bool) {
	switch {
	case r.status == http.StatusCreated:
		s.note("201")
		if r.replayed {
			s.note("replays")
		}
		o.toldBy.told(r.body)
		return true
	case r.mayBeRepeated():
		s.note(r.String())
		return false
	}
	o.toldBy.refused(r.String())
	return true
}

// replay sends an order again that was answered long ago.
func (s *sender) replay(ctx context.Context, o *order, target string) {
	r, err := s.post(ctx, o, target)
	switch {
	case err != nil:
		o.toldBy.refused("replay: " + err.Error())
	case r.status != http.StatusCreated || !r.replayed:
		o.toldBy.refused(fmt.Sprintf("replay: %s, replayed %t", r, r.replayed))
	default:
		o.toldBy.told(r.body)
	}
}

// reply is one answer of a server.
type reply struct {
	status   int
	replayed bool
	body     []byte
	code     string // of an error
	scope    string // of a limit
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, r.code) }

// mayBeRepeated is what the contract says to send again, body and key unchanged.
func (r reply) mayBeRepeated() bool {
	return r.status >= 500 ||
		r.status == http.StatusConflict && r.code == "IDEMPOTENCY_IN_PROGRESS" ||
		r.status == http.StatusTooManyRequests && r.scope == "concurrency"
}

func (s *sender) post(ctx context.Context, o *order, target string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(o.body))
	if err != nil {
		return reply{}, err
	}
	// net/http would repeat by itself what it takes for safe; every try is to be ours.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header["Idempotency-Key"] = []string{o.key}
	return s.do(req)
}

func (s *sender) do(req *http.Request) (reply, error) {
	req.Header.Set("Authorization", "Bearer "+s.customer.Key)
	res, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	r := reply{status: res.StatusCode, replayed: res.Header.Get("Idempotent-Replayed") == "true"}
	if r.body, err = io.ReadAll(res.Body); err != nil {
		return reply{}, err // the server died in the middle of its answer
	}
	if r.status >= 400 {
		var refusal struct {
			Error struct {
				Code    string
				Details struct{ Scope string }
			}
		}
		if err := json.Unmarshal(r.body, &refusal); err != nil {
			r.code = "no envelope"
		} else {
			r.code, r.scope = refusal.Error.Code, refusal.Error.Details.Scope
		}
	}
	return r, nil
}
