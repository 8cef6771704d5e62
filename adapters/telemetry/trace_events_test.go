package telemetry

import (
	"encoding/binary"
	"log/slog"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"waybill/domain"
)

func newEvent(t *testing.T) domain.ID {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return domain.MakeID(domain.PrefixEvent, id)
}

// Two processes, each by itself, put an event and its attempts in one trace.
func TestTwoProcessesFindTheSameTraceOfAnEvent(t *testing.T) {
	t.Parallel()
	open := func() (*Tracing, *exporter) {
		to := &exporter{}
		return start(smallQueue(to, slog.New(slog.DiscardHandler)), resource.Empty()), to
	}
	server, toServer := open()
	worker, toWorker := open()
	event := newEvent(t)
	root := server.begin(event)
	root.End()
	parent := trace.SpanContextFromContext(worker.below(t.Context(), event))
	if got := parent.TraceID(); got != root.SpanContext().TraceID() {
		t.Fatalf("parent.TraceID(): %v, want %v", got, root.SpanContext().TraceID())
	}
	if got := parent.SpanID(); got != root.SpanContext().SpanID() {
		t.Fatalf("parent.SpanID(): %v, want %v", got, root.SpanContext().SpanID())
	}
	if !parent.IsSampled() {
		t.Fatal("parent.IsSampled() is false")
	}
	if !parent.IsRemote() {
		t.Fatal("parent.IsRemote() is false")
	}
	if got := trace.SpanContextFromContext(worker.below(t.Context(), newEvent(t))).TraceID(); got == parent.TraceID() {
		t.Fatalf("the trace of another event: %v, want another", got)
	}
	if err := server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := worker.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"event"}, toServer.names); diff != "" {
		t.Fatalf("toServer.names (-want +got):\n%s", diff)
	}
	if len(toWorker.names) != 0 {
		t.Fatalf("the root is written once, by whoever made the event: %v, want none", toWorker.names)
	}
}

// Samplers take the lower half of a trace ID for a number without pattern. The
// traces of events of one moment, whose IDs are alike, have to be spread.
func TestTracesOfEventsAreSpreadEvenlyForSamplers(t *testing.T) {
	t.Parallel()
	const events, ratio = 4000, 0.25
	sampled := 0
	for range events {
		r := rootOf(newEvent(t))
		if float64(binary.BigEndian.Uint64(r.trace[8:])>>1)/(1<<63) < ratio {
			sampled++
		}
	}
	if got := float64(sampled) / events; math.Abs(got-ratio) > 0.05 {
		t.Fatalf("%v of the events are sampled, want %v", got, ratio)
	}
}

func TestIdentifiersAreNeverZeroAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[trace.TraceID]bool{}
	for range 1000 {
		id, span := identifiers{}.NewIDs(t.Context())
		if !id.IsValid() || !span.IsValid() || seen[id] {
			t.Fatalf("the pair %v, %v is not valid or was there before", id, span)
		}
		seen[id] = true
	}
}
