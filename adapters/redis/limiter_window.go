package redis

import (
	"time"

	"waybill/ports"
)

// window is the state of one bucket at one moment, as the script left it. Times are
// milliseconds.
//
// Neither count ever exceeds maxLimit, nor length maxWindow, so that no product in the script
// exceeds 8.64e14: a tenth of 2^53, up to which doubles are exact.
type window struct {
	start    int64 // when the current window began
	length   int64
	count    int64 // requests in the current window
	previous int64 // requests in the one before
}

// windowOf returns the window of the i-th bucket in an answer of the script.
func windowOf(found []int64, i int, b ports.Bucket) window {
	of := found[2+3*i:]
	return window{start: of[0], length: b.Limit.Window.Milliseconds(), count: of[1], previous: of[2]}
}

// less returns the window without one of its requests, as the script gives one back.
func (w window) less() window {
	switch {
	case w.count > 0:
		w.count--
	case w.previous > 0:
		w.previous--
	}
	return w
}

// left returns the remaining weight, in requests times length: integers keep every comparison
// exact. The millisecond of now counts as passed.
func (w window) left(now, limit int64) int64 {
	return (limit-w.count)*w.length - w.previous*(w.start+w.length-now-1)
}

// remaining returns the remaining whole requests. A request that has begun to fade no longer
// counts. So a client that used up its limit at once waits one window, and not a little more.
func (w window) remaining(now, limit int64) int64 {
	return max(0, ceilDiv(w.left(now, limit), w.length))
}

// retryAfter returns the wait until there is room, if nothing else is counted.
func (w window) retryAfter(now, limit int64) int64 {
	if w.left(now, limit) > 0 {
		return 0
	}
	end := w.start + w.length
	if w.count < limit {
		// Within this window, when enough of the previous one has faded; at the latest at its
		// end.
		return end - ceilDiv((limit-w.count)*w.length, w.previous) - now
	}
	// Within the next window, where the requests of this one fade.
	return end + w.length - ceilDiv(limit*w.length, w.count) - now
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
