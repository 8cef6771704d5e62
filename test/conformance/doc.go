// Package conformance has the exam of each port that more than one adapter implements: the
// test of each adapter calls its Examine function, so that what the core relies on is written
// once. That of the storage is in package storage below it.
package conformance
