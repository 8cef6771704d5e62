// Package batch carries out items of several callers together when they arrive at the same
// time: bookings in one transaction, rows in one lookup.
//
// No item waits for others. An item that arrives while no batch runs starts at once. Items that
// arrive meanwhile form the next batch. A second batch starts next to a running one when many
// items wait, when the running one is slow, or when batches are so small that batching brings
// little.
//
// The package does not retry, and does not carry out a single item. It returns ErrAlone, and
// the caller does that.
//
// Decisions that bind this package:
//
//   - A caller's deadline ends the wait of that caller only. A batch has its own budget and
//     ends earlier only when the last of its callers has no more time.
//   - Items are taken in the order in which they arrived. One that conflicts with an earlier
//     item of the batch waits for the next batch, in front of later arrivals.
//   - Goroutines exist only while items wait. Permanent workers were rejected: an idle program
//     would have to stop them, and starting one costs a microsecond.
package batch
