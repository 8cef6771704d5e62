package domain

import (
	"slices"
	"time"
)

// WebhookStatus is the status of one event for one endpoint.
type WebhookStatus string

// The statuses of a webhook delivery.
const (
	WebhookPending   WebhookStatus = "pending" // an attempt is due, now or later
	WebhookSucceeded WebhookStatus = "succeeded"
	WebhookFailed    WebhookStatus = "failed" // the schedule is used up
	WebhookHeld      WebhookStatus = "held"   // the endpoint is disabled
)

// WebhookStatuses lists every status.
func WebhookStatuses() []WebhookStatus {
	return []WebhookStatus{WebhookPending, WebhookSucceeded, WebhookFailed, WebhookHeld}
}

// WebhookTrigger says why an attempt is made.
type WebhookTrigger string

// The triggers.
const (
	TriggerSchedule WebhookTrigger = "schedule"
	TriggerProbe    WebhookTrigger = "probe" // tests an endpoint whose circuit was open
	TriggerManual   WebhookTrigger = "manual"
	TriggerRecover  WebhookTrigger = "recover"
	TriggerTest     WebhookTrigger = "test"
)

// WebhookDelivery is one event for one endpoint.
type WebhookDelivery struct {
	ID         ID
	EndpointID ID
	EventID    ID
	EventType  EventType
	DeliveryID ID  // empty for an event of an endpoint
	Sequence   int // within the delivery
	Status     WebhookStatus
	Attempts   int // made
	Used       int // attempts of the schedule; a manual attempt uses none
	DueAt      *time.Time
	Trigger    WebhookTrigger // of the next attempt
	CreatedAt  time.Time

	// Back is the status after a failed attempt outside the schedule; empty: the schedule
	// continues.
	Back WebhookStatus
}

// WebhookDeliveryID returns the ID for an event and the endpoint in a slot: the event's own ID,
// with the slot as its last digit. So one statement can store an event for all endpoints without
// drawing an ID for each.
func WebhookDeliveryID(event ID, slot int) ID {
	hex := event.Hex()
	return ID(string(PrefixWebhookDelivery) + hex[:len(hex)-1] + string("0123456789abcdef"[slot]))
}

// ErrorClass says how an attempt failed. The HTTP status has the details.
type ErrorClass string

// The classes.
const (
	ErrorDNS             ErrorClass = "dns"
	ErrorBlockedIP       ErrorClass = "blocked_ip"
	ErrorRefused         ErrorClass = "refused"
	ErrorReset           ErrorClass = "reset"
	ErrorTLS             ErrorClass = "tls"
	ErrorTimeoutConnect  ErrorClass = "timeout_connect"
	ErrorTimeoutResponse ErrorClass = "timeout_response"
	ErrorBodyTooLarge    ErrorClass = "body_too_large"
	ErrorHTTP4xx         ErrorClass = "http_4xx"
	ErrorHTTP5xx         ErrorClass = "http_5xx"
	ErrorRedirect        ErrorClass = "redirect"
)

// ErrorClasses lists every class.
func ErrorClasses() []ErrorClass {
	return []ErrorClass{
		ErrorDNS, ErrorBlockedIP, ErrorRefused, ErrorReset, ErrorTLS, ErrorTimeoutConnect, ErrorTimeoutResponse,
		ErrorBodyTooLarge, ErrorHTTP4xx, ErrorHTTP5xx, ErrorRedirect,
	}
}

// StatusClass returns the class of a response by its status; empty: success.
func StatusClass(status int) ErrorClass {
	switch status / 100 {
	case 2:
		return ""
	case 3:
		return ErrorRedirect
	case 4:
		return ErrorHTTP4xx
	}
	return ErrorHTTP5xx
}

// WebhookResult is the result of one attempt.
type WebhookResult struct {
	StatusCode int        // 0: no response
	Error      ErrorClass // empty: success
	StartedAt  time.Time
	Duration   time.Duration
	Excerpt    string        // of the response body
	RetryAfter time.Duration // requested by the receiver; 0: none
}

// Succeeded reports whether the response was a 2xx.
func (r WebhookResult) Succeeded() bool {
	return r.Error == "" && r.StatusCode >= 200 && r.StatusCode < 300
}

// WebhookAttempt is one attempt as the log shows it.
type WebhookAttempt struct {
	ID         ID
	DeliveryID ID // of the webhook delivery
	Number     int
	Trigger    WebhookTrigger
	Result     WebhookResult
	NextAt     *time.Time // nil: none follows
}

// Record notes an attempt that ended now. jitter is from [0, 1).
func (d *WebhookDelivery) Record(id ID, r WebhookResult, s RetrySchedule, probe bool, jitter float64, now time.Time) WebhookAttempt {
	trigger := d.Trigger
	if probe && trigger == TriggerSchedule {
		trigger = TriggerProbe
	}
	d.Attempts++
	d.settle(r, s, jitter, now)
	d.Trigger, d.Back = TriggerSchedule, ""
	return WebhookAttempt{ID: id, DeliveryID: d.ID, Number: d.Attempts, Trigger: trigger, Result: r, NextAt: d.DueAt}
}

func (d *WebhookDelivery) settle(r WebhookResult, s RetrySchedule, jitter float64, now time.Time) {
	if r.Succeeded() {
		d.Status, d.DueAt = WebhookSucceeded, nil
		return
	}
	if d.Back != "" {
		d.Status, d.DueAt = d.Back, nil
		return
	}
	if d.Trigger != TriggerManual {
		d.Used++
	}
	wait, some := s.Wait(max(d.Used, 1), r.RetryAfter, jitter)
	if !some {
		d.Status, d.DueAt = WebhookFailed, nil
		return
	}
	due := Millis(now.Add(wait))
	d.Status, d.DueAt = WebhookPending, &due
}

// Redeliver makes one more attempt due now, outside the schedule. changed is false where one is due
// already.
func (d *WebhookDelivery) Redeliver(now time.Time) (changed bool) {
	if d.Status == WebhookPending && d.DueAt != nil && !d.DueAt.After(now) {
		return false
	}
	if d.Status != WebhookPending {
		d.Back = d.Status
	}
	d.Status, d.DueAt, d.Trigger = WebhookPending, &now, TriggerManual
	return true
}

// WebhookDeliveryFilter narrows a list of webhook deliveries; zero fields do not narrow.
type WebhookDeliveryFilter struct {
	Status        WebhookStatus
	EventType     EventType
	DeliveryID    ID
	CreatedAfter  *time.Time // inclusive
	CreatedBefore *time.Time // exclusive
}

// RecoverableFor is how long undelivered webhooks can be recovered. Then they are deleted.
const RecoverableFor = 30 * 24 * time.Hour

// Recovery selects webhook deliveries to retry.
type Recovery struct {
	Since, Until time.Time // of the event's creation; Until is exclusive
	Only         WebhookStatus
}

// Statuses lists the statuses that are recovered.
func (r Recovery) Statuses() []WebhookStatus {
	both := []WebhookStatus{WebhookFailed, WebhookHeld}
	if slices.Contains(both, r.Only) {
		return []WebhookStatus{r.Only}
	}
	return both
}
