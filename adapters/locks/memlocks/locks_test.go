package memlocks

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/ports"
	"waybill/test/conformance/locks"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	locks.Examine(t, func(*testing.T) (one, other ports.Locks) {
		l := New()
		return l, l
	})
}

func TestALockEndsByItselfAfterTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		l.TryLock(t.Context(), "a")
		// A bubble's clock: it stands still until all its goroutines sleep, so
		// the test takes no real time.
		time.Sleep(10*time.Second - time.Nanosecond)
		if _, ok := l.TryLock(t.Context(), "a"); ok {
			t.Fatal("the lock ended early")
		}
		time.Sleep(time.Nanosecond) // of the bubble
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
		time.Sleep(10 * time.Second) // of the bubble
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

func TestLocksThatWereNotReleasedTakeNoMemoryForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		for i := range 1000 {
			l.TryLock(t.Context(), fmt.Sprint(i))
		}
		time.Sleep(10 * time.Second) // of the bubble
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
