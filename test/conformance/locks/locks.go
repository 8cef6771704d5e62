// Package locks is the exam of ports.Locks.
package locks

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"waybill/ports"
)

// Examine examines an adapter of ports.Locks. open returns two views of the same
// locks: those of two processes where the adapter joins processes, else twice
// the same. That a lock ends by itself is the adapter's own test, since suites
// do not wait ten seconds.
func Examine(t *testing.T, open func(t *testing.T) (one, other ports.Locks)) {
	for _, c := range []struct {
		name string
		run  func(l *locked)
	}{
		{"a held lock is refused to everyone", (*locked).held},
		{"a released lock can be taken by anyone", (*locked).released},
		{"the release of a refused try frees nothing", (*locked).refusedRelease},
		{"a second release frees nothing", (*locked).secondRelease},
		{"of many at once one acquires", (*locked).concurrent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			c.run(&locked{T: t, views: []ports.Locks{one, other}, name: fmt.Sprintf("%s %x", t.Name(), rand.Uint64())})
		})
	}
}

type locked struct {
	*testing.T
	views []ports.Locks
	name  string
}

func (l *locked) take(view int, name string) func() {
	l.Helper()
	release, ok := l.views[view].TryLock(l.Context(), name)
	if !ok {
		l.Fatalf("view %d is refused %q, which is free", view, name)
	}
	return release
}

func (l *locked) refused(view int) func() {
	l.Helper()
	release, ok := l.views[view].TryLock(l.Context(), l.name)
	if ok || release == nil {
		l.Fatalf("view %d: acquired is %v, release is nil: %v, want a refusal with a release", view, ok, release == nil)
	}
	return release
}

func (l *locked) held() {
	l.take(0, l.name)
	for view := range l.views {
		l.refused(view)
		l.take(view, fmt.Sprint(l.name, " ", view))
	}
}

func (l *locked) released() {
	for range 20 {
		for view := range l.views {
			l.take(view, l.name)()
		}
	}
}

func (l *locked) refusedRelease() {
	l.take(0, l.name)
	for view := range l.views {
		l.refused(view)()
		l.refused(view)
	}
}

func (l *locked) secondRelease() {
	first := l.take(0, l.name)
	first()
	l.take(1, l.name)
	first()
	l.refused(0)
	l.refused(1)
}

func (l *locked) concurrent() {
	for round := range 50 {
		name := fmt.Sprint(l.name, " ", round)
		var acquired atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for caller := range 16 {
			wg.Go(func() {
				<-start
				if _, ok := l.views[caller%2].TryLock(l.Context(), name); ok {
					acquired.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		if n := acquired.Load(); n != 1 {
			l.Fatalf("%d of 16 at once acquired, want 1", n)
		}
	}
}
