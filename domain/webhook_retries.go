package domain

import "time"

// RetrySchedule holds the waits after the first failure, the second, and so on.
type RetrySchedule []time.Duration

// DefaultRetrySchedule returns the schedule of an environment. It is dense at first, because a
// delivery lasts minutes to hours.
func DefaultRetrySchedule(e Environment) RetrySchedule {
	waits := RetrySchedule{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}
	if e == Live {
		waits = append(waits, 30*time.Minute, time.Hour, 3*time.Hour, 6*time.Hour, 12*time.Hour, 24*time.Hour, 24*time.Hour)
	}
	return waits
}

// retryAfterMost is the longest wait that a receiver may request, unless the schedule has a longer
// one.
const retryAfterMost = time.Hour

// Wait returns how long after so many failures the next attempt is due. ok is false where none
// follows. Waits vary by a fifth either way, so that receivers do not get all retries at once.
func (s RetrySchedule) Wait(failures int, retryAfter time.Duration, jitter float64) (wait time.Duration, ok bool) {
	if failures > len(s) {
		return 0, false
	}
	base := s[failures-1]
	wait = time.Duration(float64(base) * (0.8 + 0.4*jitter))
	// Jitter may go below what the receiver requested. A request may only lengthen the wait.
	return max(wait, min(retryAfter, max(2*base, retryAfterMost))), true
}
