// Package conformance has a package for each port that more than one adapter has:
// its exam. Examine is called by the test of each adapter, so that what the core
// relies on is written once and a new adapter knows when it is done.
//
// toystore is a store that has the ports, passes the exam and nothing else: by it
// the README's way of swapping an adapter is tried.
package conformance
