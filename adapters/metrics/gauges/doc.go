// Package gauges shows what a process, its database and its services are doing, for
// Prometheus to read. Each function registers the metrics of one subject; a scrape
// waits for its source for a second at most.
package gauges
