package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"waybill/domain"
)

// identifiers makes random IDs, except for a span that begins a trace with known IDs.
type identifiers struct{}

type rootKey struct{}

type root struct {
	trace trace.TraceID
	span  trace.SpanID
}

func (identifiers) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if known, ok := ctx.Value(rootKey{}).(root); ok {
		return known.trace, known.span
	}
	for !t.IsValid() {
		binary.NativeEndian.PutUint64(t[:8], rand.Uint64()) //nolint:gosec // an ID that has to be new, not secret
		binary.NativeEndian.PutUint64(t[8:], rand.Uint64()) //nolint:gosec // an ID that has to be new, not secret
	}
	return t, identifiers{}.NewSpanID(ctx, t)
}

func (identifiers) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	for !s.IsValid() {
		binary.NativeEndian.PutUint64(s[:], rand.Uint64()) //nolint:gosec // an ID that has to be new, not secret
	}
	return s
}

// rootOf returns the root span of an event's trace, computed from the event's ID.
func rootOf(event domain.ID) (r root) {
	sum := sha256.Sum256([]byte(event))
	copy(r.trace[:], sum[:16])
	copy(r.span[:], sum[16:24])
	return r
}

// begin starts the root of an event's trace. The sampler decides by the ID, so that it decides
// alike each time.
func (t *Tracing) begin(event domain.ID, options ...trace.SpanStartOption) trace.Span {
	ctx := context.WithValue(context.Background(), rootKey{}, rootOf(event))
	_, span := t.tracer.Start(ctx, "event", append(options, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindProducer))...)
	return span
}

// below returns a context in which spans are children of the event's root, which another process
// may have written, days ago. The root begun here only provides its sampling decision. It never
// ends, so it is not sent a second time.
func (t *Tracing) below(ctx context.Context, event domain.ID) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, t.begin(event).SpanContext())
}

// committed is an event that a transaction made.
type committed struct {
	id, delivery domain.ID
	of           string
}

// announce writes the roots of committed events. It links them with the span that made them, if
// there is one.
func (t *Tracing) announce(cause trace.Span, events []committed) {
	for _, e := range events {
		options := []trace.SpanStartOption{trace.WithAttributes(
			attribute.String("waybill.event_id", string(e.id)), attribute.String("waybill.event_type", e.of),
			attribute.String("waybill.delivery_id", string(e.delivery)),
		)}
		if cause.SpanContext().IsValid() {
			options = append(options, trace.WithLinks(trace.Link{
				SpanContext: cause.SpanContext(), Attributes: []attribute.KeyValue{attribute.String("waybill.link", "cause")},
			}))
		}
		span := t.begin(e.id, options...)
		cause.AddLink(trace.Link{SpanContext: span.SpanContext(), Attributes: []attribute.KeyValue{
			attribute.String("waybill.link", "event"), attribute.String("waybill.event_id", string(e.id)),
		}})
		span.End()
	}
}
