package domain

import "time"

const (
	// circuitAfter is how many failures in a row open the circuit. It opens for circuitFirst at
	// first, and after doubling for circuitMost at most.
	circuitAfter = 10
	circuitFirst = 30 * time.Second
	circuitMost  = 10 * time.Minute

	// An endpoint that failed so often, and for so long, is disabled.
	disableAfter    = 50
	disableAfterFor = 72 * time.Hour

	// slowAnswer is the response time that makes an endpoint slow, and slowFor for how long.
	slowAnswer = 2 * time.Second
	slowFor    = time.Minute
)

// WebhookHealth is the health of an endpoint by its attempts so far. The zero value has no
// failures.
type WebhookHealth struct {
	Failures     int // in a row
	FailingSince *time.Time
	// While the circuit is open nothing is sent. Then one probe decides.
	OpenUntil *time.Time
	Opened    int        // times in a row
	SlowUntil *time.Time // until then other workers serve it, so that it delays no other endpoint
}

// Slow reports whether the endpoint was slow lately.
func (h WebhookHealth) Slow(now time.Time) bool {
	return h.SlowUntil != nil && now.Before(*h.SlowUntil)
}

// Open reports whether nothing may be sent now.
func (h WebhookHealth) Open(now time.Time) bool {
	return h.OpenUntil != nil && now.Before(*h.OpenUntil)
}

// Hurry makes the probe of an open circuit due, since a caller requested an attempt. hurried is
// false where the circuit is not open.
func (h *WebhookHealth) Hurry(now time.Time) (hurried bool) {
	if !h.Open(now) {
		return false
	}
	h.OpenUntil = &now
	return true
}

// Probing reports whether the next attempt alone decides about the circuit.
func (h WebhookHealth) Probing(now time.Time) bool { return h.OpenUntil != nil && !h.Open(now) }

// After returns the health after an attempt that ended now.
func (h WebhookHealth) After(r WebhookResult, now time.Time) WebhookHealth {
	if r.Duration >= slowAnswer {
		until := now.Add(slowFor)
		h.SlowUntil = &until
	}
	if r.Succeeded() {
		return WebhookHealth{SlowUntil: h.SlowUntil}
	}
	probed := h.Probing(now)
	h.Failures++
	if h.FailingSince == nil {
		h.FailingSince = &now
	}
	if probed || h.OpenUntil == nil && h.Failures >= circuitAfter {
		until := now.Add(min(circuitFirst<<min(h.Opened, 10), circuitMost))
		h.Opened++
		h.OpenUntil = &until
	}
	return h
}

// DisabledReason returns why an endpoint of this health is disabled after the result; empty: it is
// not.
func (h WebhookHealth) DisabledReason(r WebhookResult, now time.Time) DisabledReason {
	switch {
	case r.StatusCode == 410:
		return DisabledGone
	case h.Failures >= disableAfter && h.FailingSince != nil && now.Sub(*h.FailingSince) >= disableAfterFor:
		return DisabledFailing
	}
	return ""
}
