package circuitbreaker

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errTest = errors.New("it failed")

// ends makes a call that ends with this evidence, and reports whether it was made.
func ends(t *testing.T, b *Breaker, caller, question string, e Evidence) (made bool) {
	t.Helper()
	err := b.Do(Call{caller, question}, func() (Evidence, error) {
		made = true
		return e, errTest
	})
	if made == errors.Is(err, ErrOpen) {
		t.Fatalf("made %t and returned %v", made, err)
	}
	return made
}

// serviceBreaker returns a breaker configured like that of a service that is asked about trips.
func serviceBreaker(changes *[]bool) *Breaker {
	return NewBreaker(BreakerOptions{
		Questions: outageTrips, Callers: outageBusinesses,
		OnChange: func(open bool) { *changes = append(*changes, open) },
	})
}

func TestOnlyFailuresOfSeveralQuestionsBySeveralCallersOpenTheBreaker(t *testing.T) {
	t.Parallel()
	type call struct {
		caller, question string
		ends             Evidence
	}
	gone := func(caller, question string) call { return call{caller, question, Gone} }
	many := func(n int, c call) []call { return slices.Repeat([]call{c}, n) }
	outage := []call{gone("a", "1"), gone("a", "2"), gone("b", "3"), gone("b", "4"), gone("a", "5")}
	for name, c := range map[string]struct {
		calls []call
		open  bool
	}{
		"an outage":     {outage, true},
		"four failures": {outage[:4], false},
		"one caller with many trips": {[]call{gone("a", "1"), gone("a", "2"), gone("a", "3"), gone("a", "4"), gone("a", "5"), gone("a", "6"),
			gone("a", "7")}, false},
		"two trips of two callers":   {append(many(20, gone("a", "1")), many(20, gone("b", "2"))...), false},
		"bad answers":                {many(100, call{"a", "1", Answered}), false},
		"callers that went away":     {append(many(50, call{"a", "1", None}), many(50, call{"b", "2", None})...), false},
		"an answer in between":       {slices.Insert(slices.Clone(outage), 3, call{"c", "9", Answered}), false},
		"a caller that left between": {slices.Insert(slices.Clone(outage), 3, call{"c", "9", None}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []bool
			b := serviceBreaker(&changes)
			for i, c := range c.calls {
				if !ends(t, b, c.caller, c.question, c.ends) {
					t.Fatalf("call %d was not made", i)
				}
			}
			if made := ends(t, b, "a", "z", None); made == c.open {
				t.Errorf("the next call was made: %t", made)
			}
			if told := len(changes) == 1 && changes[0]; told != c.open {
				t.Errorf("told of %v", changes)
			}
		})
	}
}

// openOne returns a breaker that has just opened.
func openOne(t *testing.T, changes *[]bool) *Breaker {
	t.Helper()
	b := serviceBreaker(changes)
	for _, c := range []string{"a1", "a2", "b3", "b4", "a5"} {
		ends(t, b, c[:1], c[1:], Gone)
	}
	if !slices.Equal(*changes, []bool{true}) {
		t.Fatalf("told of %v", *changes)
	}
	return b
}

func TestAnOpenBreakerLetsOneCallAnIntervalThroughThoughEarlierOnesHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes []bool
		b := openOne(t, &changes)
		came, made := 0, 0
		release := make(chan struct{})
		for range 1000 { // one a millisecond
			came++
			go func() {
				_ = b.Do(Call{"a", came}, func() (Evidence, error) {
					made++
					<-release
					return Gone, errTest
				})
			}()
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		if made != 3 {
			t.Errorf("%d of %d calls were made within a second, want one each 250 ms", made, came)
		}
		close(release)
		synctest.Wait()
		time.Sleep(defaultInterval)
		if !ends(t, b, "a", "back", Answered) || !ends(t, b, "a", "next", Answered) {
			t.Error("the service is back, and calls are not made")
		}
		if !slices.Equal(changes, []bool{true, false}) {
			t.Errorf("told of %v", changes)
		}
	})
}

func TestASlowServiceOfTwoCallersIsNoOutageToAThird(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes []bool
		b := openOne(t, &changes)
		if ends(t, b, "a", "6", Gone) || ends(t, b, "b", "6", Gone) {
			t.Error("those whose calls failed are let through at once")
		}
		var made atomic.Int32
		for range 10 { // at a time
			go func() {
				_ = b.Do(Call{"c", "7"}, func() (Evidence, error) {
					made.Add(1)
					time.Sleep(time.Millisecond)
					return Answered, nil
				})
			}()
		}
		synctest.Wait()
		if made.Load() != 10 {
			t.Errorf("%d of 10 calls were made of a caller who saw nothing fail", made.Load())
		}
		time.Sleep(2 * time.Millisecond)
		if !ends(t, b, "a", "8", Gone) || !slices.Equal(changes, []bool{true, false}) {
			t.Errorf("an answer to the third did not close the breaker: %v", changes)
		}
	})
}

func TestAnOutageEndsTheCallsOfEachCallerAfterOneOfThemFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes []bool
		b := openOne(t, &changes)
		if !ends(t, b, "c", "7", Gone) || ends(t, b, "c", "8", Gone) {
			t.Error("want one call of a caller who saw nothing fail, and no second one")
		}
	})
}

func TestACallThatItsCallerEndedKeepsNoOtherOneBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes []bool
		b := openOne(t, &changes)
		time.Sleep(defaultInterval)
		if !ends(t, b, "a", "1", None) || !ends(t, b, "b", "2", Gone) || ends(t, b, "a", "3", None) {
			t.Error("want the second call in place of the first, and not the third")
		}
	})
}

func TestAFailureThatBeganBeforeTheLastAnswerTellsOfAnEarlierTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes []bool
		b := serviceBreaker(&changes)
		release := make(chan struct{})
		for i := range 20 {
			go func() {
				_ = b.Do(Call{i % 2, i}, func() (Evidence, error) {
					<-release
					return Gone, errTest
				})
			}()
		}
		synctest.Wait()
		ends(t, b, "a", "1", Answered)
		close(release)
		synctest.Wait()
		if len(changes) != 0 {
			t.Errorf("told of %v", changes)
		}
	})
}

func TestAPanicIsNoEvidence(t *testing.T) {
	t.Parallel()
	b := NewBreaker(BreakerOptions{})
	for i := range 20 {
		func() {
			defer func() { _ = recover() }()
			_ = b.Do(Call{i, i}, func() (Evidence, error) { panic("oops") })
		}()
	}
	if !ends(t, b, "a", "1", None) {
		t.Error("panics opened the breaker")
	}
}

func TestWhatTheEndOfACallShows(t *testing.T) {
	t.Parallel()
	here := t.Context()
	left, leave := context.WithCancel(here)
	leave()
	unanswered := &Unanswered{errTest}
	for name, c := range map[string]struct{ got, want Evidence }{
		"HTTP: a success":                      {OfHTTP(here, nil), Answered},
		"HTTP: a success behind a caller":      {OfHTTP(left, nil), Answered},
		"HTTP: a bad answer":                   {OfHTTP(here, errTest), Answered},
		"HTTP: no answer":                      {OfHTTP(here, unanswered), Gone},
		"HTTP: no answer, and the caller left": {OfHTTP(left, unanswered), None},
		"Redis: a success":                     {OfRedis(here, nil), Answered},
		"Redis: a failure":                     {OfRedis(here, errTest), Gone},
		"Redis: the caller left":               {OfRedis(left, errTest), None},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
