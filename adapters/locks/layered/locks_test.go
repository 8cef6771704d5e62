package layered_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"waybill/adapters/locks/layered"
	"waybill/ports"
	"waybill/test/conformance/locks"
)

// set is one set of locks; it writes down what is asked of it.
type set struct {
	name  string
	diary *diary
	mu    sync.Mutex
	held  map[string]int // name to the number of its holder
	last  int
}

type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func newSet(name string, d *diary) *set { return &set{name: name, diary: d, held: map[string]int{}} }

func (s *set) TryLock(_ context.Context, name string) (func(), bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diary.write("try " + s.name)
	if s.held[name] != 0 {
		return func() {}, false
	}
	s.last++
	mine := s.last
	s.held[name] = mine
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.diary.write("release " + s.name)
		if s.held[name] == mine {
			delete(s.held, name)
		}
	}, true
}

func TestConformance(t *testing.T) {
	t.Parallel()
	locks.Examine(t, func(*testing.T) (one, other ports.Locks) {
		far := newSet("far", &diary{})
		return layered.New(newSet("near", &diary{}), far), layered.New(newSet("near", &diary{}), far)
	})
}

func TestBothAreTakenAndGivenBackInOrderAndARefusalLeavesNothing(t *testing.T) {
	t.Parallel()
	d := &diary{}
	near, far := newSet("near", d), newSet("far", d)
	l := layered.New(near, far)

	release, ok := l.TryLock(t.Context(), "a")
	if !ok {
		t.Fatal("a free lock was refused")
	}
	l.TryLock(t.Context(), "a") // the near one refuses, and the far one is not asked
	release()
	_, _ = far.TryLock(t.Context(), "a") // another process
	if _, ok := l.TryLock(t.Context(), "a"); ok {
		t.Error("a lock that another process holds was given away")
	}
	want := []string{
		"try near", "try far", "try near", "release far", "release near",
		"try far", "try near", "try far", "release near",
	}
	if !slices.Equal(d.lines, want) {
		t.Errorf("got  %q\nwant %q", d.lines, want)
	}
	if len(near.held) != 0 {
		t.Error("a refusal of the far one leaves the near one held")
	}
}
