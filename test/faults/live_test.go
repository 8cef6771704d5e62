package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// felt is how long after the kill of a part the first order that was given then
// was booked, delivered, told of by webhooks and shown by the stream to its end;
// and how long any that was on its way took from the first question to there.
type felt struct {
	kills                          int
	booked, delivered, told, shown time.Duration
	slowest                        time.Duration
}

func (f *felt) add(killed time.Time, j *journey) {
	f.kills++
	f.booked = max(f.booked, j.booked.Sub(killed))
	f.delivered = max(f.delivered, j.delivered.Sub(killed))
	f.told = max(f.told, j.told.Sub(killed))
	f.shown = max(f.shown, j.shown.Sub(killed))
}

// TestLiveDeliveriesSurviveTheDeathOfEveryPart kills each part at some moment of
// some deliveries' way, orders while it is down, and starts it again.
func TestLiveDeliveriesSurviveTheDeathOfEveryPart(t *testing.T) {
	alongside(t)
	c := newCompany(t)
	times, crowd, down := 1, 2, 500*time.Millisecond
	if full() {
		times, crowd, down = 10, 5, 2*time.Second
	}
	begun := time.Now()
	for _, p := range c.parts {
		var f felt
		answers := map[string]int{}
		for range times {
			known := len(c.carried)
			killed, first := c.strike(t, p, crowd, down)
			for what, n := range c.answers(p.may) {
				answers[what] += n
			}
			if t.Failed() {
				c.audit(t)
				t.Fatalf("%s was killed; answers: %s", p.name, counts(answers))
			}
			f.add(killed, first)
			for _, j := range c.carried[known:] {
				f.slowest = max(f.slowest, j.shown.Sub(j.ordered))
			}
		}
		t.Logf("%-8s killed %d times; an order given then was booked within %.2f s, delivered %.2f, told %.2f, shown %.2f; the slowest of all "+
			"took %.2f; %s",
			p.name, f.kills, f.booked.Seconds(), f.delivered.Seconds(), f.told.Seconds(), f.shown.Seconds(), f.slowest.Seconds(), counts(answers))
	}
	c.audit(t)
	streams := 0
	for _, j := range c.carried {
		streams += j.recipient.opened
	}
	t.Logf("%d deliveries, %d kills in %.1f s; %d webhooks came %d times; %d streams", len(c.carried), times*len(c.parts),
		time.Since(begun).Seconds(), len(c.hooks.parcels), c.hooks.arrivals, streams)
	for what, n := range c.hooks.strange {
		t.Errorf("%d webhooks: %s", n, what)
	}
}

// strike kills a part while deliveries are on their way, and starts it again.
// It returns when all of these are delivered, with the first that was ordered
// after the kill.
func (c *company) strike(t *testing.T, p *part, crowd int, down time.Duration) (killed time.Time, first *journey) {
	t.Helper()
	var carried sync.WaitGroup
	carry := func(after time.Duration) *journey {
		j := c.newJourney()
		carried.Go(func() {
			time.Sleep(after)
			defer j.ended.Store(true)
			if err := j.run(t.Context()); err != nil {
				t.Errorf("%s was killed: delivery %d, %s: %v", p.name, j.number, j.id, err)
			}
		})
		return j
	}
	struck := carry(0)
	for range crowd - 1 {
		carry(rand.N(400 * time.Millisecond)) // customers come when they like
	}
	point := int64(p.from + rand.IntN(len(way)-p.from))
	until(t, "a delivery is on its way", 2*patience, func() bool { return struck.reached.Load() >= point || struck.ended.Load() })
	time.Sleep(rand.N(longestPause)) // and on to the next point, or not
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	killed, first = time.Now(), carry(0)
	time.Sleep(p.down + rand.N(down)) // until it is started again
	if err := p.start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	carried.Wait()
	return killed, first
}
