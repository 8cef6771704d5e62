// Package lookups finds out which of many secrets exist, at a cost that does not grow with their
// number. Concurrent lookups share one query to the storage, and the queries follow each other at a
// fixed rate.
//
// It is for client addresses with too many wrong guesses. Refusing them without a lookup would shut
// out every other client behind the address. A lookup of each guess would let them load the storage
// without limit. A budget of guesses a second was rejected: where a hundred clients guess, it is
// used up before the client with a valid secret asks.
package lookups

import (
	"context"
	"errors"
	"sync"
	"time"

	"waybill/domain"
)

const (
	// every is the time from the start of one query to the next.
	every = 100 * time.Millisecond
	// mostWaiting limits how many queries wait.
	mostWaiting = 20
	// timeout limits one query.
	timeout = 2 * time.Second
)

// ErrCrowded means that more secrets are requested than can be looked up in two seconds.
var ErrCrowded = errors.New("too many are asked for at once")

// Lookups looks up which of some secrets exist. It is safe for concurrent use. Its callers share
// nothing but the rate.
type Lookups[K comparable] struct {
	most int
	find func(ctx context.Context, of []K) (known []K, err error)

	mu      sync.Mutex
	open    *question[K]  // others may still join it; may be nil
	last    chan struct{} // closed when the last one has ended; nil: none yet
	next    time.Time     // when another may begin
	waiting int
}

// question is one query that several callers share. The first of them runs it.
type question[K comparable] struct {
	begin  time.Time
	before chan struct{} // closed when the previous one has ended
	of     map[K]bool    // whether it exists, once over is closed
	err    error
	over   chan struct{}
}

// New returns a Lookups that looks up at most that many at once, ten times a second.
func New[K comparable](most int, find func(ctx context.Context, of []K) (known []K, err error)) *Lookups[K] {
	return &Lookups[K]{most: most, find: find}
}

// Exists waits for the next query: at most a tenth of a second, and longer only where many times
// most ask or the storage is slow, but never beyond the end of ctx. It returns ErrCrowded, or the
// error of find or ctx.
func (l *Lookups[K]) Exists(ctx context.Context, secret K) (bool, error) {
	q, first, err := l.join(secret)
	if err != nil {
		return false, err
	}
	if first {
		// A separate goroutine, since the other callers still wait when this one leaves.
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
