package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queue counts what the SDK's batcher would drop silently. It admits as many spans as the batcher
// holds, and learns from the exporter what happened to them.
type queue struct {
	sdktrace.SpanProcessor // the batcher
	exporter               sdktrace.SpanExporter
	capacity               int64
	waiting                atomic.Int64 // admitted, and neither sent nor dropped yet
	dropped                prometheus.Counter
	log                    *slog.Logger
	gone                   bool // the collector, as last logged; the batcher sends one batch at a time
}

func newQueue(e sdktrace.SpanExporter, size int, r prometheus.Registerer, log *slog.Logger,
	options ...sdktrace.BatchSpanProcessorOption) *queue {
	q := &queue{
		exporter: e, capacity: int64(size), log: log,
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waybill_trace_spans_dropped_total", Help: "Spans dropped because the collector was slow or gone.",
		}),
	}
	r.MustRegister(q.dropped)
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(outcomes{q}, append(options, sdktrace.WithMaxQueueSize(size))...)
	return q
}

// OnEnd queues the span or drops it. It never waits.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.capacity {
		q.waiting.Add(-1)
		q.dropped.Inc()
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// outcomes wraps the exporter for the batcher of a queue.
type outcomes struct{ *queue }

// ExportSpans sends a batch. It logs once when the collector is gone and once when it is back.
func (o outcomes) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	err := o.exporter.ExportSpans(ctx, batch)
	o.waiting.Add(-int64(len(batch)))
	switch {
	case err != nil:
		o.dropped.Add(float64(len(batch)))
		if !o.gone {
			o.log.Warn("traces are dropped until the collector takes them", "error", err)
		}
		o.gone = true
	case o.gone:
		o.log.Info("the collector takes traces again")
		o.gone = false
	}
	return nil // already logged
}

// Shutdown ends the exporter, not the queue.
func (o outcomes) Shutdown(ctx context.Context) error { return o.exporter.Shutdown(ctx) }
