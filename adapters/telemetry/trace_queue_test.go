package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporter is a collector inside the process.
type exporter struct {
	mu    sync.Mutex
	names []string
	fail  error
	hang  bool
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	fail, hang := e.fail, e.hang
	e.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if fail != nil {
		return fail
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range spans {
		e.names = append(e.names, s.Name())
	}
	return nil
}

// exported are the names of what came, so far.
func (e *exporter) exported() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.names)
}

func (e *exporter) Shutdown(context.Context) error { return nil }

func (e *exporter) set(fail error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail = fail
}

const delay = time.Second // of the bubble's clock

// smallQueue holds four spans and sends two at a time.
func smallQueue(e sdktrace.SpanExporter, log *slog.Logger) *queue {
	return newQueue(e, 4, prometheus.NewRegistry(), log, sdktrace.WithMaxExportBatchSize(2), sdktrace.WithBatchTimeout(delay))
}

func spans(t *testing.T, tracing *Tracing, n int) {
	t.Helper()
	for range n {
		_, span := tracing.tracer.Start(t.Context(), "span")
		span.End()
	}
}

// dropped is the counter, as it is scraped.
func otlpDropped(t *testing.T, q *queue) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(q.dropped)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 {
		t.Fatalf("families: %v, want 1 of them", families)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

func TestSpansAreSentWithinTheDelayAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &exporter{}
		q := smallQueue(to, slog.New(slog.DiscardHandler))
		tracing := start(q, resource.Empty())
		spans(t, tracing, 1)
		synctest.Wait()
		if got := to.exported(); len(got) != 0 {
			t.Fatalf("to.exported(): %v, want none", got)
		}
		time.Sleep(delay)
		synctest.Wait()
		if got := to.exported(); len(got) != 1 {
			t.Fatalf("to.exported(): %v, want 1 of them", got)
		}
		spans(t, tracing, 3)
		if err := tracing.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := to.exported(); len(got) != 4 {
			t.Fatalf("to.exported(): %v, want 4 of them", got)
		}
		if got := otlpDropped(t, q); got != 0 {
			t.Fatalf("dropped(t, q): %v, want none", got)
		}
		spans(t, tracing, 1) // late, and not waited for
		if err := tracing.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestACollectorThatFailsIsToldOnceAndWhatItMissedIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		to := &exporter{fail: errors.New("the collector answered 500")}
		q := smallQueue(to, slog.New(slog.NewTextHandler(&log, nil)))
		tracing := start(q, resource.Empty())
		for range 3 {
			spans(t, tracing, 2)
			synctest.Wait()
		}
		if got := otlpDropped(t, q); got != 6.0 {
			t.Fatalf("dropped(t, q): %v, want 6", got)
		}
		if got := strings.Count(log.String(), "traces are dropped"); got != 1 {
			t.Fatalf("%s: %d, want 1", log.String(), got)
		}
		to.set(nil)
		spans(t, tracing, 4)
		if err := tracing.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := to.exported(); len(got) != 4 {
			t.Fatalf("to.exported(): %v, want 4 of them", got)
		}
		if got := strings.Count(log.String(), "takes traces again"); got != 1 {
			t.Fatalf("%s: %d, want 1", log.String(), got)
		}
	})
}

// The queue is bounded, ending a span never waits, and the end of the process
// waits no longer than it says.
func TestACollectorThatHangsHoldsUpNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &exporter{hang: true}
		q := smallQueue(to, slog.New(slog.DiscardHandler))
		tracing := start(q, resource.Empty())
		begun := time.Now()
		spans(t, tracing, 2)
		synctest.Wait() // these hang
		spans(t, tracing, 10)
		if got := time.Since(begun); got != 0 {
			t.Fatalf("time.Since(begun): %v, want none", got)
		}
		if got := otlpDropped(t, q); got != 8.0 {
			t.Fatalf("the queue holds 4, with those under way: %v, want 8", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := tracing.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("tracing.Close(ctx): %v, want %v", err, context.DeadlineExceeded)
		}
		if got := time.Since(begun); got != 5*time.Second {
			t.Fatalf("time.Since(begun): %v, want %v", got, 5*time.Second)
		}
		// The batcher gives up each of its batches after half a minute; the last two spans may be one or two.
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := otlpDropped(t, q); got != 12.0 {
			t.Fatalf("dropped(t, q): %v, want 12", got)
		}
	})
}
