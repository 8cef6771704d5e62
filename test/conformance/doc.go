// Package conformance has one package for each port that more than one adapter
// implements. Its Examine function is the conformance test of that port: the test
// of each adapter calls it, so that what the core relies on is written once.
package conformance
