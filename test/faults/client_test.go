package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// answers is what came back for one job, on all its sends.
type answers struct {
	mu      sync.Mutex
	body    []byte   // of the first that was final
	ids     []string // 32 hex characters of each item's delivery; empty: it failed
	differ  int      // later ones with other bytes
	wrong   map[string]int
	pending int // sends that never had one
}

// answered notes a final answer.
func (j *job) answered(body []byte) {
	a := &j.told
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.body != nil {
		if !bytes.Equal(a.body, body) {
			a.differ++
		}
		return
	}
	a.body = body
	var err error
	if a.ids, err = j.read(body); err != nil {
		a.accuse(err.Error())
	}
}

// entry is what an answer says of one item.
type entry struct {
	Index    int
	Status   string
	Delivery struct{ ID string }
	Error    struct{ Code string }
}

// read finds the deliveries in the answer and what is wrong with it.
func (j *job) read(body []byte) (ids []string, err error) {
	ids = make([]string, len(j.items))
	if !j.isBulk() {
		var answer struct{ Data struct{ ID string } }
		err = json.Unmarshal(body, &answer)
		ids[0] = hexOf(answer.Data.ID)
		return ids, err
	}
	var answer struct{ Data struct{ Results []entry } }
	if err := json.Unmarshal(body, &answer); err != nil {
		return ids, err
	}
	results := answer.Data.Results
	if len(results) != len(j.items) {
		return ids, fmt.Errorf("%d entries for %d items", len(results), len(j.items))
	}
	for i, item := range j.items {
		r, want := results[i], entry{Index: i, Status: "created"}
		if item.refusal != "" {
			want.Status = "failed"
		}
		if r.Index != want.Index || r.Status != want.Status || r.Error.Code != item.refusal {
			err = cmp.Or(err, fmt.Errorf("item %s %s instead of %s %s", r.Status, r.Error.Code, want.Status, item.refusal))
		}
		ids[i] = hexOf(r.Delivery.ID)
	}
	return ids, err
}

// hexOf is an ID without its prefix.
func hexOf(id string) string {
	if len(id) <= 32 {
		return ""
	}
	return id[len(id)-32:]
}

// refused notes an answer that a client that repeats its own job may not get.
func (a *answers) refused(code string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accuse(code)
}

func (a *answers) accuse(what string) {
	if a.wrong == nil {
		a.wrong = map[string]int{}
	}
	a.wrong[what]++
}

func (a *answers) unanswered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending++
}

// sender sends jobs as a customer's program would: until it is told the outcome.
type sender struct {
	client    *http.Client
	customer  customer
	targets   []string // base URLs
	impatient int      // per cent of the tries on which it hangs up early

	mu   sync.Mutex
	seen map[string]int // how often each answer came
}

func newSender(c customer, victims []*victim) *sender {
	s := &sender{
		customer: c, seen: map[string]int{},
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
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

func (s *sender) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[what]
}

// What a sender waits before it tries again. A customer would wait the second
// or more that Retry-After says; these are shorter, so that tries fall into every
// phase of a server's life and of a lease. A bulk takes so long that more tries
// would only keep the processors busy.
const (
	singlePause = 8 * time.Millisecond
	bulkPause   = 80 * time.Millisecond
)

// send repeats the job, to any of the servers, until it is answered.
func (s *sender) send(ctx context.Context, j *job) {
	pause := singlePause
	if j.isBulk() {
		pause = bulkPause
	}
	for ctx.Err() == nil {
		if s.try(ctx, j, s.targets[rand.IntN(len(s.targets))]) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
	j.told.unanswered()
}

// try sends the job once and tells whether that ends it.
func (s *sender) try(ctx context.Context, j *job, target string) (done bool) {
	if rand.IntN(100) < s.impatient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rand.N(time.Second))
		defer cancel()
	}
	reply, err := s.post(ctx, j, target)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.note("hung up")
	case err != nil:
		s.note("connection errors")
	default:
		return s.judge(j, reply)
	}
	return false
}

// judge notes the reply and tells whether it ends the send.
func (s *sender) judge(j *job, r reply) (done bool) {
	switch {
	case r.status == j.status():
		s.note(strconv.Itoa(r.status))
		if r.replayed {
			s.note("replays")
		}
		j.answered(r.body)
		return true
	case r.mayBeRepeated():
		s.note(r.String())
		if r.status < 500 && (r.retryAfter < 1 || r.retryAfter > longestRetryAfter) {
			j.told.refused(fmt.Sprintf("%s with Retry-After %d", r, r.retryAfter))
		}
		return false
	}
	j.told.refused(r.String())
	return true
}

// longestRetryAfter is what a lease can have left, in whole seconds, on
// clocks that round.
const longestRetryAfter = 2

// replay sends a job again that was answered long ago.
func (s *sender) replay(ctx context.Context, j *job, target string) {
	r, err := s.post(ctx, j, target)
	for ; err == nil && r.status == http.StatusTooManyRequests && r.mayBeRepeated(); r, err = s.post(ctx, j, target) {
		time.Sleep(singlePause) // others are replayed at the same time
	}
	switch {
	case err != nil:
		j.told.refused("replay: " + err.Error())
	case r.status != j.status() || !r.replayed:
		j.told.refused(fmt.Sprintf("replay: %s, replayed %t", r, r.replayed))
	default:
		j.answered(r.body)
	}
}

// reply is one answer of a server.
type reply struct {
	status     int
	replayed   bool
	retryAfter int // seconds; 0: none
	body       []byte
	code       string // of an error
	scope      string // of a limit
}

func (r reply) String() string { return strings.TrimSpace(fmt.Sprintf("%d %s", r.status, r.code)) }

// mayBeRepeated is what the contract says to send again, body and key unchanged.
func (r reply) mayBeRepeated() bool {
	return r.status >= 500 ||
		r.status == http.StatusConflict && r.code == "IDEMPOTENCY_IN_PROGRESS" ||
		r.status == http.StatusTooManyRequests && r.scope == "concurrency"
}

func (s *sender) post(ctx context.Context, j *job, target string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target+j.path, bytes.NewReader(j.body))
	if err != nil {
		return reply{}, err
	}
	// net/http would repeat by itself what it takes for safe; every try is to be ours.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header["Idempotency-Key"] = []string{j.key}
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
	if wait := res.Header.Get("Retry-After"); wait != "" {
		if r.retryAfter, err = strconv.Atoi(wait); err != nil {
			return reply{}, err
		}
	}
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
