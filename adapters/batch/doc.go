// Package batch carries out items of several callers together when they arrive at
// the same time: bookings in one transaction, rows in one lookup.
//
// No item waits for others. An item that arrives while nothing is under way starts
// at once; items that arrive meanwhile form the next batch. Another batch starts beside
// one under way where many items wait, where that one is slow, or where batches are so
// small that batching brings little.
//
// What it does not do: retry, or carry out a single item. It answers ErrAlone, and
// the caller does that.
//
// Decisions that bind this package:
//
//   - A caller's deadline ends the wait of that caller only. A batch has a budget of its
//     own and ends earlier only when the last of its callers has no more time.
//   - Items are taken in the order in which they arrived. One that conflicts with an
//     earlier item of the batch waits for the next batch, in front of later arrivals.
//   - Goroutines exist only while items wait. Workers that stay were rejected: a program
//     at rest would have to stop them, and starting one costs a microsecond.
package batch
