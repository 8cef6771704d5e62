package domain

import "time"

const (
	// WebhooksSummed is how many of the last events a summary covers.
	WebhooksSummed = 200
	// MaxWaitingCounted limits the count of pending webhooks.
	MaxWaitingCounted = 10_000
)

// WebhookSummary says how an endpoint has done lately, for people.
type WebhookSummary struct {
	Waiting int        // pending webhooks, counted up to MaxWaitingCounted
	NextAt  *time.Time // when the first of them is due; nil: none is pending
	Tried   int        // of the last WebhooksSummed events, those with an attempt
	Arrived int        // and those of them that arrived
	// LastFailure is the last failed attempt among these events and the first pending ones; nil:
	// none.
	LastFailure *WebhookAttempt
}

// WarnAfter is how long an endpoint fails before people are warned that it will be disabled. A day
// is more than a deployment takes, and leaves two for the repair.
const WarnAfter = 24 * time.Hour

// DisabledFrom returns when an endpoint that continues to fail is disabled, or the zero time where
// it does not fail.
func (h WebhookHealth) DisabledFrom() time.Time {
	if h.FailingSince == nil {
		return time.Time{}
	}
	return h.FailingSince.Add(DisableAfterFor)
}

// FailingNotice reports that an endpoint will be disabled unless it recovers. It returns false
// where that is not so, or too early to say. Each time of failing gets one notice.
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
