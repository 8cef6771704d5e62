// Package lookups tells which of many secrets exist, at a cost that does not grow
// with how many are asked for: those that are asked for at the same time go to the
// storage in one question, and one question follows the other at a fixed rate.
//
// It is for client addresses with too many wrong guesses. Refusing them without a
// look would shut out every other client behind the address; a look-up of each
// guess would let them load the storage without bound. A budget of guesses a second
// was rejected: where a hundred clients guess, it is spent before the client that
// has a valid secret asks.
package lookups

import (
	"context"
	"errors"
	"sync"
	"time"

	"waybill/domain"
)

const (
	// every is how long one question begins after another.
	every = 100 * time.Millisecond
	// mostWaiting is how many questions wait.
	mostWaiting = 20
	// timeout bounds one.
	timeout = 2 * time.Second
)

// ErrCrowded means that more secrets are asked for than can be in two seconds.
var ErrCrowded = errors.New("too many are asked for at once")

// Lookups asks with a function for which of some secrets exist. It is safe for
// concurrent use; its callers share nothing but the rate.
type Lookups[K comparable] struct {
	most int
	find func(ctx context.Context, of []K) (known []K, err error)

	mu      sync.Mutex
	open    *question[K]  // that others may still join; may be nil
	last    chan struct{} // closed when the last one was answered; nil: none yet
	next    time.Time     // when another may begin
	waiting int
}

// question is one look-up that several callers share; the first of them runs it.
type question[K comparable] struct {
	begin  time.Time
	before chan struct{} // closed when the one before was answered
	of     map[K]bool    // whether it exists, once over is closed
	err    error
	over   chan struct{}
}

// New makes one that asks for at most so many at once, ten times a second.
func New[K comparable](most int, find func(ctx context.Context, of []K) (known []K, err error)) *Lookups[K] {
	return &Lookups[K]{most: most, find: find}
}

// Exists waits for the next question: at most a tenth of a second, and longer only
// where many times most ask or the storage is slow, and never beyond the end of ctx.
// ErrCrowded, or the error of find or ctx.
func (l *Lookups[K]) Exists(ctx context.Context, secret K) (bool, error) {
	q, first, err := l.join(secret)
	if err != nil {
		return false, err
	}
	if first {
		// In a goroutine of its own: the other callers still wait when this one
		// leaves.
		go l.ask(context.WithoutCancel(ctx), q)
	}
	select {
	case <-q.over:
		return q.of[secret], q.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (l *Lookups[K]) join(secret K) (q *question[K], first bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil || len(l.open.of) >= l.most {
		if l.waiting >= mostWaiting {
			return nil, false, ErrCrowded
		}
		begin := time.Now()
		if l.next.After(begin) {
			begin = l.next
		}
		l.open = &question[K]{begin: begin, before: l.last, of: map[K]bool{}, over: make(chan struct{})}
		l.last, l.next = l.open.over, begin.Add(every)
		l.waiting++
		first = true
	}
	l.open.of[secret] = false
	return l.open, first, nil
}

func (l *Lookups[K]) ask(ctx context.Context, q *question[K]) {
	defer close(q.over)
	time.Sleep(time.Until(q.begin))
	if q.before != nil {
		<-q.before
	}
	of := l.close(q)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	q.err = domain.Safely(func() error {
		known, err := l.find(ctx, of)
		for _, secret := range known {
			q.of[secret] = true
		}
		return err
	})
}

// close keeps later callers from joining the question.
func (l *Lookups[K]) close(q *question[K]) []K {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == q {
		l.open = nil
	}
	l.waiting--
	of := make([]K, 0, len(q.of))
	for secret := range q.of {
		of = append(of, secret)
	}
	return of
}
