package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/httpapi"
	"waybill/adapters/telemetry"
	"waybill/configs"
	"waybill/ports"
)

// flushTimeout limits how long the end of a process waits for its last spans.
const flushTimeout = 5 * time.Second

// tracing adds spans to adapters. It is nil without a collector, and then returns the adapters
// unchanged: traces cost nothing.
type tracing telemetry.Tracing

// newTracing reads the variables of OpenTelemetry, which are no settings of ours.
// OTEL_EXPORTER_OTLP_ENDPOINT switches traces on. They are often set for all programs of a cluster.
// So an invalid value is only logged as a warning, and the process runs without traces.
func newTracing(ctx context.Context, r prometheus.Registerer, log *slog.Logger) (*tracing, func(), error) {
	if !telemetry.TracingWanted(os.Environ()) {
		return nil, func() {}, nil
	}
	t, err := telemetry.OpenTracing(ctx, telemetry.TracingOptions{Environ: os.Environ(), Version: version, Registry: r, Log: log})
	if err != nil {
		log.Warn("traces", "warning", "no traces are sent: correct the variable, or unset OTEL_EXPORTER_OTLP_ENDPOINT", "error", err)
		return nil, func() {}, nil
	}
	log.Info("traces are sent to the collector of OTEL_EXPORTER_OTLP_ENDPOINT")
	return (*tracing)(t), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			log.Warn("the last traces were not sent", "error", err)
		}
	}, nil
}

func (f *tracing) tracing() *telemetry.Tracing { return (*telemetry.Tracing)(f) }

func (f *tracing) requests() httpapi.Trace {
	if f == nil {
		return nil
	}
	return f.tracing().Request
}

// headers names the span of a request to a service of our own.
func (f *tracing) headers() func(context.Context, http.Header) {
	if f == nil {
		return nil
	}
	return f.tracing().Inject
}

// openShared opens the database for a server, with traces if they are on.
func openShared(ctx context.Context, c *configs.Config, log *slog.Logger, f *tracing) (databases, func(), error) {
	d, closeStores, err := openBy(ctx, c, log, storageOf(c).opened)
	if err != nil {
		return databases{}, nil, err
	}
	for _, traced := range []*ports.Database{&d.live, &d.sandbox, &d.background} {
		*traced = f.tracing().Database(*traced)
	}
	return d, closeStores, nil
}

// openTraced opens the database like newDatabase, with traces if they are on.
func openTraced(ctx context.Context, c *configs.Config, log *slog.Logger, f *tracing) (ports.Database, func(), error) {
	d, closeStore, err := newDatabase(ctx, c, log)
	if err != nil {
		return nil, nil, err
	}
	return f.tracing().Database(d), closeStore, nil
}
