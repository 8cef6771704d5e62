package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"
)

const (
	// unstored is how long after its answer a webhook may not be stored yet, on a
	// machine that has other things to do.
	unstored = 5 * time.Second
	// sentAtOnce is how many are on their way to one endpoint, and mostUnstored how
	// many have been sent and not stored: what one death may double.
	sentAtOnce   = 16
	mostUnstored = 128
)

// ledger is what the webhooks of a post came to.
type ledger struct {
	events   int // of deliveries, in the database
	webhooks int // that there have to be
	arrivals int
	strikes  int
	// most is what deaths may double, if each endpoint has as many on their way and
	// as many answered that wait for its turn at the storage.
	most int

	lost        int            // webhooks that no receiver accepted
	untold      int            // acknowledged deliveries of which no receiver heard
	foreign     int            // webhooks of events that are not there, or of others
	differing   int            // arrivals with another body than the event's
	gaps        int            // deliveries of which a receiver lacks a sequence
	disorder    int            // events that a receiver without fault got too early
	doubled     int            // arrivals after one that was accepted
	unexplained int            // of these, those that no death explains
	mostDoubled int            // of one endpoint by one death
	miscounted  int            // attempts without their number
	strange     map[string]int // what a receiver would refuse
	unsettled   map[string]int // webhooks by status, but for those that succeeded
	late        []time.Duration
	breaches    []Breach
}

func (l *ledger) sound() bool {
	return l.lost == 0 && l.untold == 0 && l.foreign == 0 && l.differing == 0 && l.gaps == 0 && l.disorder == 0 && l.unexplained == 0 &&
		l.miscounted == 0 && l.doubled <= l.most && l.mostDoubled <= mostUnstored && len(l.strange) == 0 && len(l.unsettled) == 0 &&
		len(l.breaches) == 0
}

func (l *ledger) String() string {
	perStrike := 0.0
	if l.strikes > 0 {
		perStrike = float64(l.doubled) / float64(l.strikes)
	}
	return fmt.Sprintf("%d events, %d webhooks, %d arrivals, %d deaths: %d lost, %d acknowledged and not told, %d foreign, %d with another "+
		"body, %d with gaps, %d out of order, "+
		"%d doubled (%.1f for each death, at most %d to one endpoint, %d without one), %d miscounted, strange: %s; not succeeded: %s; %d rules "+
		"broken %v",
		l.events, l.webhooks, l.arrivals, l.strikes, l.lost, l.untold, l.foreign, l.differing, l.gaps, l.disorder,
		l.doubled, perStrike, l.mostDoubled, l.unexplained, l.miscounted, counts(l.strange), counts(l.unsettled), len(l.breaches), l.breaches)
}

// published is an event as it is stored.
type published struct {
	id, delivery string
	sequence     int
	body         [sha256.Size]byte
}

// published reads the events of each application, 32 hex characters.
func (p *post) published(t *testing.T) map[string][]published {
	t.Helper()
	rows, err := p.db.QueryContext(context.WithoutCancel(t.Context()),
		"SELECT CAST(application_id AS text), CAST(id AS text), CAST(delivery_id AS text), sequence, payload"+
			" FROM feed_events WHERE delivery_id IS NOT NULL ORDER BY position, sequence, id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string][]published{}
	for rows.Next() {
		var app string
		var e published
		var payload []byte
		if err := rows.Scan(&app, &e.id, &e.delivery, &e.sequence, &payload); err != nil {
			t.Fatal(err)
		}
		app, e.id, e.delivery, e.body = hexOfRow(app), hexOfRow(e.id), hexOfRow(e.delivery), sha256.Sum256(payload)
		found[app] = append(found[app], e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// audit compares what came with what is stored, and looks at all rules. All has to be over.
func (p *post) audit(t *testing.T) *ledger {
	t.Helper()
	l := p.tally(t)
	l.breaches = check(t, p.db, p.dialect)
	return l
}

// tally compares what came with what is stored.
func (p *post) tally(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{strikes: len(p.strikes), most: len(p.strikes) * len(p.receivers) * 2 * sentAtOnce, strange: map[string]int{},
		unsettled: map[string]int{}}
	stored := p.published(t)
	for _, events := range stored {
		l.events += len(events)
	}
	told := map[string]bool{}
	for _, r := range p.receivers {
		l.compare(r, stored[hexOf(r.app.customer.AppID)], p.strikes, told)
	}
	p.told.Range(func(id, _ any) bool {
		if !told[id.(string)] {
			l.untold++
		}
		return true
	})
	slices.Sort(l.late)
	l.statuses(t, p)
	return l
}

func (l *ledger) compare(r *receiver, events []published, strikes []strike, told map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.webhooks += len(events)
	l.arrivals += r.arrivals
	for what, n := range r.strange {
		l.strange[what] += n
	}
	byStrike := map[int]int{}
	missing := map[string]bool{} // deliveries
	came := map[string]time.Time{}
	known := 0
	for _, e := range events { // of one delivery by sequence
		parcel := r.parcels["evt_"+e.id]
		if parcel == nil || !parcel.accepted() {
			l.lost++
			missing[e.delivery] = true
		}
		if parcel == nil {
			continue
		}
		known++
		if parcel.delivery != e.delivery || parcel.sequence != e.sequence {
			l.strange["another sequence or delivery than the event's"]++
		}
		told[e.delivery] = true
		if l.differing += parcel.differ; !bytes.Equal(parcel.body[:], e.body[:]) {
			l.differing++
		}
		first := parcel.arrivals[0].came
		if !r.unwell.Load() && first.Before(came[e.delivery]) {
			l.disorder++
		}
		came[e.delivery] = first
		l.late = append(l.late, first.Sub(parcel.happened))
		l.repeats(parcel.arrivals, strikes, byStrike)
	}
	l.gaps += len(missing)
	l.foreign += len(r.parcels) - known
	for _, n := range byStrike {
		l.mostDoubled = max(l.mostDoubled, n)
	}
}

// repeats looks at each arrival and the one before it.
func (l *ledger) repeats(arrivals []arrival, strikes []strike, byStrike map[int]int) {
	for i := 1; i < len(arrivals); i++ {
		before, again := arrivals[i-1], arrivals[i]
		// The first that came after it is the one that kept it from being stored.
		cause := slices.IndexFunc(strikes, func(s strike) bool { return s.to.After(before.came) && s.from.Before(again.came) })
		if cause >= 0 && before.status != 0 && strikes[cause].from.Sub(before.answered) > unstored {
			cause = -1
		}
		if again.attempt != before.attempt+1 && (cause < 0 || again.attempt != before.attempt) {
			l.miscounted++
		}
		if !before.accepted() {
			continue
		}
		l.doubled++
		if cause < 0 {
			l.unexplained++
			continue
		}
		byStrike[cause]++
	}
}

func (l *ledger) statuses(t *testing.T, p *post) {
	t.Helper()
	rows, err := p.db.QueryContext(context.WithoutCancel(t.Context()),
		"SELECT status, count(*) FROM webhook_deliveries WHERE status <> 'succeeded' GROUP BY status")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var status string
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			t.Fatal(err)
		}
		l.unsettled[status] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// quantile is within how long so many per mille of the webhooks came first.
func (l *ledger) quantile(perMille int) time.Duration { return quantileOf(l.late, perMille) }

// quantileOf is the value in a sorted list that so many per mille do not exceed.
func quantileOf(sorted []time.Duration, perMille int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*perMille/1000, len(sorted)-1)]
}
