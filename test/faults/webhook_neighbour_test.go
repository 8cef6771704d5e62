package faults

import (
	"slices"
	"testing"
	"time"

	"waybill/test/redis"
)

// TestHungReceiversHoldUpNoOther measures how late webhooks come to healthy
// receivers beside others that accept connections and never answer.
func TestHungReceiversHoldUpNoOther(t *testing.T) {
	alongside(t)
	const healthy = 9
	p := newPost(t, setting{dialect: Postgres, redis: redis.Own(t).URL, servers: 1, workers: 1, apps: healthy + 1})
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
		if most := 5*calm + time.Second; p95 > most {
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

// TestTheOnlyWorkerDiesWithABacklog measures how long it takes from then until
// the last event has come.
func TestTheOnlyWorkerDiesWithABacklog(t *testing.T) {
	alongside(t)
	p := newPost(t, setting{dialect: Postgres, redis: redis.Own(t).URL, servers: 1, workers: 1, apps: 5})
	for _, app := range p.apps {
		p.receive(t, app, thinks(50*time.Millisecond))
	}
	events := 400
	if full() {
		events = 4_000
	}
	p.lives[0].kill()
	p.write(t.Context(), 8, 0, func() bool { return int(p.written.Load()) >= events }).Wait()
	p.revive(t, 0)
	arrived := func() (n int) {
		for _, r := range p.receivers {
			n += r.taken()
		}
		return n
	}
	until(t, "some have arrived", time.Minute, func() bool { return arrived() >= events/4 })
	waiting := p.pending(t)
	killed := time.Now()
	p.strikeWorker(t, 0)
	up := time.Since(killed)
	p.drain(t, time.Minute)
	l := p.audit(t)
	last := killed
	for _, r := range p.receivers {
		for _, parcel := range r.parcels {
			if came := parcel.arrivals[0].came; came.After(last) {
				last = came
			}
		}
	}
	t.Logf("killed while %d webhooks were waiting, up again after %.1f s, and the last event came %.1f s after the death: %s", waiting,
		up.Seconds(), last.Sub(killed).Seconds(), l)
	if !l.sound() || waiting == 0 {
		t.Error("want all of them, and nothing twice but for the death")
	}
	if took := last.Sub(killed); took > 30*time.Second {
		t.Errorf("the last event came %s after the death", took)
	}
}

// TestAReceiverThatIsGoneGetsNothingMore has one answer 410 under load.
func TestAReceiverThatIsGoneGetsNothingMore(t *testing.T) {
	alongside(t)
	p := newPost(t, setting{dialect: Postgres, redis: redis.Own(t).URL, servers: 1, workers: 2, apps: 1})
	well, leaving := p.receive(t, p.apps[0], takes), p.receive(t, p.apps[0], takes)
	clients := p.write(t.Context(), 4, 0, func() bool { return p.written.Load() >= 200 })
	until(t, "some have arrived", time.Minute, func() bool { return leaving.taken() >= 50 })
	leaving.plays(gone)
	clients.Wait()
	took := p.drain(t, time.Minute)
	arrived := func() int {
		leaving.mu.Lock()
		defer leaving.mu.Unlock()
		return leaving.arrivals - len(leaving.parcels)
	}
	if well.taken() != p.count(t, p.apps[0]) || p.pending(t) != 0 {
		t.Errorf("after %s the other has %d webhooks of %d events, and %d are pending", took, well.taken(), p.count(t, p.apps[0]), p.pending(t))
	}
	if n := arrived(); n != 0 {
		t.Errorf("%d came again to the one that is gone", n)
	}
}
