package otlp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// processor keeps ended spans until they are sent, in batches. It is not the one
// of OpenTelemetry, which does not tell how many spans it dropped.
type processor struct {
	exporter sdktrace.SpanExporter
	settings queueSettings
	queue    chan sdktrace.ReadOnlySpan
	dropped  prometheus.Counter
	log      *slog.Logger

	gone   bool // the collector, as the log was told
	stop   sync.Once
	ending chan struct{}      // closed: send the rest and end
	ended  chan struct{}      // closed: nothing runs any more
	abort  context.CancelFunc // of what is being sent
}

func newProcessor(e sdktrace.SpanExporter, s queueSettings, r prometheus.Registerer, log *slog.Logger) *processor {
	ctx, abort := context.WithCancel(context.Background())
	p := &processor{
		exporter: e, settings: s, log: log, queue: make(chan sdktrace.ReadOnlySpan, s.size), abort: abort,
		ending: make(chan struct{}), ended: make(chan struct{}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waybill_trace_spans_dropped_total", Help: "Spans that were not sent, since the collector was slow or gone.",
		}),
	}
	r.MustRegister(p.dropped)
	go p.run(ctx)
	return p
}

// OnStart does nothing.
func (p *processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues the span, or drops it: it never waits.
func (p *processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case <-p.ending:
		p.dropped.Inc()
		return
	default:
	}
	select {
	case p.queue <- s:
	default:
		p.dropped.Inc()
	}
}

func (p *processor) run(ctx context.Context) {
	defer close(p.ended)
	tick := time.NewTicker(p.settings.every)
	defer tick.Stop()
	batch := make([]sdktrace.ReadOnlySpan, 0, p.settings.batch)
	for {
		select {
		case s := <-p.queue:
			if batch = append(batch, s); len(batch) == p.settings.batch {
				batch = p.send(ctx, batch)
			}
		case <-tick.C:
			batch = p.send(ctx, batch)
		case <-p.ending:
			for {
				select {
				case s := <-p.queue:
					if batch = append(batch, s); len(batch) == p.settings.batch {
						batch = p.send(ctx, batch)
					}
				default:
					p.send(ctx, batch)
					return
				}
			}
		}
	}
}

// send sends a batch, and returns an empty one. The log tells once when the
// collector is gone and once when it is back.
func (p *processor) send(ctx context.Context, batch []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	if len(batch) == 0 {
		return batch
	}
	within, cancel := context.WithTimeout(ctx, p.settings.export)
	defer cancel()
	err := p.exporter.ExportSpans(within, batch)
	switch {
	case err != nil:
		p.dropped.Add(float64(len(batch)))
		if !p.gone {
			p.log.Warn("traces are dropped until the collector takes them", "error", err)
		}
		p.gone = true
	case p.gone:
		p.log.Info("the collector takes traces again")
		p.gone = false
	}
	clear(batch)
	return batch[:0]
}

// ForceFlush does nothing: what waits is sent every few seconds and at the end.
func (p *processor) ForceFlush(context.Context) error { return nil }

// Shutdown sends what waits, until ctx ends.
func (p *processor) Shutdown(ctx context.Context) error {
	p.stop.Do(func() { close(p.ending) })
	var err error
	select {
	case <-p.ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.abort()
	<-p.ended
	return err
}
