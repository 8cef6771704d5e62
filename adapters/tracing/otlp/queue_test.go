package otlp

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
	"github.com/stretchr/testify/require"
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
func dropped(t *testing.T, q *queue) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(q.dropped)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
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
		require.Empty(t, to.exported())
		time.Sleep(delay)
		synctest.Wait()
		require.Len(t, to.exported(), 1)
		spans(t, tracing, 3)
		require.NoError(t, tracing.Close(t.Context()))
		require.Len(t, to.exported(), 4)
		require.Zero(t, dropped(t, q))
		spans(t, tracing, 1) // late, and not waited for
		require.NoError(t, tracing.Close(t.Context()))
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
		require.Equal(t, 6.0, dropped(t, q))
		require.Equal(t, 1, strings.Count(log.String(), "traces are dropped"), log.String())
		to.set(nil)
		spans(t, tracing, 4)
		require.NoError(t, tracing.Close(t.Context()))
		require.Len(t, to.exported(), 4)
		require.Equal(t, 1, strings.Count(log.String(), "takes traces again"), log.String())
	})
}

// The queue is bounded, ending a span never waits, and the end of the process
// waits no longer than it says.
func TestACollectorThatHangsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &exporter{hang: true}
		q := smallQueue(to, slog.New(slog.DiscardHandler))
		tracing := start(q, resource.Empty())
		begun := time.Now()
		spans(t, tracing, 2)
		synctest.Wait() // these hang
		spans(t, tracing, 10)
		require.Zero(t, time.Since(begun))
		require.Equal(t, 8.0, dropped(t, q), "the queue holds 4, with those under way")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, tracing.Close(ctx), context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(begun))
		time.Sleep(time.Minute) // the batcher gives up
		synctest.Wait()
		require.Equal(t, 12.0, dropped(t, q))
	})
}
