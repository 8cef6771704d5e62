package redislimiter

import (
	"context"
	"encoding"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"waybill/domain"
	"waybill/ports"
)

// slowly makes calls one by one, each when it is let, and counts them.
type slowly struct {
	goredis.Scripter
	let   chan error // what befalls the next one
	mu    sync.Mutex
	calls int
	last  encoding.BinaryMarshaler // how many the last call is for
}

func (s *slowly) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *goredis.Cmd {
	s.mu.Lock()
	s.calls++
	s.last, _ = args[len(args)-1].(encoding.BinaryMarshaler)
	s.mu.Unlock()
	if err := <-s.let; err != nil {
		cmd := goredis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	return s.Scripter.EvalSha(ctx, sha1, keys, args...)
}

func (l *Limiter) waiting() (n int64) {
	for _, in := range l.groups() {
		n += in
	}
	return n
}

func (l *Limiter) groups() (all []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		all = append(all, c.n)
	}
	return all
}

func until(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what is awaited does not come")
		}
	}
}

func TestRequestsThatAreCountedTogetherAreToldWhatTheyWereOneByOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before   int // in the window before
		now      int
		requests int
		buckets  func() []ports.Bucket
	}{
		"all have room":          {0, 3, 20, func() []ports.Bucket { return []ports.Bucket{named(100, 1000)} }},
		"some have room":         {0, 3, 20, func() []ports.Bucket { return []ports.Bucket{named(10, 1000)} }},
		"none has room":          {0, 10, 20, func() []ports.Bucket { return []ports.Bucket{named(10, 1000)} }},
		"the last window weighs": {9, 1, 20, func() []ports.Bucket { return []ports.Bucket{named(10, 1000)} }},
		"the second one is full": {5, 2, 20, func() []ports.Bucket { return []ports.Bucket{named(12, 1000), named(7, 3000)} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.UnixMilli(1_000_000_000_000)
			client := &slowly{Scripter: open(t), let: make(chan error, 1000)}
			l := New(client, Options{Now: func() time.Time { return now }})
			take := func(b []ports.Bucket) ports.Allowance {
				got, err := l.Take(t.Context(), b...)
				if err != nil {
					t.Error(err)
				}
				return got
			}
			fill := func() []ports.Bucket {
				now = time.UnixMilli(1_000_000_000_000)
				b := c.buckets()
				for range c.before {
					client.let <- nil
					take(b)
				}
				now = now.Add(1300 * time.Millisecond)
				for range c.now {
					client.let <- nil
					take(b)
				}
				return b
			}
			var want, got []ports.Allowance
			b := fill()
			for range c.requests {
				client.let <- nil
				want = append(want, take(b))
			}
			b = fill()
			calls := client.calls
			answers := make(chan ports.Allowance, c.requests)
			for range c.requests {
				go func() { answers <- take(b) }()
			}
			until(t, func() bool { return l.waiting() == int64(c.requests) })
			client.let <- nil
			for range c.requests {
				got = append(got, <-answers)
			}
			order := func(a, b ports.Allowance) int { return b.Remaining - a.Remaining }
			slices.SortFunc(got, func(a, b ports.Allowance) int {
				if a.Admitted != b.Admitted {
					return map[bool]int{true: -1, false: 1}[a.Admitted]
				}
				return order(a, b)
			})
			if client.calls != calls+1 {
				t.Errorf("%d calls for %d requests, want one", client.calls-calls, c.requests)
			}
			if !slices.Equal(got, want) {
				t.Errorf("together they were told\n%+v\nand one by one\n%+v", got, want)
			}
			client.let <- nil
			if a, err := l.Peek(t.Context(), b...); err != nil || a.Admitted && a.Remaining != want[len(want)-1].Remaining {
				t.Errorf("%+v, %v is left, want what the last one was told, %+v", a, err, want[len(want)-1])
			}
		})
	}
}

// take1 takes one that waits for nobody.
func take1(t *testing.T, l *Limiter, s *slowly, b ports.Bucket) ports.Allowance {
	t.Helper()
	s.let <- nil
	got, err := l.Take(t.Context(), b)
	if err != nil {
		t.Error(err)
	}
	return got
}

func TestWhoLeavesOrFailsTogetherLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	client := &slowly{Scripter: open(t), let: make(chan error, 1000)}
	l := New(client, Options{})
	b := named(100, 60_000)
	take := func(ctx context.Context, to chan<- error) {
		_, err := l.Take(ctx, b)
		to <- err
	}
	beside := func(err error) bool {
		var mark interface{ Beside() }
		return errors.As(err, &mark)
	}
	first, leaveFirst := context.WithCancel(t.Context())
	second, leaveSecond := context.WithCancel(t.Context())
	firstTold, secondTold, othersTold := make(chan error, 1), make(chan error, 1), make(chan error, 10)

	go take(first, firstTold)
	until(t, func() bool { return l.waiting() == 1 })
	go take(second, secondTold)
	for range cap(othersTold) {
		go take(t.Context(), othersTold)
	}
	until(t, func() bool { return l.waiting() == 12 })
	leaveFirst()
	leaveSecond()
	if err := <-secondTold; !errors.Is(err, context.Canceled) || !beside(err) {
		t.Errorf("who left was told %v", err)
	}
	client.let <- nil
	for range cap(othersTold) {
		if err := <-othersTold; err != nil {
			t.Errorf("who stayed was told %v", err)
		}
	}
	<-firstTold
	if _, err := l.Take(first, b); !errors.Is(err, context.Canceled) {
		t.Errorf("who had left before was told %v", err)
	}

	broken := errors.New("the connection broke")
	go take(t.Context(), firstTold)
	until(t, func() bool { return l.waiting() == 1 })
	for range cap(othersTold) {
		go take(t.Context(), othersTold)
	}
	until(t, func() bool { return l.waiting() == 11 })
	client.let <- broken
	if err := <-firstTold; !errors.Is(err, broken) || beside(err) {
		t.Errorf("the first of those that failed was told %v", err)
	}
	for range cap(othersTold) {
		if err := <-othersTold; !errors.Is(err, broken) || !beside(err) {
			t.Errorf("another one that failed was told %v", err)
		}
	}
	if n := l.waiting(); n != 0 {
		t.Errorf("%d wait for nothing", n)
	}
	if failed, err := client.last.MarshalBinary(); err != nil || string(failed) != "0" {
		t.Errorf("written late, the call that failed would count %s, %v", failed, err)
	}

	// Redis has forgotten the script: it is sent along, and counts as many.
	before := take1(t, l, client, b)
	if err := client.Scripter.(*goredis.Client).ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		go take(t.Context(), othersTold)
	}
	until(t, func() bool { return l.waiting() == 5 })
	client.let <- nil
	for range 5 {
		if err := <-othersTold; err != nil {
			t.Error(err)
		}
	}
	if after := take1(t, l, client, b); after.Remaining != before.Remaining-6 {
		t.Errorf("%d are left of %d behind six requests", after.Remaining, before.Remaining)
	}

	// The failure is over, and another limit is another call.
	other := b
	other.Limit = domain.RateLimit{Limit: 50, Window: b.Limit.Window}
	go take(t.Context(), firstTold)
	until(t, func() bool { return l.waiting() == 1 })
	go func() {
		_, err := l.Take(t.Context(), other)
		secondTold <- err
	}()
	until(t, func() bool { return l.waiting() == 2 })
	if n := len(l.groups()); n != 2 {
		t.Errorf("%d calls for two limits, want one each", n)
	}
	client.let <- nil
	client.let <- nil
	if err := errors.Join(<-firstTold, <-secondTold); err != nil {
		t.Error(err)
	}
}

func TestNobodyJoinsACallThatHasFailed(t *testing.T) {
	t.Parallel()
	l := New(nil, Options{})
	failed, next := &calls{limiter: l, name: "a", n: 3}, &calls{limiter: l, name: "a"}
	l.open["a"] = failed
	failed.forget()
	if l.open["a"] != nil || failed.n != 0 {
		t.Errorf("it can be joined, or counts %d", failed.n)
	}
	l.open["a"] = next
	if failed.close(); l.open["a"] != next {
		t.Error("the one after it cannot be joined")
	}
}
