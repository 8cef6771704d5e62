// Package idempotency makes a create happen once, however often it is asked
// for: the same Idempotency-Key with the same request gets the same bytes.
//
// How it holds through crashes, in short: the key record commits in the same
// transaction as what was created, and it is that transaction's first statement.
// The request that inserts the record creates; every other one with the key waits
// for that commit and replays.
//
// Rejected: a record written in a commit of its own before or after the
// create (a crash between the two loses or doubles one), and a record written
// last (the loser of a race then meets the winner's external_id first and is
// told about a conflict with itself).
//
// Keys whose first request runs are remembered in the process, so that a repetition is told
// so before it asks for a price again. Other processes are not asked: the record in the
// database decides between them, and a lock in Redis would cost each create two round trips.
//
// What it does not do: remember refusals. After a 4xx or 5xx nothing was
// created and the key is free, so that a corrected body may use it.
package idempotency
