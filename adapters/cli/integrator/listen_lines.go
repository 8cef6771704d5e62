package integrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// AttemptLine is an attempt as a script gets it.
type AttemptLine struct {
	Kind              string          `json:"kind"` // attempt
	Time              string          `json:"time"`
	EventID           string          `json:"event_id"`
	EventType         string          `json:"event_type"`
	DeliveryID        string          `json:"delivery_id,omitempty"`
	WebhookDeliveryID string          `json:"webhook_delivery_id"`
	Attempt           int             `json:"attempt"`
	Succeeded         bool            `json:"succeeded"`
	StatusCode        int             `json:"status_code,omitempty"`
	ErrorClass        string          `json:"error_class,omitempty"`
	DurationMS        int64           `json:"duration_ms"`
	ResponseExcerpt   string          `json:"response_excerpt,omitempty"`
	Payload           json.RawMessage `json:"payload,omitempty"`
}

func (s *listening) printAttempt(w *incomingWebhook, r domain.WebhookResult) {
	delivery := deliveryOf(&w.payload)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if s.p.AsJSON {
		line := AttemptLine{
			"attempt", domain.FormatTime(s.last), w.EventID, string(w.EventType), delivery, w.WebhookDeliveryID, w.Attempt,
			r.Succeeded(), r.StatusCode, string(r.Error), r.Duration.Milliseconds(), r.Excerpt, nil,
		}
		if json.Valid([]byte(w.Body)) {
			line.Payload = json.RawMessage(w.Body)
		}
		if s.forwardTo == "" {
			line.StatusCode = 0 // no server responded
		}
		s.p.sayRecord(line)
		return
	}
	outcome := "received"
	if s.forwardTo != "" {
		outcome = s.outcome(r) + ", " + milliseconds(r.Duration)
	}
	if w.Attempt > 1 {
		outcome += ", attempt " + strconv.Itoa(w.Attempt)
	}
	fmt.Fprintf(s.lines, "%s  %s  %s\n", term.ClockTime(domain.FormatTime(s.last)), aboutEvent(string(w.EventType), delivery), outcome)
}

// aboutEvent formats the type of an event and its delivery in columns, as wide as the longest.
// An event of an endpoint has no delivery.
func aboutEvent(kind, delivery string) string {
	widest := 0
	for _, t := range domain.EventTypes() {
		widest = max(widest, len(t))
	}
	return fmt.Sprintf("%-*s  %-*s", widest, term.PlainText(kind), len(domain.MakeID(domain.PrefixDelivery, [16]byte{})),
		cmp.Or(term.PlainText(delivery), "-"))
}

// sayRecord prints a line of JSON for a script.
func (p *Commands) sayRecord(record any) {
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(record) // a closed pipe ends the program by itself
}

// outcome describes the status, or why there is none.
func (s *listening) outcome(r domain.WebhookResult) string {
	switch r.Error {
	case domain.ErrorRefused:
		return "POST refused: nothing listens on " + s.host
	case domain.ErrorDNS:
		return "POST failed: this machine does not know the host of " + s.host
	case domain.ErrorBlockedIP:
		return "POST not sent: " + s.host + " has a reserved address"
	case domain.ErrorReset:
		return "POST failed: the connection broke off before an answer"
	case domain.ErrorTLS:
		return "POST failed: no TLS with " + s.host + " (is it https there, with a certificate that is trusted here?)"
	case domain.ErrorTimeoutConnect:
		return "POST failed: no connection to " + s.host + " in time"
	case domain.ErrorTimeoutResponse:
		return "POST failed: no answer within 15 s"
	case domain.ErrorBodyTooLarge:
		return "POST failed: the headers of the answer are too large"
	}
	line := statusLine(r.StatusCode)
	if r.Error == domain.ErrorRedirect {
		line += " (redirects are not followed)"
	}
	return line
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + " ms" }

// beat explains at intervals why nothing arrives.
func (s *listening) beat(ctx context.Context) {
	if s.p.AsJSON {
		return
	}
	for {
		s.mu.Lock()
		since := s.last
		s.mu.Unlock()
		if quiet := time.Since(since); quiet < heartbeat {
			if !sleep(ctx, heartbeat-quiet) {
				return
			}
			continue
		}
		why := s.whyNothing(ctx, since)
		s.mu.Lock()
		if s.last.Equal(since) { // nothing arrived meanwhile
			s.last = time.Now()
			if why != "" && ctx.Err() == nil {
				s.message(why)
			}
		}
		s.mu.Unlock()
	}
}

// whyNothing searches the feed for events that were not asked for. It returns "" while the
// service is away, which is reported elsewhere.
func (s *listening) whyNothing(ctx context.Context, since time.Time) string {
	ctx, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	answer, err := s.client.attempt(ctx, get("/events?limit=100&created_after="+url.QueryEscape(domain.FormatTime(since.Add(s.skew)))))
	if answer.status == 0 {
		return ""
	}
	var events []waybillapi.WebhookEvent
	if err == nil {
		err = answer.decode(&events)
	}
	quiet := "no events for " + strconv.Itoa(int(heartbeat.Seconds())) + " s; listening for " + strings.Join(s.matched(), ", ")
	mask, _ := domain.MaskOfPatterns(s.matched())
	others := map[string]bool{}
	for _, e := range events {
		if domain.MaskOf(domain.EventType(e.Type))&mask == 0 {
			others[term.PlainText(string(e.Type))] = true
		}
	}
	if err == nil && len(others) > 0 {
		names := slices.Sorted(maps.Keys(others))
		return quiet + ", and what happened was " + strings.Join(names[:min(len(names), len(domain.EventTypes()))], ", ")
	}
	return quiet + s.whatToTry(mask)
}

// whatToTry names a scenario that causes a requested event.
func (s *listening) whatToTry(mask domain.EventMask) string {
	for _, scenario := range append([]domain.Scenario{domain.ScenarioDelivered}, domain.Scenarios()...) {
		makes := domain.MaskOf(domain.DeliveryEventTypes()[0]) // it books
		for _, step := range scenario.Steps() {
			makes |= domain.MaskOf(domain.EventType("delivery." + string(step.To)))
		}
		if makes&mask != 0 {
			return "; try: " + s.p.Ourselves() + " trigger " + string(scenario) + s.client.flags
		}
	}
	return "; deliveries make none of these"
}
