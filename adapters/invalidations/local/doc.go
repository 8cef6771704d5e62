// Package local carries invalidations inside one process.
//
// Each listener has a queue of its own, so that a slow listener does not hold up
// an announcement. A queue that grows too long is replaced by a single message:
// forget everything.
package local
