package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

// branches are what some world has to come to. The names are used where a
// branch is recognized, from outside: by answers, codes, states, and by what
// the ports answered.
var branches = []string{
	"a delivery was booked", "an answer was replayed", "an answer was replayed by another process",
	"a commit lost its answer and found itself", "a commit was lost and done again", "no commit ever got an answer",
	"a race was lost and replayed", "a race was lost and a conflict", "a key was under way",
	"a key was used for something else", "a key was free again for its age",
	"an external_id was taken", "an external_id was taken in the commit",
	"the directory changed under a booking", "a reference was drawn twice",
	"a price could not be had", "a custom quote was booked", "an unusable pickup location",
	"a scenario did not fit", "no more simulations than may run", "the limit was met in the commit",
	"a bulk was booked whole", "a bulk was booked in part", "a bulk was refused as a whole",
	"a bulk was resumed", "a bulk was resumed by another process", "a bulk was resumed that its owner still worked on",
	"a bulk lost its lease",
	"an item was recorded already", "a bulk was under way", "a bulk yielded to a process that stops", "the prices of a bulk were given up",
	"a bulk gave a sign of life", "items of a bulk were booked together",
	"a process died with requests under way", "a process died behind a commit", "a booking was found by the repetition",
	"a step was done", "a step was notified and not due any more", "an early notification waited", "a notification came far too early",
	"a step was late",
	"a step met a simulation at rest", "a notification was lost", "a step was notified again", "a commit of a step lost its answer",
	"a stop met a step", "a stop came first", "a step came before its stop", "a cancel met a step",
	"a simulation was stopped", "a simulation was started", "a simulation was started again", "a simulation was completed",
	"a simulation refused a start", "a simulation refused a helper",
	"a delivery was cancelled", "a delivery was cancelled twice", "a cancel came too late", "a cancel stopped a simulation",
	"a retried delivery could not be cancelled",
	"a failed delivery was cancelled", "a failed delivery that was picked up could not be cancelled",
	"a helper moved a delivery", "a helper was refused", "a delivery was retried",
	"a foreign delivery", "a forced error", "a rate limit", "the limiter failed", "storage failed",
	"a list over many pages", "a list beside a booking", "days passed", "a clock was set back", "expired keys were purged",
}

func (w *world) recognizeSuccess(t *task, a answer, replayed bool) {
	r, u := t.request, t.request.use
	if r.form.bulk {
		w.reach(map[int]string{201: "a bulk was booked whole", 207: "a bulk was booked in part"}[a.status])
		if t.noted("items found") && t.noted("claim kept") {
			w.reach("a bulk was resumed")
			if len(u.onEveryP) > 1 {
				w.reach("a bulk was resumed by another process")
			}
		}
	} else if !replayed {
		w.reach("a delivery was booked")
	}
	if replayed {
		w.reach("an answer was replayed")
		if u.told != nil && u.told.p.n != t.p.n {
			w.reach("an answer was replayed by another process")
		}
		if t.noted("key taken") {
			w.reach("a race was lost and replayed")
		}
		if u.told != nil && u.told.turn == w.turn && r.form.maybe && len(r.form.marks) == 1 && u.open == 0 {
			w.reach("a booking was found by the repetition")
		}
	}
	if u.lives > 0 && !replayed {
		w.reach("a key was free again for its age")
	}
	if strings.Contains(a.body, `"requires_custom_quote":true`) {
		w.reach("a custom quote was booked")
	}
	for fact, branch := range map[string]string{
		"directory changed": "the directory changed under a booking", "reference taken": "a reference was drawn twice",
		"commit lost": "a commit was lost and done again",
		"item done":   "an item was recorded already",
	} {
		if t.noted(fact) {
			w.reach(branch)
		}
	}
	if t.noted("answer lost") && !replayed {
		w.reach("a commit lost its answer and found itself")
	}
}

// recognizeRefusal also knows which refusals there may be.
func (w *world) recognizeRefusal(t *task, code string, a answer) {
	forBulk := t.request.form != nil && t.request.form.bulk
	switch code {
	case domain.CodeIdempotencyConflict:
		w.reach("a key was used for something else")
		if t.noted("key taken") {
			w.reach("a race was lost and a conflict")
		}
	case domain.CodeIdempotencyInProgress:
		w.recognizeWait(t, forBulk)
	case domain.CodeExternalIDConflict:
		w.reach("an external_id was taken")
		if t.noted("external_id taken") {
			w.reach("an external_id was taken in the commit")
		}
	case domain.CodePickupLocationInactive, domain.CodePickupLocationIncomplete:
		w.reach("an unusable pickup location")
	case domain.CodeSimulationNotApplicable:
		w.reach("a scenario did not fit")
		if t.request.form == nil {
			w.reach("a simulation refused a start")
		}
	case domain.CodeSimulationLimit:
		w.reach("no more simulations than may run")
		if t.noted("limit in the commit") {
			w.reach("the limit was met in the commit")
		}
	case domain.CodeQuoteUnavailable:
		w.reach("a price could not be had")
	case domain.CodeBulkValidationFailed:
		w.reach("a bulk was refused as a whole")
	case domain.CodeRateLimitExceeded:
		w.reach("a rate limit")
	case domain.CodeSimulationRunning:
		w.reach("a simulation refused a helper")
	case domain.CodeSandboxTransitionInvalid:
		w.reach("a helper was refused")
	case domain.CodeDeliveryNotCancellable:
		w.reach("a cancel came too late")
		if strings.Contains(a.body, `"status":"assigned"`) { // so it was picked up before
			w.reach("a retried delivery could not be cancelled")
		}
		if strings.Contains(a.body, `"status":"failed"`) {
			w.reach("a failed delivery that was picked up could not be cancelled")
		}
	case domain.CodeInternal, domain.CodeServiceUnavailable:
		w.reach("storage failed")
		if t.noted("limiter failed") {
			w.reach("the limiter failed")
		}
		if t.deaf {
			w.reach("no commit ever got an answer")
		}
	default:
		w.breach("#%d: answered %d %s", t.n, a.status, a.body)
	}
}

func (w *world) recognizeWait(t *task, forBulk bool) {
	switch {
	case t.noted("lease lost"):
		w.reach("a bulk lost its lease")
	case forBulk && t.p.bulkStopped:
		w.reach("a bulk yielded to a process that stops")
	case forBulk:
		w.reach("a bulk was under way")
	default:
		w.reach("a key was under way")
	}
}

// recognizeChange sees what became of a delivery that was told to change.
func (w *world) recognizeChange(t *task, p *parcel, was, v *deliveryView) {
	path := t.request.path
	switch {
	case strings.HasSuffix(path, "/cancel"):
		w.reach("a delivery was cancelled")
		switch was.Status {
		case domain.Cancelled:
			w.reach("a delivery was cancelled twice")
		case domain.Failed:
			w.reach("a failed delivery was cancelled")
		}
		if was.running() && v.Simulation.Status == "stopped" {
			w.reach("a cancel stopped a simulation")
		}
	case strings.HasSuffix(path, "/transition"):
		w.reach("a helper moved a delivery")
		if was.Status == domain.Failed && v.Status == domain.Assigned {
			w.reach("a delivery was retried")
		}
	case t.request.method == "DELETE":
		if v.running() {
			w.breach("#%d: a simulation runs that was stopped", t.n)
		}
		if v.Simulation.Status == "stopped" {
			w.reach("a simulation was stopped")
			p.stopped = &stop{v.Simulation.Step, w.turn, p.starts}
		}
	default:
		if v.running() {
			w.reach("a simulation was started")
			if was.Simulation != nil && was.Simulation.Status == "stopped" {
				w.reach("a simulation was started again")
			}
		}
	}
}

// recognizeStep sees what a notification came to.
func (w *world) recognizeStep(t *task, delivery string) {
	took := time.Since(t.began)
	switch {
	case t.lost || t.faults > 0:
		if t.noted("answer lost") {
			w.reach("a commit of a step lost its answer")
		}
		return
	case t.noted("updated"):
		w.reach("a step was done")
		if took > time.Millisecond && took <= 2*time.Second {
			w.reach("an early notification waited")
		}
	case t.noted("at rest"):
		w.reach("a step met a simulation at rest")
	case t.noted("far ahead"):
		w.reach("a notification came far too early")
	default:
		w.reach("a step was notified and not due any more")
	}
	for _, o := range w.open {
		if o == t || o.request == nil || o.request.parcel == nil || o.request.parcel.id != delivery {
			continue
		}
		switch {
		case o.request.method == "DELETE":
			w.reach("a stop met a step")
			w.reach(map[bool]string{true: "a step came before its stop", false: "a stop came first"}[t.noted("updated")])
		case strings.HasSuffix(o.request.path, "/cancel"):
			w.reach("a cancel met a step")
		}
	}
}

// unreached are the branches that no world reached.
func unreached(counts map[string]int) []string {
	var missing []string
	for _, b := range branches {
		if counts[b] == 0 {
			missing = append(missing, b)
		}
	}
	return missing
}

// table shows how often each branch was reached.
func table(counts map[string]int) string {
	var text strings.Builder
	for _, b := range branches {
		fmt.Fprintf(&text, "%9d  %s\n", counts[b], b)
	}
	return text.String()
}

// A branch that is recognized and not listed would never be missed.
func TestBranchesAreListedOnce(t *testing.T) {
	t.Parallel()
	sorted := slices.Sorted(slices.Values(branches))
	if unique := slices.Compact(slices.Clone(sorted)); len(unique) != len(sorted) {
		t.Errorf("%d branches, %d names", len(sorted), len(unique))
	}
}
