package domain

import "time"

// When the circuit of an endpoint opens, and when the endpoint is disabled.
const (
	// CircuitAfter is how many failures in a row open the circuit.
	CircuitAfter = 10
	// CircuitFirst is how long the circuit is open at first, and CircuitMost after doubling.
	CircuitFirst = 30 * time.Second
	CircuitMost  = 10 * time.Minute

	// DisableAfter is how many failures disable an endpoint, if none of its attempts succeeded for
	// DisableAfterFor.
	DisableAfter    = 50
	DisableAfterFor = 72 * time.Hour

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
	if probed || h.OpenUntil == nil && h.Failures >= CircuitAfter {
		until := now.Add(min(CircuitFirst<<min(h.Opened, 10), CircuitMost))
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
	case h.Failures >= DisableAfter && h.FailingSince != nil && now.Sub(*h.FailingSince) >= DisableAfterFor:
		return DisabledFailing
	}
	return ""
}
