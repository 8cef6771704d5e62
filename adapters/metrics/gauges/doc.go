// Package gauges shows what a process, its database and its services are doing, for
// Prometheus to read. Each function registers the metrics of one thing; what they
// ask when they are read has a second to answer.
package gauges
