package memlocks

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOfManyAtOnceOneGetsTheLock(t *testing.T) {
	t.Parallel()
	l := New()
	for round := range 50 {
		var acquired atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if _, ok := l.TryLock(t.Context(), fmt.Sprint(round)); ok {
					acquired.Add(1)
				}
			})
		}
		wg.Wait()
		if acquired.Load() != 1 {
			t.Fatalf("%d got the lock, want 1", acquired.Load())
		}
	}
}

func TestAReleasedLockCanBeTakenAgainAndNamesAreApart(t *testing.T) {
	t.Parallel()
	l := New()
	release, ok := l.TryLock(t.Context(), "a")
	if !ok {
		t.Fatal("a free lock was refused")
	}
	if _, ok := l.TryLock(t.Context(), "b"); !ok {
		t.Error("another name was refused")
	}
	none, ok := l.TryLock(t.Context(), "a")
	if ok || none == nil {
		t.Fatal("a held lock was given away, or there is no release")
	}
	none() // of a lock that was not acquired: frees nothing
	if _, ok := l.TryLock(t.Context(), "a"); ok {
		t.Fatal("the release of a refused try freed the lock")
	}
	release()
	if _, ok := l.TryLock(t.Context(), "a"); !ok {
		t.Error("a released lock was refused")
	}
}

func TestALockEndsByItselfAfterTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		l.TryLock(t.Context(), "a")
		time.Sleep(10*time.Second - time.Nanosecond)
		if _, ok := l.TryLock(t.Context(), "a"); ok {
			t.Fatal("the lock ended early")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := l.TryLock(t.Context(), "a"); !ok {
			t.Fatal("the lock did not end")
		}
	})
}

func TestALateReleaseDoesNotFreeTheNextHoldersLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		late, _ := l.TryLock(t.Context(), "a")
		time.Sleep(10 * time.Second)
		release, ok := l.TryLock(t.Context(), "a")
		if !ok {
			t.Fatal("the expired lock was refused")
		}
		late()
		if _, ok := l.TryLock(t.Context(), "a"); ok {
			t.Fatal("the late release freed the next holder's lock")
		}
		release()
		second, ok := l.TryLock(t.Context(), "a")
		if !ok {
			t.Fatal("the released lock was refused")
		}
		release()
		if _, ok := l.TryLock(t.Context(), "a"); ok {
			t.Fatal("releasing twice freed the next holder's lock")
		}
		second()
	})
}

func TestLocksNobodyReleasedTakeNoMemoryForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		for i := range 1000 {
			l.TryLock(t.Context(), fmt.Sprint(i))
		}
		time.Sleep(10 * time.Second)
		release, _ := l.TryLock(t.Context(), "last")
		if len(l.held) != 1 || l.order.Len() != 1 {
			t.Errorf("%d and %d locks are kept, want 1", len(l.held), l.order.Len())
		}
		release()
		if len(l.held) != 0 || l.order.Len() != 0 {
			t.Errorf("%d and %d locks are kept, want none", len(l.held), l.order.Len())
		}
	})
}

func BenchmarkTryLock(b *testing.B) {
	l := New()
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		name := fmt.Sprint(n.Add(1))
		for pb.Next() {
			release, _ := l.TryLock(b.Context(), name)
			release()
		}
	})
}
