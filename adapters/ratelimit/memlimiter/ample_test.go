package memlimiter

import (
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

func limited(limit int, window time.Duration) ports.Bucket {
	return ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: limit, Window: window}}
}

// ample takes as many as there is ample room for, and tells before which of them the other limiter is
// first due to hear of it; 0: of none.
func (h *hand) ample(b ...ports.Bucket) (n, due int) {
	h.Helper()
	for n < 1000 {
		_, tell, _, counted := h.TakeAmple(b...)
		if !counted {
			break
		}
		if n++; len(tell) > 0 && due == 0 {
			due = n
		}

	}
	return n, due
}

func TestRoomIsAmpleForAHundredthOfTheLimitWhileHalfOfItIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit     int
		window    time.Duration
		counted   int64
		later     time.Duration
		want, due int
	}{
		"just told of":                      {1000, time.Minute, 1, 0, 10, 5},
		"almost a second ago":               {1000, time.Minute, 1, time.Second - time.Millisecond, 10, 5},
		"a second ago, and nothing is owed": {1000, time.Minute, 1, time.Second, 0, 0},
		"half of it left":                   {1000, time.Minute, 496, 0, 5, 5},
		"less left":                         {1000, time.Minute, 501, 0, 0, 0},
		"too few to be worth it":            {399, time.Minute, 1, 0, 0, 0},
		"enough":                            {400, time.Minute, 1, 0, 4, 2},
		"a short window":                    {1000, time.Second, 1, 49 * time.Millisecond, 10, 5},
		"half of a tenth of a short window": {1000, time.Second, 1, 50 * time.Millisecond, 0, 0},
	} {
		h, b := newHand(t), limited(c.limit, c.window)
		h.Remember(b, time.Millisecond, c.counted, 0)
		h.at = h.at.Add(c.later)
		if got, due := h.ample(b); got != c.want || due != c.due {
			t.Errorf("%s: %d were counted, the other limiter is due at %d; want %d and %d", name, got, due, c.want, c.due)
		}
		if owed, _ := h.Owed(b); owed != c.want {
			t.Errorf("%s: %d are owed, want %d", name, owed, c.want)
		}
	}
}

func TestWhatIsOwedIsDueAfterASecondAndNothingIsCountedAheadAfterTwo(t *testing.T) {
	t.Parallel()
	h, b := newHand(t), limited(1000, time.Minute)
	h.Remember(b, time.Millisecond, 1, 0)
	for _, c := range []struct {
		later               time.Duration
		counted, due, begun bool
	}{
		{0, true, false, true},
		{time.Second - time.Microsecond, true, false, false}, // it was told of a second ago, less a moment
		{time.Microsecond, true, true, false},
		{time.Second - 2*time.Microsecond, true, true, false},
		{2 * time.Microsecond, false, false, false},
	} {
		h.at = h.at.Add(c.later)
		_, due, begun, counted := h.TakeAmple(b)
		if counted != c.counted || (len(due) > 0) != c.due || (len(begun) > 0) != c.begun {
			t.Errorf("%v later: counted %v, due %v, begun %v", c.later, counted, due, begun)
		}
	}
}

func TestABucketHasBegunToOweOnceASecondHoweverOftenItIsGivenBack(t *testing.T) {
	t.Parallel()
	h, b := newHand(t), limited(1000, time.Minute)
	times := 0
	for range 40 {
		h.Remember(b, time.Millisecond, 1, 0)
		_, _, begun, _ := h.TakeAmple(b)
		times += len(begun)
		h.GiveBackOwed(b)
		h.at = h.at.Add(100 * time.Millisecond)
	}
	if times != 4 {
		t.Errorf("%d times in 4 s", times)
	}
}

func TestRoomThatNobodyToldOfIsNotAmple(t *testing.T) {
	t.Parallel()
	h, b := newHand(t), limited(1000, time.Minute)
	if n, _ := h.ample(b); n != 0 {
		t.Errorf("%d were counted of a bucket that is not known", n)
	}
	if _, err := h.Take(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if n, _ := h.ample(b); n != 0 {
		t.Errorf("%d were counted of a bucket that is known here alone", n)
	}
	if n, _ := h.ample(); n != 0 {
		t.Errorf("%d were counted against no bucket", n)
	}
	if n, _ := h.ample(limited(0, time.Minute)); n != 0 {
		t.Errorf("%d were counted against a limit that cannot be meant", n)
	}
}

func TestARequestNeedsAmpleRoomInEachOfItsBuckets(t *testing.T) {
	t.Parallel()
	h, narrow, wide := newHand(t), limited(1000, time.Minute), limited(5000, time.Hour)
	h.Remember(narrow, time.Millisecond, 1, 0)
	if n, _ := h.ample(narrow, wide); n != 0 {
		t.Errorf("%d were counted, and one bucket is not known", n)
	}
	h.Remember(wide, time.Millisecond, 1, 0)
	for range 5 {
		_, due, _, counted := h.TakeAmple(wide, narrow)
		if owed, _ := h.Owed(narrow); !counted || (len(due) > 0) != (owed == 5) || len(due) > 0 && due[0] != narrow {
			t.Errorf("%d owed: counted %v, due %v", owed, counted, due)
		}
	}
	// What was told is settled, and there is room for as many again.
	h.Remember(narrow, time.Millisecond, 6, 0)
	h.Settle(narrow, 5)
	if n, _ := h.ample(narrow, wide); n != 10 {
		t.Errorf("%d more were counted, want 10", n)
	}
	if owed, _ := h.Owed(wide); owed != 15 {
		t.Errorf("the other bucket owes %d, want 15", owed)
	}
}

func TestWhatIsGivenBackOfWhatIsOwedIsNeverTold(t *testing.T) {
	t.Parallel()
	h, narrow, wide := newHand(t), limited(1000, time.Minute), limited(5000, time.Hour)
	h.Remember(narrow, time.Millisecond, 1, 0)
	h.Remember(wide, time.Millisecond, 1, 0)
	for range 2 {
		h.TakeAmple(narrow, wide)
	}
	h.Settle(narrow, 1)
	for i, want := range []bool{true, false} { // one is owed of the one, and one is left then of the other
		if got := h.GiveBackOwed(narrow, wide); got != want {
			t.Errorf("%d: given back is %v", i, got)
		}
	}
	few, _ := h.Owed(narrow)
	many, _ := h.Owed(wide)
	if few != 0 || many != 1 {
		t.Errorf("%d and %d are owed, want 0 and 1", few, many)
	}
}

func TestWhatTheOtherLimiterIsBeingToldIsGivenBackThere(t *testing.T) {
	t.Parallel()
	h, b := newHand(t), limited(1000, time.Minute)
	h.Remember(b, time.Millisecond, 1, 0)
	h.TakeAmple(b)
	told, _ := h.Owed(b)
	if h.GiveBackOwed(b) {
		t.Error("what the other limiter may count by now was given back here alone")
	}
	h.Settle(b, told)
	h.TakeAmple(b)
	if !h.GiveBackOwed(b) {
		t.Error("what is owed since was not given back")
	}
}

func TestABucketNamedTwiceIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	h, b := newHand(t), limited(1000, time.Minute)
	h.Remember(b, time.Millisecond, 1, 0)
	for range 3 {
		h.TakeAmple(b, b)
	}
	h.GiveBackOwed(b, b)
	if owed, _ := h.Owed(b); owed != 2 {
		t.Errorf("%d are owed, want 2", owed)
	}
}
