// Package bulk books up to a hundred deliveries under one Idempotency-Key (Bulk), and moves many
// deliveries with one request of an operator (Moves).
//
// # Creates
//
// Checking is all or nothing: as long as any item is wrong, nothing is created and every problem of
// every item is reported. Creating is not. The items are booked in their order, each in its own
// transaction, and an item that is refused then stops no other.
//
// How it happens once: the key is claimed under a lease before the first item. The transaction of
// an item extends the lease first, records the item's entry of the answer next, and only then
// books. So an item is done or it is not, and a process that lost its lease to another writes
// nothing more. A retry of the request after a crash resumes it under the same claim and skips the
// recorded items. The answer is made of the recorded entries, so it is the same whichever process
// finishes it.
//
// A bulk that is not retried stays half done. It is never completed without its caller.
//
// Rejected: one transaction for all items, because one external_id that is taken would undo the
// other ninety-nine, or need savepoints. Also rejected: recording an item in its own commit,
// because a crash in between books the item twice.
//
// # Moves
//
// Moves takes up to domain.MaxMoves deliveries, each with its own outcome, once per key.
//
// How it happens once: the first transaction stores the run, which is its key, who asked, and every
// item. So any process can resume it, whatever becomes of the request. One does: the same request
// sent again, or GoOn, which each process calls every second. The transaction of an item extends
// the lease of the run first, so a process that lost its lease to another writes nothing more. It
// then moves the delivery, writes the audit record, and records the outcome. The outcome matches
// the row, because it is decided under the lock of the delivery. A refusal is recorded in the same
// way. The answer is read from the recorded outcomes, so it is always the same, whichever process
// finished.
//
// Unlike a bulk of creates, a run is finished without its caller. The company has decided to move
// these deliveries, and half of them moved helps no rider. That holds even where the person who
// asked loses the role meanwhile: the rest is moved under their name, and their next request is
// refused.
//
// Rejected: the records of package idempotency. They belong to an application and keep an answer,
// but not the request, which a process needs to resume by itself. Also rejected: one transaction
// for all items, in which one refusal would undo all others and two hundred customers' rows would
// be locked at a time.
package bulk
