package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"waybill/domain"
)

// scope names this program's instrumentation.
const scope = "waybill"

// TracingOptions sets what is traced. The variables that OpenTelemetry defines set the destination.
type TracingOptions struct {
	Environ  []string // as of os.Environ
	Version  string   // of the program
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Tracing makes spans and sends them. Close it after use.
type Tracing struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
}

// TracingWanted reports whether the variables name a collector and do not disable traces.
func TracingWanted(environ []string) bool {
	v := variables(environ)
	if strings.EqualFold(v["OTEL_SDK_DISABLED"], "true") || v["OTEL_TRACES_EXPORTER"] == "none" {
		return false
	}
	return v["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" || v["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] != ""
}

// OpenTracing starts tracing. It does not connect yet: an unavailable collector must not prevent
// the start. The exporter, the batcher, the sampler and the resource read the variables of the
// process.
func OpenTracing(ctx context.Context, o TracingOptions) (*Tracing, error) {
	v := variables(o.Environ)
	if err := check(v); err != nil {
		return nil, err
	}
	otel.SetLogger(logr.FromSlogHandler(o.Log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("traces", "error", err) }))
	what, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "waybill"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES cannot be read; write key=value,key=value")
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	return start(newQueue(exporter, queueSize(v), o.Registry, o.Log), what), nil
}

// start starts tracing with any processor.
func start(p sdktrace.SpanProcessor, what *resource.Resource) *Tracing {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(what), sdktrace.WithIDGenerator(identifiers{}))
	return &Tracing{provider: provider, tracer: provider.Tracer(scope)}
}

// Close sends the waiting spans, until ctx ends.
func (t *Tracing) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Inject adds the span of ctx to the headers of a request to one of our own services.
func (t *Tracing) Inject(ctx context.Context, h http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
}

// Request begins the span of a request to the API. The returned function ends it, once.
func (t *Tracing) Request(r *http.Request, environment, method, route, requestID string) (context.Context,
	func(status int, applicationID string)) {
	options := []trace.SpanStartOption{
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(
			attribute.String("http.request.method", method), attribute.String("http.route", route),
			attribute.String("waybill.environment", environment), attribute.String("waybill.request_id", requestID),
		),
	}
	caller := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	if theirs := trace.SpanContextFromContext(caller); theirs.IsValid() {
		options = append(options, trace.WithLinks(
			trace.Link{SpanContext: theirs, Attributes: []attribute.KeyValue{attribute.String("waybill.link", "caller")}}))
	}
	ctx, span := t.tracer.Start(r.Context(), method+" "+route, options...)
	var once sync.Once
	return ctx, func(status int, applicationID string) {
		once.Do(func() {
			span.SetAttributes(attribute.Int("http.response.status_code", status))
			if applicationID != "" {
				span.SetAttributes(attribute.String("waybill.application_id", applicationID))
			}
			if status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
			span.End()
		})
	}
}

// child begins a span below the one of ctx. Without one it begins none: periodic work of a process
// is not traced.
func (t *Tracing) child(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context,
	trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, trace.SpanFromContext(ctx) // does nothing
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
}

// end ends a span with its outcome. The text of an error may contain anything, so only its code is
// kept. A refusal by a business rule is not a failure.
func end(span trace.Span, err error) {
	if err != nil {
		code := codeOf(err)
		span.SetAttributes(attribute.String("error.type", code))
		if slices.Contains(failures, code) {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

// failures lists the codes of errors that mean that something broke.
var failures = []string{otherError, timedOut, outcomeUnknown, storageGone, domain.CodeInternal, domain.CodeQuoteUnavailable,
	domain.CodeServiceUnavailable}
