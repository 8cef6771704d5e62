package redislimiter_test

import (
	"context"
	"testing"
	"time"

	"waybill/adapters/ratelimit/redislimiter"
	"waybill/ports"
)

// crowd is a client whose callers come together, so many at a time.
type crowd struct {
	redislimiter.Single
	callers, place int
	value          any
}

func (c *crowd) Together(ctx context.Context, _ string, args func(callers int) []any) (value any, place int, err error) {
	if c.place%c.callers == 0 {
		if c.value, err = c.Do(ctx, args(c.callers)...).Result(); err != nil {
			return nil, 0, err
		}
	}
	place = c.place % c.callers
	c.place++
	return c.value, place, nil
}

func TestOfCallersThatComeTogetherAsManyAreAdmittedAsThereIsRoomFor(t *testing.T) {
	t.Parallel()
	c, client := start(), &crowd{Single: redislimiter.Single{shared(t)}, callers: 4}
	l := redislimiter.New(client, redislimiter.Options{Now: c.Now})
	take(t, redislimiter.New(client.Single, redislimiter.Options{}), bucket(1, time.Second)) // Redis learns the script
	narrow, wide := bucket(6, time.Minute), bucket(100, time.Minute)
	told, counted := 0, int64(0)
	l.Tell(func(_ ports.Bucket, _ time.Duration, count, _ int64) { told, counted = told+1, count })
	for i := range 8 {
		a := take(t, l, narrow, wide)
		if admitted := i < 6; a.Admitted != admitted || a.Scope != "key" || a.Limit.Limit != 6 || a.Remaining != max(0, 5-i) ||
			(a.RetryAfter > 0) == admitted {
			t.Errorf("%d: %+v", i, a)
		}
	}
	if told != 8*2 || counted != 6 { // each may be the only one that is still there
		t.Errorf("told %d times, %d at last; want two buckets by each caller, and 6", told, counted)
	}
	if a, err := l.Peek(t.Context(), wide); err != nil || a.Remaining != 94 {
		t.Errorf("%+v, %v: those who were refused were counted", a, err)
	}
}

// Callers whose limit, bucket or window differs are never one.
func TestOnlyCallersOfTheSameBucketsAndLimitsAreOfAKind(t *testing.T) {
	t.Parallel()
	b := bucket(5, time.Minute)
	limit, window, other := b, b, bucket(5, time.Minute)
	limit.Limit.Limit, window.Limit.Window = 6, time.Second
	kinds := map[string]bool{}
	client := &kindsOf{redislimiter.Single{shared(t)}, kinds}
	all := [][]ports.Bucket{{b}, {limit}, {window}, {other}, {b, other}, {b, limit}}
	for _, buckets := range append(all, all...) {
		take(t, redislimiter.New(client, redislimiter.Options{}), buckets...)
	}
	if len(kinds) != len(all) {
		t.Errorf("%d kinds of %d: %v", len(kinds), len(all), kinds)
	}
}

// kindsOf notes which kinds callers name.
type kindsOf struct {
	redislimiter.Single
	kinds map[string]bool
}

func (k *kindsOf) Together(ctx context.Context, kind string, args func(callers int) []any) (value any, place int, err error) {
	k.kinds[kind] = true
	return k.Single.Together(ctx, kind, args)
}
