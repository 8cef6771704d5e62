// Package simulation plays whole lives of the application from a number.
//
// A seed is a world: two processes with the use cases and the HTTP handlers
// that the servers have, on one SQLite database; clients of several
// applications that book, repeat, cancel and list; a pricing service, a queue
// that are doubles; and all that goes wrong. Time is that
// of a testing/synctest bubble, the database's clock too, so that a day passes
// at once and every time-out is waited for.
//
// Every call of a port waits until the world lets it go on. The world lets one
// go at a time, which one and with which fault its seed says, so that the same
// seed gives the same trace, and requests overlap at any call, inside of
// transactions too.
//
// What clients were told is held against what they are told later, and in the end
// against the database, where faults.Check looks too.
//
// What it cannot show is what lies below the ports: how Postgres locks, what a
// driver does with a connection that breaks. That is the matter of
// test/conformance and test/faults.
package simulation
