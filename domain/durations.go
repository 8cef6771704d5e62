package domain

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Durations is a histogram of durations that can be added to others. Its buckets are
// log-spaced, eight for each doubling from a second on: a quantile is at most 4.5 %
// off a duration that was added. What is shorter than a second counts as one.
type Durations map[int]int64

const (
	bucketsPerDoubling = 8
	// DurationsError is how far a quantile may be off, as a share of it.
	DurationsError = 0.045
)

// Add adds a duration; a negative one, of clocks that differ, counts as a second.
func (h *Durations) Add(d time.Duration) {
	bucket := 0
	if d > time.Second {
		bucket = int(bucketsPerDoubling * math.Log2(d.Seconds()))
	}
	h.AddTo(bucket, 1)
}

// AddTo adds n durations of one bucket.
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

// Count is how many durations there are.
func (h Durations) Count() (n int64) {
	for _, of := range h {
		n += of
	}
	return n
}

// Quantile is the duration that a share of all durations does not exceed; false
// where there are none.
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
