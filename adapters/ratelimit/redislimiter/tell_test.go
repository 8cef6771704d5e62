package redislimiter_test

import (
	"testing"
	"time"

	"waybill/adapters/ratelimit/redislimiter"
	"waybill/ports"
)

// state is what was told of a bucket last.
type state struct {
	age             time.Duration
	count, previous int64
}

func TestEachAnswerIsTold(t *testing.T) {
	t.Parallel()
	c := start()
	l := redislimiter.New(shared(t), redislimiter.Options{Now: c.Now})
	told := map[string]state{}
	l.Tell(func(b ports.Bucket, age time.Duration, count, previous int64) {
		told[b.Name] = state{age, count, previous}
	})
	one, two := bucket(3, time.Minute), bucket(20, time.Hour)
	tells := func(what string, of ports.Bucket, want state) {
		t.Helper()
		if got := told[of.Name]; got != want {
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

func TestWhatIsAddedIsCountedAsFarAsThereIsRoom(t *testing.T) {
	t.Parallel()
	l := redislimiter.New(shared(t), redislimiter.Options{Now: start().Now})
	b := bucket(20, time.Hour)
	var counted int64
	l.Tell(func(_ ports.Bucket, _ time.Duration, count, _ int64) { counted = count })
	for _, c := range []struct{ add, want int }{{5, 5}, {9, 14}, {9, 20}, {1, 20}} {
		if err := l.Add(t.Context(), b, c.add); err != nil || counted != int64(c.want) {
			t.Errorf("after %d more there are %d, %v; want %d", c.add, counted, err, c.want)
		}
	}
	if a := take(t, l, b); a.Admitted {
		t.Error("there is room")
	}
	bad := b
	bad.Limit.Limit = 0
	if err := l.Add(t.Context(), bad, 1); err == nil {
		t.Error("a limit that cannot be meant is no error")
	}
}
