package domain

import "time"

const (
	// WebhooksSummed is of how many events, the last ones, a summary tells.
	WebhooksSummed = 200
	// MaxWaitingCounted is up to where what waits is counted.
	MaxWaitingCounted = 10_000
)

// WebhookSummary is how an endpoint has done lately, for people.
type WebhookSummary struct {
	Waiting int        // pending webhooks, counted up to MaxWaitingCounted
	NextAt  *time.Time // when the first of them is due; nil: none waits
	Tried   int        // of the last WebhooksSummed events, those with an attempt
	Arrived int        // and those of them that arrived
	// LastFailure is the last failed attempt among these events and the first that
	// wait; nil: none.
	LastFailure *WebhookAttempt
}

// WarnAfter is how long an endpoint fails before people are told that it will be
// disabled: a day is more than a deployment takes, and leaves two for the repair.
const WarnAfter = 24 * time.Hour

// DisabledFrom is from when on an endpoint that goes on failing is disabled; the zero
// time of one that does not fail.
func (h WebhookHealth) DisabledFrom() time.Time {
	if h.FailingSince == nil {
		return time.Time{}
	}
	return h.FailingSince.Add(disableAfterFor)
}

// FailingNotice tells that an endpoint will be disabled unless it answers; false where
// that is not so, or too early to tell. A time of failing is told of once.
func FailingNotice(e WebhookEndpoint, now time.Time) (Notice, bool) {
	since := e.Health.FailingSince
	if !e.Enabled || e.Listener || since == nil || now.Sub(*since) < WarnAfter {
		return Notice{}, false
	}
	n := endpointNotice(MailEndpointFailing, e, digestID(PrefixWebhookEndpoint, string(e.ID), FormatTime(*since)), now)
	n.Facts[FactSince] = FormatTime(*since)
	n.Facts[FactUntil] = FormatTime(e.Health.DisabledFrom())
	return n, true
}
