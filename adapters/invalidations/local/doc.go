// Package local carries invalidations inside one process.
//
// Each listener has a queue of its own, so that nobody who announces waits for
// one that is slow. A queue that grows too long is replaced by the one word that
// says the same about all of it: forget everything.
package local
