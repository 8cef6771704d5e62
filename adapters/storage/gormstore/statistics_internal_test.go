package gormstore

import (
	"testing"
	"time"
)

func TestAProcessLooksForTablesThatGrowWhileItBeginsToBeBusyAndSeldomLater(t *testing.T) {
	t.Parallel()
	hosts := &pgHosts{}
	s := &Store{pools: &pools{grows: []growth{{hosts: hosts}}}}
	for _, step := range []struct {
		what              string
		begun, busy, look time.Duration // how long ago the last transaction began, the busy time did, and the last look was
		rests, busyAfter  bool
	}{
		{"first of all", 0, -1, -1, false, true},
		{"busy for a moment, having just looked", 0, time.Second, 0, false, true},
		{"busy for long, having just looked", 0, eagerFor + 1, 0, true, true},
		{"busy for long, having looked long ago", 0, eagerFor + 1, restFor, false, true},
		{"quiet", quietFor, eagerFor + 1, restFor, true, false},
		{"busy again after that, having just looked", 0, -1, 0, false, true},
	} {
		ago := func(d time.Duration) int64 {
			if d < 0 {
				return 0 // never
			}
			return sinceStart() - int64(d)
		}
		hosts.begunAt.Store(ago(step.begun))
		s.busySince.Store(ago(step.busy))
		s.looked.Store(ago(step.look))
		rests := s.rest()
		if busy := s.busySince.Load() != 0; rests != step.rests || busy != step.busyAfter {
			t.Errorf("%s: it rests: %t, and counts as busy: %t; want %t, and %t", step.what, rests, busy, step.rests, step.busyAfter)
		}
	}
}
