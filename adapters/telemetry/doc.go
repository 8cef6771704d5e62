// Package telemetry provides logs, metrics and traces for operators.
//
// # Logs
//
// NewLogger returns the logger of a process. It writes only values of keys that are known to be
// neither personal nor secret. It delays nobody if the log is not read.
//
// # Metrics
//
// Metrics show what a process, its database and its services are doing, for Prometheus to read.
// Each function registers the metrics of one subject. A scrape waits at most a second for its
// source.
//
// # Traces
//
// OpenTracing follows requests through the program and sends OpenTelemetry traces to a collector.
// It wraps other adapters. There is a span for each API request, each transaction and booking, each
// requested price and distance, and each webhook attempt. It has no ports of its own. If no
// collector is set, cmd joins the adapters without it.
//
// Decisions that bind it:
//
//   - A span names the operation, its subject (request_id, application_id, delivery_id, event_id)
//     and its result. It never contains a body, a name, a phone number, an address, a coordinate, a
//     URL, a key or the text of an error.
//   - An event has its own trace, whose ID is derived from the event's. The process that commits
//     the event writes its root. Every attempt to send it, in any process and days later, is a span
//     below that root: both compute the two IDs. The root links to the request, and the request's
//     span to the root. So nothing about traces is stored. Keeping the traceparent of the request
//     with the event was rejected. It costs a column in the hot path, and one request may make
//     hundreds of events whose attempts continue for days. Using the event's ID as the trace ID was
//     rejected. Samplers decide by the lower half of a trace ID, which in a UUIDv7 is not evenly
//     distributed. sha256(event ID) is.
//   - The root is written after the commit. If the outcome of the commit is unknown, no root is
//     written, and the attempts are in their trace without it.
//   - The ID of an event decides whether its trace is kept, so that all processes with one sampler
//     decide alike. The request is sampled separately, since the senders know nothing of it. With a
//     ratio below 1 a request may be visible without its events, and an event without its request.
//   - The trace of a caller is linked and not continued: an unknown caller must not choose our IDs
//     or what we keep. Only the pricing service and the routing engine receive a traceparent:
//     receivers of webhooks are third parties.
//   - No request waits for the collector. Spans wait in a limited queue. Those that do not fit, or
//     cannot be sent in 30 seconds, are counted and dropped. The SDK's batcher drops silently, so
//     the queue admits no more than it holds.
//   - The variables are often set for all programs of a cluster, for example a protocol that is not
//     supported here. Such a value is a warning in the log and does not prevent the start. The
//     process runs without traces, or with the default for a number that cannot be read.
package telemetry
