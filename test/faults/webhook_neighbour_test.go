package faults

import (
	"slices"
	"testing"
	"time"

	"waybill/test/backend"
)

// TestHungReceiversHoldUpNoOther measures how late webhooks come to healthy
// receivers beside others that accept connections and never answer.
func TestHungReceiversHoldUpNoOther(t *testing.T) {
	alongside(t)
	const healthy = 9
	p := newPost(t, setting{dialect: Postgres, redis: backend.OwnRedis(t).URL, servers: 1, workers: 1, apps: healthy + 1})
	for _, app := range p.apps {
		p.receive(t, app, takes)
	}
	lasts := 2500 * time.Millisecond
	if full() {
		lasts = 30 * time.Second
	}
	phase := func(name string) time.Duration {
		begun := time.Now()
		p.write(t.Context(), 2, 50*time.Millisecond, func() bool { return time.Since(begun) > lasts }).Wait()
		until(t, "the healthy ones have it all", time.Minute, func() bool { return p.caughtUp(t, p.receivers[:healthy]) })
		late := latenessSince(p.receivers[:healthy], begun)
		t.Logf("%s: %d webhooks to %d healthy receivers: half within %.1f ms of the event, 95 of 100 within %.1f ms, all within %.1f ms",
			name, len(late), healthy, ms(quantileOf(late, 500)), ms(quantileOf(late, 950)), ms(quantileOf(late, 1000)))
		return quantileOf(late, 950)
	}
	phase("warming up")
	calm := phase("all ten are well")
	p.receivers[healthy].plays(hangs)
	one := phase("one of ten hangs")
	for n := range 50 {
		p.receive(t, p.apps[n%5], hangs).unwell.Store(true)
	}
	fifty := phase("fifty hang besides")
	if full() {
		fifty = max(fifty, phase("and their circuits are open"))
	}
	// A machine that is busy with other tests is late by itself.
	for name, p95 := range map[string]time.Duration{"one": one, "fifty": fifty} {
		if most := 5*calm + 10*time.Second; p95 > most {
			t.Errorf("with %s of them hung 95 of 100 came within %s, want %s", name, p95, most)
		}
	}
}

// caughtUp reports whether nothing is pending for any of them.
func (p *post) caughtUp(t *testing.T, of []*receiver) bool {
	t.Helper()
	for _, r := range of {
		var n int
		err := p.db.QueryRowContext(t.Context(),
			"SELECT count(*) FROM webhook_deliveries WHERE status = 'pending' AND replace(CAST(endpoint_id AS text), '-', '') = $1",
			hexOf(r.endpoint)).Scan(&n)
		if err != nil || n > 0 {
			return false
		}
	}
	return true
}

// latenessSince is how long after their events webhooks came first, in order.
func latenessSince(of []*receiver, begun time.Time) (late []time.Duration) {
	for _, r := range of {
		r.mu.Lock()
		for _, parcel := range r.parcels {
			if !parcel.happened.Before(begun) {
				late = append(late, parcel.arrivals[0].came.Sub(parcel.happened))
			}
		}
		r.mu.Unlock()
	}
	slices.Sort(late)
	return late
}
