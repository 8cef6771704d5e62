package crypto

import (
	"context"
	"slices"
	"sync"

	"waybill/ports"
)

// turns gives out the places in which hashes run. While all are taken, addresses take turns,
// and within an address the persons: whoever sends many requests waits behind the first
// request of everybody else.
type turns struct {
	mu    sync.Mutex
	free  int
	lines map[string]*line // of the addresses that wait
	next  []string         // the keys of lines, in the order of their turns
}

// line is what waits of one address. A place is handed over by closing a channel.
type line struct {
	waiting map[string][]chan struct{} // by person, the oldest first
	next    []string                   // the keys of waiting, in the order of their turns
}

func newTurns(places int) *turns { return &turns{free: places, lines: map[string]*line{}} }

// take waits for a place. Without an error, give has to follow.
func (t *turns) take(ctx context.Context, c ports.Caller) error {
	mine := t.join(c)
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
		t.handOver()
	default:
		t.leave(c, mine)
	}
	return context.Cause(ctx)
}

// give ends the use of a place.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.handOver()
}

// join takes a free place and returns nil, or else joins those who wait.
func (t *turns) join(c ports.Caller) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		return nil
	}
	l := t.lines[c.Address]
	if l == nil {
		l = &line{waiting: map[string][]chan struct{}{}}
		t.lines[c.Address], t.next = l, append(t.next, c.Address)
	}
	if l.waiting[c.Person] == nil {
		l.next = append(l.next, c.Person)
	}
	mine := make(chan struct{})
	l.waiting[c.Person] = append(l.waiting[c.Person], mine)
	return mine
}

// handOver gives a place to the next one who waits. The address goes to the end of its
// round, and so does the person.
func (t *turns) handOver() {
	if len(t.next) == 0 {
		t.free++
		return
	}
	address := t.next[0]
	l := t.lines[address]
	person := l.next[0]
	first := l.waiting[person][0]
	t.next, l.next = append(t.next[1:], address), append(l.next[1:], person)
	t.leave(ports.Caller{Address: address, Person: person}, first)
	close(first)
}

// leave takes one out who waits.
func (t *turns) leave(c ports.Caller, mine chan struct{}) {
	l := t.lines[c.Address]
	is := func(other chan struct{}) bool { return other == mine }
	l.waiting[c.Person] = slices.DeleteFunc(l.waiting[c.Person], is)
	if len(l.waiting[c.Person]) == 0 {
		delete(l.waiting, c.Person)
		l.next = slices.DeleteFunc(l.next, func(person string) bool { return person == c.Person })
	}
	if len(l.next) == 0 {
		delete(t.lines, c.Address)
		t.next = slices.DeleteFunc(t.next, func(address string) bool { return address == c.Address })
	}
}
