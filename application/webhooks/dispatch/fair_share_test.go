package dispatch

import (
	"testing"
	"testing/synctest"
	"time"
)

// newShares are drains that share one processor: a turn and four permits.
func newShares(n int) (*fairShare, []*share) {
	f := newFairShare(1, make(chan struct{}))
	shares := make([]*share, n)
	for i := range shares {
		shares[i] = &share{fairShare: f}
	}
	return f, shares
}

func TestTheOnlyBacklogNeedsNoPermitAndOthersShareThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := newShares(3)
		s[0].found(much + 1)
		for range 100 {
			if !s[0].admit() {
				t.Fatal("the only backlog waits")
			}
			s[0].begin()
		}
		s[1].found(much + 1)
		var ends []func()
		for s[0].admit() {
			ends = append(ends, s[0].begin())
		}
		if len(ends) != permitsPerProcessor || s[0].queue() == nil {
			t.Errorf("%d sends beside another backlog, want %d and a wait", len(ends), permitsPerProcessor)
		}
		if !s[2].admit() || s[2].queue() != nil {
			t.Error("a drain without a backlog waits")
		}
		s[2].begin()
		ends[0]()
		if !s[1].admit() {
			t.Error("the permit of a send that has ended is not free")
		}
		time.Sleep(brief)
		synctest.Wait()
		if n := len(f.sendPermits); n != 1 {
			t.Errorf("%d permits are held by sends that wait for their receivers, want the one that is not used", n)
		}
		s[1].leave()
		if n := len(f.sendPermits); n != 0 || f.backlogs.Load() != 1 {
			t.Errorf("%d permits and %d backlogs are left behind", n, f.backlogs.Load()-1)
		}
	})
}

func TestAPauseComesAfterStorageUseWhileADrainWithoutABacklogSends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lately      bool
		took, pause time.Duration
	}{
		"nothing else is sent":           {false, 10 * time.Millisecond, 0},
		"something is sent":              {true, 10 * time.Millisecond, pauseShare * 10 * time.Millisecond},
		"a turn that outlasts an outage": {true, 900 * time.Millisecond, contention},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := newShares(1)
				if c.lately {
					s[0].begin()
				}
				f.storagePermits <- struct{}{}
				end := f.holdStorage()
				time.Sleep(c.took)
				end()
				began := time.Now()
				f.storagePermits <- struct{}{}
				if took := time.Since(began); took != c.pause {
					t.Errorf("the next turn came after %v, want %v", took, c.pause)
				}
			})
		})
	}
}

func TestStoragePermitsAreStuckWhenAllOfThemHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFairShare(4, make(chan struct{})) // two permits
		take := func() func() { f.storagePermits <- struct{}{}; return f.holdStorage() }
		first := take()
		time.Sleep(2 * stalled)
		if f.stuck() {
			t.Error("one turn is free")
		}
		second := take()
		time.Sleep(stalled)
		if f.stuck() {
			t.Error("the second turn has just begun")
		}
		time.Sleep(time.Millisecond)
		if !f.stuck() {
			t.Error("both permits hang")
		}
		first()
		if f.stuck() {
			t.Error("one turn has ended")
		}
		second()
	})
}
