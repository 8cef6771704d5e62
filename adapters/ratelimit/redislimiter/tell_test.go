package redislimiter_test

import (
	"math/rand/v2"
	"strconv"
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
	l := redislimiter.New(redislimiter.Single{shared(t)}, redislimiter.Options{Now: c.Now})
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
	l := redislimiter.New(redislimiter.Single{shared(t)}, redislimiter.Options{Now: start().Now})
	b := bucket(20, time.Hour)
	var counted int64
	debts := rand.Uint64()
	l.Tell(func(_ ports.Bucket, _ time.Duration, count, _ int64) { counted = count })
	for i, c := range []struct{ add, want int }{{5, 5}, {9, 14}, {9, 20}, {1, 20}} {
		if err := l.Add(t.Context(), b, c.add, debts+uint64(i)); err != nil || counted != int64(c.want) {
			t.Errorf("after %d more there are %d, %v; want %d", c.add, counted, err, c.want)
		}
	}
	if a := take(t, l, b); a.Admitted {
		t.Error("there is room")
	}
	bad := b
	bad.Limit.Limit = 0
	if err := l.Add(t.Context(), bad, 1, debts); err == nil {
		t.Error("a limit that cannot be meant is no error")
	}
}

// A caller without an answer adds again, and more may be owed by then.
func TestADebtThatIsAddedAgainCountsOnce(t *testing.T) {
	t.Parallel()
	c, client := start(), shared(t)
	l := redislimiter.New(redislimiter.Single{client}, redislimiter.Options{Now: c.Now})
	b := bucket(20, time.Hour)
	var counted int64
	l.Tell(func(_ ports.Bucket, _ time.Duration, count, _ int64) { counted = count })
	one, other := rand.Uint64(), rand.Uint64()
	for _, a := range []struct {
		debt      uint64
		add, want int
	}{{one, 5, 5}, {one, 5, 5}, {other, 3, 8}, {one, 7, 10}, {one, 5, 10}, {one, 7, 10}, {other, 3, 10}, {one, 30, 20}, {one, 30, 20}} {
		if err := l.Add(t.Context(), b, a.add, a.debt); err != nil || counted != int64(a.want) {
			t.Errorf("%d of a debt: %d are counted, %v; want %d", a.add, counted, err, a.want)
		}
	}
	// A process has a new debt every second or so, and repeats one within a few.
	key := "waybill:{limit}:debt:" + strconv.FormatUint(one, 36)
	if left := client.PTTL(t.Context(), key).Val(); left <= 0 || left > 10*time.Second {
		t.Errorf("the debt is known for %v, want ten seconds at most", left)
	}
}
