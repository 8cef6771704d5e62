package memory

import "time"

// window is the state of one bucket at one moment. Times are microseconds.
type window struct {
	start    int64 // when the current window began
	length   int64
	count    int64 // requests in the current window
	previous int64 // requests in the one before
}

// at returns the window moved to now, which is never before an earlier time.
func (w window) at(now int64) window {
	switch {
	case now < w.start+w.length:
	case now < w.start+2*w.length:
		w.start, w.previous, w.count = w.start+w.length, w.count, 0
	default:
		w = window{start: w.start, length: w.length}
	}
	// An empty window starts anew, so that it begins with its first request.
	if w.previous == 0 && w.count == 0 {
		w.start = now
	}
	return w
}

// plus returns the window with one more request.
func (w window) plus() window {
	w.count++
	return w
}

// less returns the window without one of its requests.
func (w window) less() window {
	switch {
	case w.count > 0:
		w.count--
	case w.previous > 0:
		w.previous--
	}
	return w
}

// used returns the weight of all requests, in requests times length: integers keep every
// comparison exact.
func (w window) used(now int64) int64 {
	return w.previous*(w.start+w.length-now) + w.count*w.length
}

// admits reports whether one more request fits. A request that has begun to fade no longer
// counts. So a client that used up its limit at once waits one window, and not a little more.
func (w window) admits(now, limit int64) bool {
	return w.used(now) < limit*w.length
}

func (w window) remaining(now, limit int64) int64 {
	return max(0, ceilDiv(limit*w.length-w.used(now), w.length))
}

// retryAfter returns the wait until the window admits a request, if nothing else is counted.
func (w window) retryAfter(now, limit int64) int64 {
	if w.admits(now, limit) {
		return 0
	}
	end := w.start + w.length
	if w.count < limit {
		// Within this window, when enough of the previous one has faded; at the latest at its
		// end.
		return end + 1 - ceilDiv((limit-w.count)*w.length, w.previous) - now
	}
	// Within the next window, where the requests of this one fade.
	return end + w.length + 1 - ceilDiv(limit*w.length, w.count) - now
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
