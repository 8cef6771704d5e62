package otlp

import (
	"encoding/binary"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"waybill/domain"
)

func newEvent(t *testing.T) domain.ID {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
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
	require.Equal(t, root.SpanContext().TraceID(), parent.TraceID())
	require.Equal(t, root.SpanContext().SpanID(), parent.SpanID())
	require.True(t, parent.IsSampled())
	require.True(t, parent.IsRemote())
	require.NotEqual(t, parent.TraceID(), trace.SpanContextFromContext(worker.below(t.Context(), newEvent(t))).TraceID())
	require.NoError(t, server.Close(t.Context()))
	require.NoError(t, worker.Close(t.Context()))
	require.Equal(t, []string{"event"}, toServer.names)
	require.Empty(t, toWorker.names, "the root is written once, by whoever made the event")
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
	require.InDelta(t, ratio, float64(sampled)/events, 0.05)
}

func TestIdentifiersAreNeverZeroAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[trace.TraceID]bool{}
	for range 1000 {
		id, span := identifiers{}.NewIDs(t.Context())
		require.True(t, id.IsValid() && span.IsValid() && !seen[id])
		seen[id] = true
	}
}
