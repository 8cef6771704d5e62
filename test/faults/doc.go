// Package faults breaks what Waybill runs on, under load, and looks at what
// is left: the real program, several processes of it, killed with -9 while
// clients send, repeat and repeat at once what they want created; their database
// gone, silent or out of room, and back again.
//
// Afterwards Check, one SQL program for both engines, tells every breach of
// what must hold in a database that nothing is writing to; other tests may
// run it on theirs.
//
// A test that never failed proves nothing. Each storm therefore also runs
// against a program built with the tag plantedbugs, in which one rule is
// broken on purpose, and has to notice.
//
// In short mode nothing here runs that starts a process. `go test` runs the
// storms in small; WAYBILL_STORM=full, which `make storm` sets, in full.
package faults
