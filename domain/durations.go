package domain

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Durations is a histogram of durations that can be merged with others. Its buckets are log-spaced,
// eight for each doubling from a second on. So a quantile differs at most 4.5 % from a duration
// that was added. A duration below a second counts as a second.
type Durations map[int]int64

const (
	bucketsPerDoubling = 8
	// DurationsError is the maximum relative error of a quantile.
	DurationsError = 0.045
)

// Add adds a duration. A negative one, from clocks that differ, counts as a second.
func (h *Durations) Add(d time.Duration) {
	bucket := 0
	if d > time.Second {
		bucket = int(bucketsPerDoubling * math.Log2(d.Seconds()))
	}
	h.AddTo(bucket, 1)
}

// AddTo adds n durations to one bucket.
func (h *Durations) AddTo(bucket int, n int64) {
	if *h == nil {
		*h = Durations{}
	}
	(*h)[bucket] += n
}

// Merge adds all durations of another histogram.
func (h *Durations) Merge(other Durations) {
	for bucket, n := range other {
		h.AddTo(bucket, n)
	}
}

// Count returns the number of durations.
func (h Durations) Count() (n int64) {
	for _, of := range h {
		n += of
	}
	return n
}

// Quantile returns the duration that a share of all durations does not exceed, or false where there
// are none.
func (h Durations) Quantile(share float64) (time.Duration, bool) {
	left := int64(math.Ceil(share * float64(h.Count())))
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		if left -= h[bucket]; left <= 0 {
			middle := math.Exp2((float64(bucket) + .5) / bucketsPerDoubling)
			return time.Duration(middle * float64(time.Second)), true
		}
	}
	return 0, false
}
