package telemetry

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"waybill/domain"
	"waybill/ports"
)

// TracedPricing traces prices.
type TracedPricing struct {
	pricing ports.Pricing
	tracing *Tracing
}

var (
	_ ports.Pricing       = (*TracedPricing)(nil)
	_ ports.Routing       = (*TracedRouting)(nil)
	_ ports.WebhookSender = (*TracedWebhookSender)(nil)
)

// Pricing wraps the real pricing.
func (t *Tracing) Pricing(p ports.Pricing) ports.Pricing {
	if t == nil {
		return p
	}
	return &TracedPricing{p, t}
}

// Price requests a price in a span.
func (p *TracedPricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	ctx, span := p.tracing.child(ctx, "price", trace.SpanKindClient, attribute.String("waybill.vehicle_type", string(trip.VehicleType)))
	quote, err := p.pricing.Price(ctx, trip)
	end(span, err)
	return quote, err
}

// TracedRouting traces distances.
type TracedRouting struct {
	routing ports.Routing
	tracing *Tracing
}

// Routing wraps the real routing.
func (t *Tracing) Routing(r ports.Routing) ports.Routing {
	if t == nil {
		return r
	}
	return &TracedRouting{r, t}
}

// Distance requests a distance in a span.
func (r *TracedRouting) Distance(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
	ctx, span := r.tracing.child(ctx, "distance", trace.SpanKindClient, attribute.String("waybill.vehicle_type", string(trip.VehicleType)))
	distance, err := r.routing.Distance(ctx, trip)
	end(span, err)
	return distance, err
}

// TracedWebhookSender traces attempts to send webhooks.
type TracedWebhookSender struct {
	ports.WebhookSender
	tracing *Tracing
}

// WebhookSender wraps the real sender.
func (t *Tracing) WebhookSender(s ports.WebhookSender) ports.WebhookSender {
	if t == nil {
		return s
	}
	return &TracedWebhookSender{s, t}
}

// Send sends in a span of the event's trace. The message itself does not change.
func (s *TracedWebhookSender) Send(ctx context.Context, m ports.WebhookMessage) domain.WebhookResult {
	event := domain.ID(m.Header[domain.HeaderWebhookID])
	attempt, _ := strconv.Atoi(m.Header[domain.HeaderWebhookAttempt]) // 0 if there is none
	_, span := s.tracing.tracer.Start(s.tracing.below(ctx, event), "webhook attempt", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("waybill.event_id", string(event)), attribute.Int("waybill.attempt", attempt)))
	result := s.WebhookSender.Send(ctx, m)
	if result.StatusCode != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", result.StatusCode))
	}
	if !result.Succeeded() {
		span.SetAttributes(attribute.String("error.type", cmp.Or(string(result.Error), otherError)))
		span.SetStatus(codes.Error, "")
	}
	span.End()
	return result
}

// Codes of errors without a code of their own.
const (
	otherError     = "other"
	timedOut       = "timeout"
	outcomeUnknown = "outcome_unknown"
	storageGone    = "storage_gone"
)

// codeOf returns one of a fixed set of words for an error.
func codeOf(err error) string {
	var ours *domain.Error
	var outside *ports.OutsideServiceAreaError
	switch {
	case errors.As(err, &ours) && ours.Code != "":
		return ours.Code
	case errors.As(err, &outside):
		return "OUTSIDE_SERVICE_AREA"
	case errors.Is(err, context.DeadlineExceeded):
		return timedOut
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	for _, known := range []struct {
		err  error
		word string
	}{
		{ports.ErrKeyTaken, "key_taken"}, {ports.ErrKeyBusy, "key_busy"}, {ports.ErrDirectoryChanged, "directory_changed"},
		{ports.ErrExternalIDTaken, "external_id_taken"}, {ports.ErrReferenceTaken, "reference_taken"},
		{ports.ErrOutcomeUnknown, outcomeUnknown}, {ports.ErrStorageGone, storageGone}, {ports.ErrTookTooLong, timedOut},
		{ports.ErrNoRoute, "no_route"},
		{ports.ErrLeaseLost, "lease_lost"}, {ports.ErrItemDone, "item_done"}, {ports.ErrSimulationLimit, "simulation_limit"},
	} {
		if errors.Is(err, known.err) {
			return known.word
		}
	}
	return otherError
}
