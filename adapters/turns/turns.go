// Package turns gives out places of which there are few, such as processors for password
// hashes, connections for lists and attempts at a host. While all are taken, groups take turns,
// and within a group its members: whoever sends many requests waits behind the first request of
// everybody else. It works within one process.
package turns

import (
	"context"
	"slices"
	"sync"
)

// Turns gives out places. It is safe for concurrent use.
type Turns struct {
	most int // places that one group has at a time

	mu    sync.Mutex
	free  int
	held  map[string]int   // places by group
	lines map[string]*line // of the groups that wait
	next  []string         // the keys of lines, in the order of their turns
}

// line is what waits of one group. A place is handed over by closing a channel.
type line struct {
	waiting map[string][]chan struct{} // by member, the oldest first
	next    []string                   // the keys of waiting, in the order of their turns
}

// New makes a number of places, of which one group has at most so many at a time. The group
// without a name may have all.
func New(places, most int) *Turns {
	return &Turns{free: places, most: most, held: map[string]int{}, lines: map[string]*line{}}
}

// Take waits for a place. Without an error, Give has to follow.
func (t *Turns) Take(ctx context.Context, group, member string) error {
	mine := t.join(group, member)
	if mine == nil {
		return nil
	}
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-mine: // handed over meanwhile
		t.give(group)
	default:
		t.leave(group, member, mine)
	}
	return context.Cause(ctx)
}

// Give ends the use of a place of a group.
func (t *Turns) Give(group string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.give(group)
}

// Idle reports whether all places are free and nobody waits; tests ask.
func (t *Turns) Idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.held)+len(t.lines)+len(t.next) == 0
}

// mayTake reports whether a group may have one place more.
func (t *Turns) mayTake(group string) bool { return group == "" || t.held[group] < t.most }

// join takes a free place and returns nil, or else joins those who wait.
func (t *Turns) join(group, member string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 && t.mayTake(group) {
		t.free--
		t.held[group]++
		return nil
	}
	l := t.lines[group]
	if l == nil {
		l = &line{waiting: map[string][]chan struct{}{}}
		t.lines[group], t.next = l, append(t.next, group)
	}
	if l.waiting[member] == nil {
		l.next = append(l.next, member)
	}
	mine := make(chan struct{})
	l.waiting[member] = append(l.waiting[member], mine)
	return mine
}

// give takes a place back, and gives it to the next one who waits. That one's group goes to the
// end of its round, and so does the member.
func (t *Turns) give(group string) {
	if t.held[group]--; t.held[group] == 0 {
		delete(t.held, group)
	}
	t.free++
	at := slices.IndexFunc(t.next, t.mayTake)
	if at < 0 {
		return
	}
	group = t.next[at]
	l := t.lines[group]
	member := l.next[0]
	first := l.waiting[member][0]
	t.next, l.next = append(slices.Delete(t.next, at, at+1), group), append(l.next[1:], member)
	t.leave(group, member, first)
	t.free--
	t.held[group]++
	close(first)
}

// leave takes one out who waits.
func (t *Turns) leave(group, member string, mine chan struct{}) {
	l := t.lines[group]
	is := func(other chan struct{}) bool { return other == mine }
	l.waiting[member] = slices.DeleteFunc(l.waiting[member], is)
	if len(l.waiting[member]) == 0 {
		delete(l.waiting, member)
		l.next = slices.DeleteFunc(l.next, func(other string) bool { return other == member })
	}
	if len(l.next) == 0 {
		delete(t.lines, group)
		t.next = slices.DeleteFunc(t.next, func(other string) bool { return other == group })
	}
}
