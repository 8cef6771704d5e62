// Package telemetry tells operators what the program does: logs, metrics and traces.
//
// # Logs
//
// NewLogger makes the logger of a process. It lets through only values of keys
// that are known to be neither personal nor secret, and holds up nobody where the log is not read.
//
// # Metrics
//
// Metrics show what a process, its database and its services are doing, for
// Prometheus to read. Each function registers the metrics of one subject; a scrape
// waits for its source for a second at most.
//
// # Traces
//
// OpenTracing follows requests through the program and sends what it saw, as
// OpenTelemetry traces, to a collector. It wraps other adapters: a span for
// each request of the API, for each transaction and booking, each price and
// distance asked for, and each attempt to send a webhook. It knows no ports of
// its own, and where no collector is named nothing of it is in the way: cmd
// then joins the adapters without it.
//
// Decisions that bind it:
//
//   - A span names the operation, its subject (request_id, application_id,
//     delivery_id, event_id) and its result: never a body, a name, a phone
//     number, an address, a coordinate, a URL, a key or a text of an error.
//   - An event has a trace of its own, whose ID is derived from the event's. The
//     process that commits the event writes its root, and every attempt to send
//     it, in any process and days later, is a span below that root: both compute
//     the two IDs. The root links to the request, and the request's span to the
//     root. So nothing about traces is stored. To keep the traceparent of the
//     request with the event was rejected: it costs a column in the hot path, and
//     one request may make hundreds of events whose attempts go on for days. To
//     take the event's ID itself for the trace ID was rejected: samplers decide
//     by the lower half of a trace ID, which in a UUIDv7 is not evenly
//     distributed. sha256(event ID) is.
//   - The root is written after the commit. Where the outcome of the commit was in
//     doubt it is not, and the attempts stand in their trace without it.
//   - Whether the trace of an event is kept is decided by its ID, so that all
//     processes with one sampler decide alike; by another rule than the request,
//     of which the senders know nothing. With a ratio below 1 a request may be
//     seen without its events, and an event without its request.
//   - The trace of a caller is linked to and not continued: an unknown caller neither
//     chooses our IDs nor what we keep. Outwards, traceparent goes to the pricing
//     service and the routing engine only; receivers of webhooks are third parties.
//   - No request waits for the collector. Spans wait in a bounded queue; those
//     that do not fit, or cannot be sent in 30 seconds, are counted and dropped.
//     The SDK's batcher drops in silence, so that queue lets in no more than it
//     holds.
//   - The variables are often set for all programs of a cluster, for example a protocol
//     that is not spoken here. Such a value is a warning in the log and no reason not to
//     start: the process goes on without traces, or with the default where a number
//     cannot be read.
package telemetry
