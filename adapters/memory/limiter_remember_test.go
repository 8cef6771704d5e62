package memory

import (
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var hourly = ports.Bucket{Scope: "key", Name: "a", Limit: domain.RateLimit{Limit: 20, Window: time.Hour}}

// hand is a limiter with the clock it uses.
type hand struct {
	*testing.T
	*Limiter
	at time.Time
}

func newHand(t *testing.T) *hand {
	h := &hand{T: t, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	h.Limiter = NewLimiter(func() time.Time { return h.at })
	return h
}

// admits takes requests until one is refused, 100 times at most, and returns the count.
func (h *hand) admits() (n int) {
	h.Helper()
	for ; n < 100; n++ {
		if a, err := h.Take(h.Context(), hourly); err != nil || !a.Admitted {
			return n
		}
	}
	return n
}

func (h *hand) left() int {
	h.Helper()
	a, err := h.Peek(h.Context(), hourly)
	if err != nil {
		h.Fatal(err)
	}
	return a.Remaining
}

func TestACountGoesOnFromWhatIsRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age             time.Duration
		count, previous int64
		later           time.Duration
		want            int
	}{
		"of this window":              {time.Minute, 15, 0, 0, 5},
		"none":                        {time.Minute, 0, 0, 0, 20},
		"full":                        {time.Minute, 20, 0, 0, 0},
		"and of the window before":    {30 * time.Minute, 5, 20, 0, 5},
		"which fades":                 {30 * time.Minute, 5, 20, 15 * time.Minute, 10},
		"a window that ended by now":  {30 * time.Minute, 20, 0, 45 * time.Minute, 5},
		"a window that was long over": {30 * time.Minute, 20, 0, 91 * time.Minute, 20},
	} {
		h := newHand(t)
		h.Remember(hourly, c.age, c.count, c.previous)
		h.at = h.at.Add(c.later)
		if got := h.admits(); got != c.want {
			t.Errorf("%s: %d were admitted, want %d", name, got, c.want)
		}
	}
}

// Answers that were given one after the other may arrive in reverse order.
func TestAnAnswerThatWasOvertakenDoesNotTakeBackWhatIsKnown(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	h.Remember(hourly, time.Minute, 20, 0)
	h.at = h.at.Add(40 * time.Millisecond)
	h.Remember(hourly, time.Minute, 12, 0)
	if left := h.left(); left != 0 {
		t.Errorf("%d are left, want none", left)
	}
	// Yet requests that were given back meanwhile count soon.
	h.at = h.at.Add(20 * time.Millisecond)
	h.Remember(hourly, time.Minute, 12, 0)
	if left := h.left(); left != 8 {
		t.Errorf("%d are left, want 8", left)
	}
}
