package circuitbreaker

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// ErrOpen means that a call was not made because the service is gone.
var ErrOpen = errors.New("the service does not answer; it is asked again in a moment")

// Evidence says what the end of a call shows about the service.
type Evidence int

const (
	// None says that the call ended for reasons of the caller.
	None Evidence = iota
	// Answered says that the service is there, whatever it responded.
	Answered
	// Gone says that the service was not reached, or did not respond in time.
	Gone
)

// The defaults of BreakerOptions.
const (
	defaultFailures = 5
	defaultInterval = 250 * time.Millisecond
)

// BreakerOptions says what opens a breaker. The zero value of each field is its default.
type BreakerOptions struct {
	// Failures is how many calls without a response since they began open the breaker; 5.
	Failures int
	// Questions and Callers are how many different ones the failures must have; any.
	Questions, Callers int
	// Interval is how often an open breaker lets one call through; 250 ms.
	Interval time.Duration
	// OnChange is called when the breaker opens or closes. It must not use the breaker. It may
	// be nil.
	OnChange func(open bool)
}

// Breaker fails calls to a service that is gone before they begin. It is open only for callers
// whose own calls have failed since the last response: the service may be there, and slow only
// for what a few callers ask. It is safe for concurrent use.
type Breaker struct {
	o BreakerOptions

	mu        sync.Mutex
	open      bool
	next      time.Time // when an open breaker lets the next call through
	answers   uint64    // so far
	failures  int       // since the last response
	questions map[any]struct{}
	callers   map[any]struct{}
	failed    map[any]struct{} // every caller of those failures, and of later ones
}

// NewBreaker returns a closed breaker.
func NewBreaker(o BreakerOptions) *Breaker {
	o.Failures, o.Interval = cmp.Or(o.Failures, defaultFailures), cmp.Or(o.Interval, defaultInterval)
	return &Breaker{o: o, questions: map[any]struct{}{}, callers: map[any]struct{}{}, failed: map[any]struct{}{}}
}

// NewRedisBreaker returns a breaker that any five failures in a row open, and that lets one
// call a second through: all calls go to one server.
func NewRedisBreaker(onChange func(open bool)) *Breaker {
	return NewBreaker(BreakerOptions{Interval: time.Second, OnChange: onChange})
}

// Call says who calls, and about what. Both are comparable. Nil values are not counted.
type Call struct{ Caller, Question any }

// Do makes the call and returns its error, or ErrOpen at once.
func (b *Breaker) Do(c Call, call func() (Evidence, error)) error {
	began, admitted := b.admit(c.Caller)
	if !admitted {
		return ErrOpen
	}
	evidence := None // after a panic
	defer func() { b.record(c, began, evidence) }()
	var err error
	evidence, err = call()
	return err
}

// admit reports whether the call may begin, and how many responses there were before it.
func (b *Breaker) admit(caller any) (answers uint64, admitted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, failed := b.failed[caller]; b.open && failed {
		now := time.Now()
		if now.Before(b.next) {
			return 0, false
		}
		b.next = now.Add(b.o.Interval)
	}
	return b.answers, true
}

func (b *Breaker) record(c Call, began uint64, e Evidence) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, failed := b.failed[c.Caller]
	switch {
	case e == Answered:
		b.answers++
		b.failures = 0
		clear(b.questions)
		clear(b.callers)
		clear(b.failed)
		b.turn(false)
	case e == None && b.open && failed:
		b.next = time.Time{} // the call was let through in vain
	case e == Gone && began == b.answers:
		// A call that began before the last response says nothing about now.
		b.failed[c.Caller] = struct{}{}
		if b.open {
			return
		}
		b.failures++
		note(b.questions, c.Question, b.o.Questions)
		note(b.callers, c.Caller, b.o.Callers)
		if b.failures >= b.o.Failures && len(b.questions) >= b.o.Questions && len(b.callers) >= b.o.Callers {
			b.next = time.Now().Add(b.o.Interval)
			b.turn(true)
		}
	}
}

// note adds a member to a set that needs no more than enough members.
func note(set map[any]struct{}, member any, enough int) {
	if len(set) < enough {
		set[member] = struct{}{}
	}
}

func (b *Breaker) turn(open bool) {
	if b.open == open {
		return
	}
	b.open = open
	if b.o.OnChange != nil {
		b.o.OnChange(open)
	}
}
