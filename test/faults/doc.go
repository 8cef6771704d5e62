// Package faults breaks what Waybill runs on, under load, and looks at what
// is left: the real program, several processes of it, killed with -9 and stalled
// while clients send, repeat and repeat at once what they want created, one
// delivery or many, and while workers move what is simulated and send webhooks,
// to receivers that fail and hang too; their database crashed, gone, silent or
// out of room; their Redis gone, hung, slow or forgetful; the network between them
// cut, by a proxy or, as root, by a firewall in a network namespace; and all of it
// back again.
//
// Afterwards Check, one SQL program for both engines, tells every breach of
// what must hold in a database that nothing is writing to; other tests may
// run it on theirs.
//
// Where chance is not enough a process meets its fate at a named moment: the
// wire between it and Postgres knows which statement is on its way. So it is the
// real program too that dies between two statements.
//
// What a fault costs in time, and what one adapter does about it, is for the tests of
// the adapters. `go test` runs the storms in small; WAYBILL_STORM=full, which `make storm`
// sets, in full.
package faults
