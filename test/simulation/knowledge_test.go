package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

// knowledge is what a client remembers of what it sent and was told.
type knowledge struct {
	uses      []*keyUse
	parcels   []*parcel
	byID      map[string]*parcel
	externals map[string][]*form // the requests for an external_id
}

func newKnowledge() knowledge {
	return knowledge{byID: map[string]*parcel{}, externals: map[string][]*form{}}
}

// request is what a client sends.
type request struct {
	from               *client
	method, path, body string
	key, force, etag   string
	use                *keyUse // nil without a key
	form               *form
	parcel             *parcel // in the path
}

func (r *request) String() string {
	s := fmt.Sprintf("client %d %s %s", r.from.n, r.method, r.path)
	for _, more := range []struct{ name, value string }{{"key", r.key}, {"forced", r.force}, {"body", r.body}} {
		if more.value != "" {
			s += " " + more.name + " " + more.value
		}
	}
	return s
}

// keyUse is an Idempotency-Key and what it was sent with.
type keyUse struct {
	key       string
	forms     []*form
	open      int
	firstSent time.Time
	lastEnd   time.Time
	lives     int   // how often the key was free again for its age
	told      *told // the answer in this life
	loose     bool  // it may have expired at any moment: nothing is known for sure
}

// form is one body under a key.
type form struct {
	path, body string
	marks      []string // one for each delivery that is asked for
	externals  []string
	bulk       bool
	maybe      bool // an attempt with it got no answer that says that nothing was made
	refused    map[string]bool
}

type told struct {
	form   *form
	answer answer
	turn   int
}

// answer is what a client can see of one.
type answer struct {
	status         int
	body, location string
}

// parcel is a delivery as its client knows it.
type parcel struct {
	id, fixed string
	view      deliveryView // as it was told last
	turn      int          // when that was
	timeline  []string
	told      int // when the timeline was
	stopped   *stop
	starts    int // that were sent, and that have ended
}

type stop struct {
	step, turn, starts int
}

type deliveryView struct {
	ID         string
	Status     domain.Status
	CreatedAt  string `json:"created_at"`
	UpdatedAt  string `json:"updated_at"`
	Simulation *struct {
		Scenario   string
		Status     string
		Step       int
		NextStepAt *time.Time `json:"next_step_at"`
	}
}

func (v *deliveryView) running() bool { return v.Simulation != nil && v.Simulation.Status == "running" }

func (v *deliveryView) over() bool {
	return v.Status == domain.Delivered || v.Status == domain.Cancelled
}

// sent notes that a request with the key is under way.
func (u *keyUse) sent(t *task) {
	now := time.Now()
	if !u.firstSent.IsZero() && now.Sub(u.firstSent) >= retention {
		if u.open == 0 && now.Sub(u.lastEnd) >= retention {
			u.lives, u.told, u.firstSent = u.lives+1, nil, now
		} else {
			u.loose = true
		}
	}
	if u.firstSent.IsZero() {
		u.firstSent = now
	}
	u.open++
}

// hear judges an answer to a request with a key.
func (w *world) hear(t *task) {
	r, u := t.request, t.request.use
	u.open--
	u.lastEnd = time.Now()
	if time.Since(u.firstSent) >= retention {
		u.loose = true
	}
	if t.lost {
		r.form.maybe = true
		w.say("#%d is never answered", t.n)
		return
	}
	a := w.answerOf(t)
	code := codeOf(a)
	before := u.told
	if before != nil && before.turn > t.turn {
		before = nil // they were under way together
	}
	switch {
	case a.status < 300:
		w.hearSuccess(t, a)
		return
	case r.force != "" && code == r.force:
		return
	case code == domain.CodeRateLimitExceeded:
	case u.loose:
	case before != nil && before.form == r.form && !storageFailed(code):
		w.breach("#%d: key %s was answered %d, and the same request gets %s", t.n, u.key, before.answer.status, code)
	case code == domain.CodeIdempotencyConflict && len(u.forms) == 1:
		w.breach("#%d: a conflict, and nothing else was ever sent under key %s", t.n, u.key)
	case code == domain.CodeExternalIDConflict && !w.sentElsewhere(r):
		w.breach("#%d: told of a conflict with its own delivery", t.n)
	}
	switch {
	case storageFailed(code):
		r.form.maybe = true
	case code == domain.CodeIdempotencyInProgress:
		r.form.maybe = r.form.maybe || r.form.bulk || t.faults > 0
	}
	if !slices.Contains(refusals, code) {
		w.breach("#%d: answered %d %s", t.n, a.status, a.body)
	}
}

// refusals are all that a request with a key may be told.
var refusals = []string{
	domain.CodeIdempotencyConflict, domain.CodeIdempotencyInProgress, domain.CodeExternalIDConflict, domain.CodePickupLocationInactive,
	domain.CodePickupLocationIncomplete, domain.CodeSimulationNotApplicable, domain.CodeSimulationLimit, domain.CodeQuoteUnavailable,
	domain.CodeBulkValidationFailed, domain.CodeRateLimitExceeded, domain.CodeInternal, domain.CodeServiceUnavailable,
}

// sentElsewhere reports whether another request asked for one of the external_ids.
func (w *world) sentElsewhere(r *request) bool {
	for _, id := range r.form.externals {
		if slices.ContainsFunc(r.from.externals[id], func(f *form) bool { return f != r.form }) || r.use.lives > 0 {
			return true
		}
	}
	return false
}

func (w *world) hearSuccess(t *task, a answer) {
	r, u := t.request, t.request.use
	replayed := t.answer.Header().Get("Idempotent-Replayed") == "true"
	switch {
	case u.loose:
	case u.told == nil:
		u.told = &told{r.form, a, w.turn}
	case u.told.form != r.form:
		w.breach("#%d: key %s was answered for another request", t.n, u.key)
	case u.told.answer != a:
		w.breach("#%d: key %s was answered\n%+v\nand now\n%+v", t.n, u.key, u.told.answer, a)
	case u.told.turn < t.turn && !replayed:
		w.breach("#%d: key %s was answered before, and this answer is no replay", t.n, u.key)
	}
	r.form.maybe = true
	if r.form.bulk {
		w.hearBulk(t, a, replayed)
		return
	}
	if data, ok := dataOf[json.RawMessage](a); ok && strings.Contains(string(data), `"id":"dlv_`) {
		w.see(t, r.from, data, replayed)
	}
}

func (w *world) hearBulk(t *task, a answer, replayed bool) {
	r := t.request
	data, ok := dataOf[struct {
		Created, Failed int
		Results         []struct {
			Index    int
			Status   string
			Delivery json.RawMessage
			Error    *struct{ Code string }
		}
	}](a)
	if !ok || len(data.Results) != len(r.form.marks) {
		w.breach("#%d: a bulk of %d items has the answer %s", t.n, len(r.form.marks), a.body)
		return
	}
	created := 0
	for i, result := range data.Results {
		if result.Index != i {
			w.breach("#%d: entry %d of a bulk has index %d", t.n, i, result.Index)
		}
		if result.Status != "created" {
			r.form.refused[r.form.marks[i]] = true
			if result.Error.Code == domain.CodeExternalIDConflict && !r.use.loose && !w.sentElsewhere(r) {
				w.breach("#%d: item %d of a bulk was told of a conflict with its own delivery", t.n, i)
			}
			continue
		}
		created++
		if strings.Contains(string(result.Delivery), fmt.Sprintf("%q", r.form.marks[i])) {
			w.see(t, r.from, result.Delivery, replayed)
		} else {
			w.breach("#%d: entry %d of a bulk is of another item", t.n, i)
		}
	}
	if created != data.Created || len(data.Results)-created != data.Failed || (a.status == http.StatusCreated) != (data.Failed == 0) {
		w.breach("#%d: a bulk counts %d created and %d failed and has %d", t.n, data.Created, data.Failed, created)
	}
}

// see notes what a client was told of a delivery, and whether it fits what it knew.
func (w *world) see(t *task, c *client, raw json.RawMessage, replayed bool) *parcel {
	var v deliveryView
	var all map[string]any
	if json.Unmarshal(raw, &v) != nil || json.Unmarshal(raw, &all) != nil || v.ID == "" {
		w.breach("#%d: no delivery: %s", t.n, raw)
		return nil
	}
	for _, changes := range []string{"status", "updated_at", "simulation"} {
		delete(all, changes)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	p := c.byID[v.ID]
	if p == nil {
		p = &parcel{id: v.ID, fixed: string(text), view: v, turn: w.turn}
		c.byID[v.ID] = p
		c.parcels = append(c.parcels, p)
		return p
	}
	if p.fixed != string(text) {
		w.breach("#%d: delivery %s was\n%s\nand is\n%s", t.n, v.ID, p.fixed, text)
	}
	if replayed || p.turn > t.turn {
		return p // older, or told at the same time
	}
	if v.UpdatedAt < p.view.UpdatedAt || p.view.over() && v.Status != p.view.Status {
		w.breach("#%d: delivery %s was %s at %s and is %s at %s", t.n, v.ID, p.view.Status, p.view.UpdatedAt, v.Status, v.UpdatedAt)
	}
	if s := p.stopped; s != nil && s.turn < t.turn && s.starts == p.starts &&
		(v.Simulation.Status != "stopped" || v.Simulation.Step != s.step) {
		w.breach("#%d: the simulation of %s was stopped at step %d and is %s at %d", t.n, v.ID, s.step, v.Simulation.Status, v.Simulation.Step)
	}
	p.view, p.turn = v, w.turn
	return p
}

// answerOf is the answer of a request, which may fail only where something was
// made to.
func (w *world) answerOf(t *task) answer {
	a := answer{t.answer.Code, t.answer.Body.String(), t.answer.Header().Get("Location")}
	if a.status >= 500 && t.request.force == "" {
		explained := t.faults > 0 || t.noted("limiter failed") || time.Since(t.began) >= 2*time.Second
		if !explained {
			w.breach("#%d: %d without a cause: %s", t.n, a.status, a.body)
		}
	}
	w.say("#%d answers %d replayed %q %s", t.n, a.status, t.answer.Header().Get("Idempotent-Replayed"), a.body)
	return a
}

// storageFailed reports an answer that says nothing of the request.
func storageFailed(code string) bool {
	return code == domain.CodeInternal || code == domain.CodeServiceUnavailable
}

func codeOf(a answer) string {
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal([]byte(a.body), &e)
	return e.Error.Code
}

func dataOf[T any](a answer) (data T, ok bool) {
	var envelope struct{ Data *T }
	if err := json.Unmarshal([]byte(a.body), &envelope); err != nil || envelope.Data == nil {
		return data, false
	}
	return *envelope.Data, true
}
