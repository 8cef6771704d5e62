package memlimiter

import (
	"container/list"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.RateLimiter = (*Limiter)(nil)

const (
	// maxBuckets of one scope take some 20 MB.
	maxBuckets = 100_000
	// maxLimit and maxWindow keep every product far within 63 bits.
	maxLimit  = domain.MaxRateLimit
	maxWindow = domain.MaxRateWindow
	minWindow = time.Millisecond

	// overtaken is, in microseconds, how long a remembered answer of the limiter
	// may arrive after a later answer: longer than any caller waits for one.
	overtaken = 50_000

	// Ample room is that of a bucket of which half its limit is left, as the other
	// limiter told a moment ago; a hundredth of the limit may be owed then.
	ampleLeft  = 2
	ampleOwed  = 100
	worthOwing = 4         // fewer requests are not worth a call of their own
	moment     = 2_000_000 // in microseconds, and never more than a tenth of the window
	begunEvery = 1_000_000 // in microseconds

	never = -moment // when a bucket was told of that was not: before anything that counts
)

// Limiter counts requests in memory.
type Limiter struct {
	now func() time.Time

	mu     sync.Mutex
	began  time.Time
	latest int64 // microseconds since began; time never goes back behind it
	scopes map[string]*scope
	most   int // buckets of one scope
}

// scope holds the buckets of one kind of limit.
type scope struct {
	buckets map[name]*list.Element
	recent  list.List // of *bucket, the one asked for last in front
}

// name has the length of the window, so that a bucket whose window is
// configured anew begins afresh instead of mixing two.
type name struct {
	of     string
	length int64
}

type bucket struct {
	name   name
	window window
	told   int64  // when the window was told by another limiter, in microseconds since began
	debt   uint64 // names what is owed by now and not settled; 0: not asked for yet
	begun  int64  // until then TakeAmple does not name it as begun again, in microseconds since began
}

// New makes a limiter whose counters are empty. now is time.Now, or a test's
// clock; its monotonic reading keeps a step of the machine's clock from opening
// or blocking anything.
func New(now func() time.Time) *Limiter {
	return &Limiter{now: now, began: now(), scopes: map[string]*scope{}, most: maxBuckets}
}

// Take counts one request against every bucket or against none; a bucket named
// twice is counted once. The only errors are limits that cannot be meant: below
// 1 or above ten million, or a window outside 1 ms to 24 h.
func (l *Limiter) Take(_ context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	return l.ask(buckets, true)
}

// Peek tells what Take would answer.
func (l *Limiter) Peek(_ context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	return l.ask(buckets, false)
}

// TakeAmple counts one request where every bucket has ample room for it, and else
// counts nothing: what others count meanwhile does not fill such a bucket. It also names
// those of which the other limiter is due to hear what it is owed, which is half of what may
// be, or half of the moment is over, and those that have begun to owe, once in a second. Where
// half of the moment is over and nothing is owed, one call for all buckets does as much.
func (l *Limiter) TakeAmple(buckets ...ports.Bucket) (a ports.Allowance, due, begun []ports.Bucket, counted bool) {
	if len(buckets) == 0 || valid(buckets) != nil {
		return ports.Allowance{}, nil, nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.time()
	for _, b := range buckets {
		f := l.find(b, now)
		if f.entry == nil {
			return ports.Allowance{}, nil, nil, false
		}
		limit, owed, age := int64(b.Limit.Limit), f.window.owed(now)+1, now-f.entry.Value.(*bucket).told
		most, fresh := limit/ampleOwed, min(moment, f.window.length/10)
		late := 2*age >= fresh
		if most < worthOwing || owed > most || age >= fresh || late && owed == 1 || f.window.remaining(now, limit)*ampleLeft < limit {
			return ports.Allowance{}, nil, nil, false
		}
		switch {
		case 2*owed >= most || late:
			due = append(due, b)
		case now >= f.entry.Value.(*bucket).begun:
			begun = append(begun, b)
		}
	}
	for _, b := range begun {
		l.find(b, now).entry.Value.(*bucket).begun = now + begunEvery
	}
	return l.decide(buckets, true, now), due, begun, true
}

// GiveBackOwed takes one request off every bucket, where each has one that is owed and that
// the other limiter has not heard of, and reports whether it did. A debt that has a name may
// be counted there by now: to be owed less would not undo that.
func (l *Limiter) GiveBackOwed(buckets ...ports.Bucket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.time()
	var buffer [4]found
	states := buffer[:0]
	for _, b := range buckets {
		f := l.find(b, now)
		if f.window.own == 0 || f.entry.Value.(*bucket).debt != 0 {
			return false
		}
		states = append(states, f)
	}
	for i, b := range buckets { // one that is named twice gives one back
		f := states[i]
		f.window = f.window.less()
		l.keep(b, f)
	}
	return true
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

// Remember continues a bucket from the answer of another limiter: the age of the
// window, and the counts of it and of the one before. Requests that this one owes
// to the other are counted on top. Of two answers that arrive out of order the
// one that leaves fewer requests counts.
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
	own, ownPrevious := f.window.own, f.window.ownPrevious
	told := window{
		start: now - age.Microseconds(), length: f.window.length,
		count: count + own, previous: previous + ownPrevious, own: own, ownPrevious: ownPrevious,
	}.at(now)
	if f.entry != nil {
		kept := f.entry.Value.(*bucket)
		if now-kept.told < overtaken && f.window.used(now) > told.used(now) {
			return
		}
	}
	f.window = told
	l.keep(b, f).told = now
	l.forget(b.Scope, now)
}

// Owed is how many requests of a bucket were counted here alone and still weigh
// something: those that the limiter which is remembered does not know of. Until
// they are settled, or weigh nothing any more, they are one debt of that name.
func (l *Limiter) Owed(b ports.Bucket) (n int, debt uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.scopes[b.Scope]
	if s == nil || s.buckets[named(b)] == nil {
		return 0, 0
	}
	now := l.time()
	kept := s.buckets[named(b)].Value.(*bucket)
	switch n = int(kept.window.at(now).owed(now)); {
	case n == 0:
		kept.debt = 0
	case kept.debt == 0:
		kept.debt = rand.Uint64() //nolint:gosec // a name that has to be new, not secret
	}
	return n, kept.debt
}

// Settle takes off again what was owed when the other limiter was told so many:
// it counts them itself from then on.
func (l *Limiter) Settle(b ports.Bucket, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.time()
	if f := l.find(b, now); f.entry != nil {
		f.window = f.window.settled(now, int64(n))
		l.keep(b, f).debt = 0
	}
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
		if told := allowance(b, f.window, now); i == 0 || told.Remaining < answer.Remaining {
			answer = told
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

// time is now, and never before an earlier answer.
func (l *Limiter) time() int64 {
	l.latest = max(l.latest, l.now().Sub(l.began).Microseconds())
	return l.latest
}

func named(b ports.Bucket) name { return name{of: b.Name, length: b.Limit.Window.Microseconds()} }

// found is a bucket as it is now; entry is nil for one that is not kept.
type found struct {
	entry  *list.Element
	window window
}

func (l *Limiter) find(b ports.Bucket, now int64) found {
	of := named(b)
	if s := l.scopes[b.Scope]; s != nil {
		if e := s.buckets[of]; e != nil {
			// A bucket that is refused must stay too: dropping it admits again.
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
	kept := &bucket{name: of, window: f.window, told: never}
	s.buckets[of] = s.recent.PushFront(kept)
	return kept
}

// forget drops up to two of the scope's buckets that ended, or that are too
// many. Two for each that may be new: the backlog only ever shrinks.
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
