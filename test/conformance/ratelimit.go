package conformance

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// slack is how far from the exact time an answer of a limiter may be: what
// whole milliseconds and rounding may cost.
const slack = 5 * time.Millisecond

// ExamineRateLimiter examines an adapter of ports.RateLimiter. open returns a limiter
// and the hand that moves its clock forward; the clock stands still otherwise.
// Buckets have names of their own in every test, so that all limiters may
// share one server.
func ExamineRateLimiter(t *testing.T, open func(t *testing.T) (limiter ports.RateLimiter, advance func(time.Duration))) {
	for _, c := range []struct {
		name string
		run  func(l *limited)
	}{
		{"the first window admits exactly the limit", (*limited).firstWindow},
		{"a refused request is not counted", (*limited).refusedNotCounted},
		{"a caller who waits as told is admitted", (*limited).retryAfter},
		{"no boundary lets a second burst through", (*limited).boundary},
		{"an idle bucket begins with its next request", (*limited).idle},
		{"buckets count apart", (*limited).apart},
		{"all buckets are counted or none", (*limited).allOrNone},
		{"the bucket that bites is reported", (*limited).reported},
		{"a peek counts nothing and begins nothing", (*limited).peek},
		{"a request given back can be taken again", (*limited).giveBack},
		{"nothing given back too late opens a later window", (*limited).giveBackLate},
		{"a limit that changes holds at once", (*limited).changedLimit},
		{"many at once get exactly the limit", (*limited).concurrent},
		{"many at once on two buckets leak nothing", (*limited).concurrentPairs},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limiter, advance := open(t)
			c.run(&limited{T: t, RateLimiter: limiter, advance: advance})
		})
	}
}

type limited struct {
	*testing.T
	ports.RateLimiter
	advance func(time.Duration)
}

var bucketNames atomic.Int64

// bucket is a new one of so many requests a minute.
func (l *limited) bucket(limit int) ports.Bucket { return l.bucketOf("key", limit, time.Minute) }

func (l *limited) bucketOf(scope string, limit int, window time.Duration) ports.Bucket {
	return ports.Bucket{
		Scope: scope, Name: fmt.Sprintf("%s %d %d", l.Name(), bucketNames.Add(1), rand.Uint64()),
		Limit: domain.RateLimit{Limit: limit, Window: window},
	}
}

func (l *limited) take(buckets ...ports.Bucket) ports.Allowance {
	l.Helper()
	a, err := l.Take(l.Context(), buckets...)
	if err != nil {
		l.Fatalf("Take: %v", err)
	}
	return a
}

func (l *limited) look(buckets ...ports.Bucket) ports.Allowance {
	l.Helper()
	a, err := l.Peek(l.Context(), buckets...)
	if err != nil {
		l.Fatalf("Peek: %v", err)
	}
	return a
}

func (l *limited) undo(buckets ...ports.Bucket) {
	l.Helper()
	if err := l.GiveBack(l.Context(), buckets...); err != nil {
		l.Fatalf("GiveBack: %v", err)
	}
}

// fill takes until the bucket refuses and tells how many were admitted.
func (l *limited) fill(b ports.Bucket) int {
	l.Helper()
	for n := range b.Limit.Limit + 10 {
		if !l.take(b).Admitted {
			return n
		}
	}
	l.Fatalf("a bucket of %d admits %d and more", b.Limit.Limit, b.Limit.Limit+10)
	return 0
}

func about(got, want time.Duration) bool { return (got - want).Abs() <= slack }

func (l *limited) firstWindow() {
	for _, limit := range []int{1, 2, 10, 600} {
		b := l.bucket(limit)
		for n := 1; n <= limit; n++ {
			a := l.take(b)
			if !a.Admitted || a.Remaining != limit-n || a.Scope != b.Scope || a.Limit != b.Limit || a.RetryAfter != 0 ||
				!about(a.Reset, time.Minute) {
				l.Fatalf("request %d of %d: got %+v", n, limit, a)
			}
		}
		if a := l.take(b); a.Admitted || a.Remaining != 0 || a.Scope != b.Scope || a.Limit != b.Limit || a.RetryAfter <= 0 ||
			!about(a.Reset, time.Minute) {
			l.Errorf("beyond %d: got %+v, want a refusal", limit, a)
		}
	}
	b := l.bucket(10)
	l.take(b)
	l.advance(45 * time.Second)
	if a := l.take(b); !about(a.Reset, 15*time.Second) {
		l.Errorf("the window ends in %v, want 15s", a.Reset)
	}
	if n := l.fill(b); n != 8 {
		l.Errorf("%d more in the first window, want 8", n)
	}
}

func (l *limited) refusedNotCounted() {
	b := l.bucket(5)
	l.fill(b)
	first := l.take(b)
	for range 50 {
		if a := l.take(b); a.Admitted || !about(a.RetryAfter, first.RetryAfter) {
			l.Fatalf("got %+v, want what the first refusal said: %+v", a, first)
		}
	}
	l.advance(first.RetryAfter + slack)
	if a := l.take(b); !a.Admitted {
		l.Errorf("refusals were counted: got %+v", a)
	}
}

// The edge tells whole seconds, rounded up. A client that waits them must be
// admitted, and the limiter must not make it wait for nothing either.
func (l *limited) retryAfter() {
	random := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{1, 2, 3, 7, 60, 600} {
		b := l.bucket(limit)
		refusals := 0
		for range 400 {
			if random.IntN(3) == 0 {
				l.advance(time.Duration(random.Int64N(int64(b.Limit.Window) / 10)).Truncate(time.Millisecond))
			}
			for n := random.IntN(limit + 1); n >= 0; n-- {
				a := l.take(b)
				if a.Admitted {
					continue
				}
				refusals++
				if a.RetryAfter > 2*b.Limit.Window {
					l.Fatalf("limit %d: told to wait %v", limit, a.RetryAfter)
				}
				if early := a.RetryAfter - 2*slack; early > 0 {
					l.advance(early)
					if p := l.look(b); p.Admitted {
						l.Fatalf("limit %d: told to wait %v, and %v were enough", limit, a.RetryAfter, early)
					}
					a.RetryAfter -= early
				}
				l.advance((a.RetryAfter + time.Second - 1).Truncate(time.Second))
				if again := l.take(b); !again.Admitted {
					l.Fatalf("limit %d: refused again after the wait: %+v", limit, again)
				}
				break
			}
		}
		if refusals == 0 {
			l.Errorf("limit %d: nothing was refused, so nothing was examined", limit)
		}
	}
}

func (l *limited) boundary() {
	b := l.bucket(100)
	l.take(b) // the window begins
	l.advance(59 * time.Second)
	if n := l.fill(b); n != 99 {
		l.Errorf("%d at the end of the window, want 99", n)
	}
	l.advance(2 * time.Second) // one into the next: 1/60 of the last has faded
	if n := l.fill(b); n > 2 {
		l.Errorf("%d at the beginning of the next window, want at most 2", n)
	}
	l.advance(29 * time.Second) // half of it
	if n := l.fill(b); n < 45 || n > 52 {
		l.Errorf("%d by the middle of the next window, want about 49", n)
	}
}

func (l *limited) idle() {
	b := l.bucket(5)
	l.fill(b)
	l.advance(2*time.Minute + 17*time.Second)
	if a := l.take(b); !a.Admitted || a.Remaining != 4 || !about(a.Reset, time.Minute) {
		l.Errorf("after two idle windows: got %+v, want a fresh window", a)
	}
	if n := l.fill(b); n != 4 {
		l.Errorf("%d more in the fresh window, want 4", n)
	}
}

func (l *limited) apart() {
	a := l.bucket(3)
	otherScope, otherName := a, a
	otherScope.Scope, otherName.Name = "business", a.Name+"x"
	l.fill(a)
	for _, b := range []ports.Bucket{otherScope, otherName} {
		if n := l.fill(b); n != 3 {
			l.Errorf("%+v admits %d beside a full bucket, want 3", b, n)
		}
	}
}

func (l *limited) allOrNone() {
	wide, narrow := l.bucketOf("business", 100, time.Minute), l.bucket(3)
	for range 3 {
		l.take(wide, narrow)
	}
	for range 20 {
		if a := l.take(wide, narrow); a.Admitted || a.Scope != "key" {
			l.Fatalf("got %+v, want a refusal by key", a)
		}
		if a := l.take(narrow, wide); a.Admitted || a.Scope != "key" {
			l.Fatalf("got %+v, want a refusal by key", a)
		}
	}
	if a := l.look(wide); a.Remaining != 97 {
		l.Errorf("%d are left in the wide bucket, want 97: refused requests were counted", a.Remaining)
	}
	// A refused request begins no window either.
	fresh := l.bucketOf("address", 10, time.Minute)
	l.take(fresh, narrow)
	l.advance(30 * time.Second)
	if a := l.take(fresh); a.Remaining != 9 || !about(a.Reset, time.Minute) {
		l.Errorf("got %+v, want a window that begins now", a)
	}
}

func (l *limited) reported() {
	key, business := l.bucket(10), l.bucketOf("business", 4, time.Minute)
	if a := l.take(key, business); !a.Admitted || a.Scope != "business" || a.Remaining != 3 || a.Limit != business.Limit {
		l.Errorf("got %+v, want the business with 3 left", a)
	}
	for range 7 {
		l.take(key)
	}
	if a := l.take(key, business); !a.Admitted || a.Scope != "key" || a.Remaining != 1 || a.Limit != key.Limit {
		l.Errorf("got %+v, want the key with 1 left", a)
	}
	// Both full: the one that takes longer.
	short, long := l.bucketOf("key", 5, 10*time.Second), l.bucketOf("business", 5, time.Minute)
	l.fill(short)
	l.fill(long)
	for _, both := range [][]ports.Bucket{{short, long}, {long, short}} {
		if a := l.take(both...); a.Admitted || a.Scope != "business" || a.RetryAfter < time.Minute-slack || a.Limit != long.Limit {
			l.Errorf("got %+v, want a refusal by business", a)
		}
	}
}

func (l *limited) peek() {
	b := l.bucket(3)
	for range 10 {
		if a := l.look(b); !a.Admitted || a.Remaining != 3 || a.Scope != b.Scope || a.Limit != b.Limit || a.RetryAfter != 0 {
			l.Fatalf("got %+v, want 3 left", a)
		}
	}
	l.advance(30 * time.Second)
	if a := l.take(b); a.Remaining != 2 || !about(a.Reset, time.Minute) {
		l.Errorf("got %+v, want a window that begins now", a)
	}
	if n := l.fill(b); n != 2 {
		l.Errorf("%d more, want 2", n)
	}
	refused, peeked := l.take(b), l.look(b)
	if peeked != refused {
		l.Errorf("a peek says %+v, a take %+v", peeked, refused)
	}
}

func (l *limited) giveBack() {
	key, business := l.bucket(3), l.bucketOf("business", 5, time.Minute)
	for range 50 {
		if a := l.take(key, business); !a.Admitted || a.Remaining != 2 {
			l.Fatalf("got %+v, want 2 left", a)
		}
		l.undo(key, business)
	}
	if n := l.fill(key); n != 3 {
		l.Errorf("%d in the key's bucket, want 3", n)
	}
	l.undo(key)
	if n := l.fill(key); n != 1 {
		l.Errorf("%d after one was given back, want 1", n)
	}
	for range 20 {
		l.undo(business) // nothing is left to give back
	}
	if n := l.fill(business); n != 5 {
		l.Errorf("%d in the business's bucket, want 5: it went below none", n)
	}
	never := l.bucket(2)
	l.undo(never)
	if n := l.fill(never); n != 2 {
		l.Errorf("%d in a bucket that was only given back to, want 2", n)
	}
}

func (l *limited) giveBackLate() {
	b := l.bucket(4)
	l.fill(b)
	l.advance(2*time.Minute + time.Second)
	for range 4 {
		l.undo(b)
	}
	if n := l.fill(b); n != 4 {
		l.Errorf("%d in a window after late returns, want 4", n)
	}
}

func (l *limited) changedLimit() {
	b := l.bucket(10)
	l.fill(b)
	raised := b
	raised.Limit.Limit = 15
	if n := l.fill(raised); n != 5 {
		l.Errorf("%d more after the limit was raised by 5, want 5", n)
	}
	lowered := b
	lowered.Limit.Limit = 5
	a := l.take(lowered)
	if a.Admitted || a.Remaining != 0 || a.Limit != lowered.Limit {
		l.Errorf("got %+v, want a refusal by the lowered limit", a)
	}
	l.advance((a.RetryAfter + time.Second - 1).Truncate(time.Second))
	if a := l.take(lowered); !a.Admitted {
		l.Errorf("refused again after the wait: %+v", a)
	}
}

const (
	limiterCallers = 8
	limiterTakes   = 200
)

// atOnce runs f in many goroutines, each often, and tells how often f was true.
func (l *limited) atOnce(f func(caller int) bool) int {
	var yes atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for caller := range limiterCallers {
		wg.Go(func() {
			<-start
			for range limiterTakes {
				if f(caller) {
					yes.Add(1)
				}
			}
		})
	}
	close(start)
	wg.Wait()
	return int(yes.Load())
}

func (l *limited) admits(buckets ...ports.Bucket) bool {
	a, err := l.Take(l.Context(), buckets...)
	if err != nil {
		l.Errorf("Take: %v", err)
	}
	return a.Admitted
}

func (l *limited) concurrent() {
	b := l.bucket(600)
	if n := l.atOnce(func(int) bool { return l.admits(b) }); n != 600 {
		l.Errorf("%d of %d were admitted, want exactly 600", n, limiterCallers*limiterTakes)
	}
	back := l.bucket(600)
	l.atOnce(func(int) bool {
		if l.admits(back) {
			_ = l.GiveBack(l.Context(), back)
		}
		return true
	})
	if n := l.fill(back); n != 600 {
		l.Errorf("%d after all was given back, want 600", n)
	}
}

// Four keys of one business: what a key's bucket counted, the business's did too.
func (l *limited) concurrentPairs() {
	business := l.bucketOf("business", 500, time.Minute)
	keys := make([]ports.Bucket, 4)
	for i := range keys {
		keys[i] = l.bucket(150)
	}
	if n := l.atOnce(func(caller int) bool {
		if caller%2 == 0 {
			return l.admits(business, keys[caller%4])
		}
		return l.admits(keys[caller%4], business)
	}); n != 500 {
		l.Errorf("%d were admitted, want exactly the business's 500", n)
	}
	counted := 0
	for _, k := range keys {
		counted += 150 - l.look(k).Remaining
	}
	if counted != 500 {
		l.Errorf("the keys counted %d and their business 500", counted)
	}
}
