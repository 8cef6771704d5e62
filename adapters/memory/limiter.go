package memory

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.RateLimiter = (*Limiter)(nil)

const (
	// maxBuckets limits the buckets of one scope to some 20 MB.
	maxBuckets = 100_000
	// maxLimit and maxWindow keep every product far within 63 bits.
	maxLimit  = domain.MaxRateLimit
	maxWindow = domain.MaxRateWindow
	minWindow = time.Millisecond

	// overtaken is how many microseconds a remembered answer of the other limiter may arrive
	// after a later answer. It is longer than any caller waits for one.
	overtaken = 50_000

	never = -overtaken // the remembered time of a bucket that was never remembered: before any time that counts
)

// Limiter counts requests in memory.
type Limiter struct {
	now func() time.Time

	mu     sync.Mutex
	began  time.Time
	latest int64 // microseconds since began; time never returns less
	scopes map[string]*scope
	most   int // limit of buckets of one scope
}

// scope holds the buckets of one kind of limit.
type scope struct {
	buckets map[name]*list.Element
	recent  list.List // of *bucket, most recently used first
}

// name contains the length of the window: a bucket whose window is configured anew starts from
// zero and mixes nothing.
type name struct {
	of     string
	length int64
}

type bucket struct {
	name       name
	window     window
	remembered int64 // when another limiter's answer was remembered, in microseconds since began
}

// NewLimiter returns a limiter with empty counters. now is time.Now or a test's clock. Its
// monotonic reading keeps clock steps of the machine from opening or blocking anything.
func NewLimiter(now func() time.Time) *Limiter {
	return &Limiter{now: now, began: now(), scopes: map[string]*scope{}, most: maxBuckets}
}

// Take counts one request against every bucket or against none. A bucket named twice is counted
// once. It returns errors only for invalid limits: below 1 or above ten million, or a window
// outside 1 ms to 24 h.
func (l *Limiter) Take(_ context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	return l.ask(buckets, true)
}

// Peek returns what Take would return, without counting.
func (l *Limiter) Peek(_ context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	return l.ask(buckets, false)
}

// GiveBack takes one request off every bucket that has one.
func (l *Limiter) GiveBack(_ context.Context, buckets ...ports.Bucket) error {
	if err := valid(buckets); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.time()
	for _, b := range buckets {
		f := l.find(b, now)
		if f.window.count+f.window.previous > 0 {
			f.window = f.window.less()
			l.keep(b, f)
		}
	}
	return nil
}

// Remember continues a bucket from the answer of another limiter: the age of the window, and
// the counts of it and of the previous one. When two answers arrive out of order, the one that
// leaves fewer requests counts.
func (l *Limiter) Remember(b ports.Bucket, age time.Duration, count, previous int64) {
	if valid([]ports.Bucket{b}) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.time()
	f := l.find(b, now)
	if f.entry == nil && count+previous == 0 {
		return
	}
	given := window{start: now - age.Microseconds(), length: f.window.length, count: count, previous: previous}.at(now)
	if f.entry != nil {
		kept := f.entry.Value.(*bucket)
		if now-kept.remembered < overtaken && f.window.used(now) > given.used(now) {
			return
		}
	}
	f.window = given
	l.keep(b, f).remembered = now
	l.forget(b.Scope, now)
}

func (l *Limiter) ask(buckets []ports.Bucket, count bool) (ports.Allowance, error) {
	if err := valid(buckets); err != nil {
		return ports.Allowance{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.decide(buckets, count, l.time()), nil
}

func (l *Limiter) decide(buckets []ports.Bucket, count bool, now int64) ports.Allowance {
	var buffer [4]found // on the stack: this is on the path of every request
	states := buffer[:0]
	answer := ports.Allowance{Admitted: true}
	for _, b := range buckets {
		f := l.find(b, now)
		states = append(states, f)
		if wait := micros(f.window.retryAfter(now, int64(b.Limit.Limit))); wait > answer.RetryAfter {
			answer = allowance(b, f.window, now)
			answer.RetryAfter = wait
		}
	}
	if answer.RetryAfter > 0 {
		return answer
	}
	for i, b := range buckets {
		f := states[i]
		if count {
			f.window = f.window.plus()
			l.keep(b, f)
		}
		if left := allowance(b, f.window, now); i == 0 || left.Remaining < answer.Remaining {
			answer = left
			answer.Admitted = true
		}
	}
	if count {
		for _, b := range buckets { // after all are kept: one of them may have been the oldest
			l.forget(b.Scope, now)
		}
	}
	return answer
}

func allowance(b ports.Bucket, w window, now int64) ports.Allowance {
	return ports.Allowance{
		Scope:     b.Scope,
		Limit:     b.Limit,
		Remaining: int(w.remaining(now, int64(b.Limit.Limit))),
		Reset:     micros(w.start + w.length - now),
	}
}

func valid(buckets []ports.Bucket) error {
	for _, b := range buckets {
		if l := b.Limit; l.Limit < 1 || l.Limit > maxLimit || l.Window < minWindow || l.Window > maxWindow {
			return fmt.Errorf("%s: a limit of %d in %v cannot be counted", b.Scope, l.Limit, l.Window)
		}
	}
	return nil
}

// time returns the current time, and never one before an earlier result.
func (l *Limiter) time() int64 {
	l.latest = max(l.latest, l.now().Sub(l.began).Microseconds())
	return l.latest
}

func named(b ports.Bucket) name { return name{of: b.Name, length: b.Limit.Window.Microseconds()} }

// found is a bucket in its current state. entry is nil for one that is not kept.
type found struct {
	entry  *list.Element
	window window
}

func (l *Limiter) find(b ports.Bucket, now int64) found {
	of := named(b)
	if s := l.scopes[b.Scope]; s != nil {
		if e := s.buckets[of]; e != nil {
			// A refused bucket must stay too: dropping it would admit again.
			s.recent.MoveToFront(e)
			return found{e, e.Value.(*bucket).window.at(now)}
		}
	}
	return found{nil, window{start: now, length: of.length}}
}

func (l *Limiter) keep(b ports.Bucket, f found) *bucket {
	if f.entry != nil {
		kept := f.entry.Value.(*bucket)
		kept.window = f.window
		return kept
	}
	s := l.scopes[b.Scope]
	if s == nil {
		s = &scope{buckets: map[name]*list.Element{}}
		l.scopes[b.Scope] = s
	}
	of := named(b)
	if e := s.buckets[of]; e != nil { // the same new bucket twice in one call
		kept := e.Value.(*bucket)
		kept.window = f.window
		return kept
	}
	kept := &bucket{name: of, window: f.window, remembered: never}
	s.buckets[of] = s.recent.PushFront(kept)
	return kept
}

// forget drops up to two buckets of the scope that ended or exceed the limit. Two for each
// possible new one: the backlog only shrinks.
func (l *Limiter) forget(of string, now int64) {
	s := l.scopes[of]
	for range 2 {
		oldest := s.recent.Back() // never nil: the bucket just kept has not ended
		b := oldest.Value.(*bucket)
		if len(s.buckets) <= l.most && now < b.window.start+2*b.window.length {
			return
		}
		s.recent.Remove(oldest)
		delete(s.buckets, b.name)
	}
}
