package redis_test

import (
	"testing"
	"time"

	"waybill/adapters/redis"
	"waybill/ports"
)

// state is what was observed of a bucket last.
type state struct {
	age             time.Duration
	count, previous int64
}

func TestEachAnswerIsTold(t *testing.T) {
	t.Parallel()
	c := start()
	l := redis.NewLimiter(shared(t), redis.LimiterOptions{Now: c.Now})
	observed := map[string]state{}
	l.Observe(func(b ports.Bucket, age time.Duration, count, previous int64) {
		observed[b.Name] = state{age, count, previous}
	})
	one, two := bucket(3, time.Minute), bucket(20, time.Hour)
	tells := func(what string, of ports.Bucket, want state) {
		t.Helper()
		if got := observed[of.Name]; got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	for range 3 {
		take(t, l, one, two)
	}
	tells("taken", one, state{count: 3})
	tells("of the other", two, state{count: 3})
	take(t, l, one, two)
	tells("refused", two, state{count: 3})
	c.Advance(10 * time.Second)
	if _, err := l.Peek(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	tells("peeked", two, state{10 * time.Second, 3, 0})
	if err := l.GiveBack(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	tells("given back", one, state{10 * time.Second, 2, 0})
	c.Advance(time.Minute)
	take(t, l, one)
	tells("a window later", one, state{10 * time.Second, 1, 2})
}
