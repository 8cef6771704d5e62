package asynqqueue

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAKindAsksLessOftenOnceItGotNothingForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every = 40 * time.Millisecond
		p := &patient{every: every, stop: make(chan struct{}), wakeUps: &wakeUps{}}
		rested := func(got bool) time.Duration {
			asked := time.Now()
			p.slowDown(got)
			return time.Since(asked)
		}
		if r := rested(false); r != every-eagerEvery {
			t.Errorf("a server that never got anything pauses for %v", r)
		}
		if r := rested(true); r != 0 {
			t.Errorf("a server that got a task pauses for %v", r)
		}
		<-time.After(eagerFor)
		if r := rested(false); r != 0 {
			t.Errorf("a server that got a task lately pauses for %v", r)
		}
		<-time.After(eagerEvery)
		if r := rested(false); r != every-eagerEvery {
			t.Errorf("a server that got nothing for a while pauses for %v", r)
		}
	})
}

func TestAServerThatGotATaskLatelyAsksLessOftenBesideOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &patient{every: time.Second, stop: make(chan struct{}), wakeUps: &wakeUps{}}
		for others, want := range map[int64]time.Duration{0: 0, 3: 3 * eagerEvery, 1000: mostOthers * eagerEvery} {
			p.wakeUps.others.Store(others)
			p.slowDown(true)
			asked := time.Now()
			if p.slowDown(false); time.Since(asked) != want {
				t.Errorf("beside %d others it waits for %v, want %v", others, time.Since(asked), want)
			}
		}
	})
}

func TestAServerThatPausesEndsAtOnce(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	close(stop)
	began := time.Now()
	(&patient{stop: stop}).pause(time.Hour)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
