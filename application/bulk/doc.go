// Package bulk books up to a hundred deliveries under one Idempotency-Key (Bulk), and moves
// many deliveries with one request of an operator (Moves).
//
// # Creates
//
// Checking is all or nothing: as long as any item is wrong, nothing is
// created and every problem of every item is told. Creating is not: the items
// are booked in their order, each in a transaction of its own, and one that is
// refused by then stops no other.
//
// How it happens once, in short. The key is claimed under a lease before the
// first item. The transaction of an item extends the lease first, records the
// item's entry of the answer next, and only then books: so an item is done or it
// is not, and a process whose lease has passed to another writes nothing more. A
// repetition of the request after a crash resumes it under the same claim and
// skips the recorded items. The answer is put together from the recorded entries,
// so that it is the same whichever process finishes it.
//
// A bulk that is not repeated stays half done: it is never completed behind the
// caller's back.
//
// Rejected: one transaction for all items (one external_id that is taken would
// undo the other ninety-nine, or need savepoints), and the record of an item in
// a commit of its own (a crash in between books the item twice).
//
// # Moves
//
// Moves takes up to domain.MaxMoves deliveries, each with an outcome of its own, once per
// key.
//
// How it happens once, in short. The first transaction stores the run: its key, who
// asked, and every item. So whatever becomes of the request, any process can go on
// with it, and one does: the same request sent again, or GoOn, which each process
// calls every second. The transaction of an item extends the lease of the run first,
// so that a process whose lease has passed to another writes nothing more. It then
// moves the delivery, keeps the audit record, and records the outcome, which is true
// to the row: it is decided under the lock of the delivery. A refusal is recorded in
// the same way. The answer is read from the recorded outcomes, and so is the same
// whenever it is asked for, whichever process got to the end.
//
// Unlike a bulk of creates, a run is carried to its end without its caller: the
// company has decided to move these deliveries, and half of them moved helps no rider.
// That holds where the person who asked loses the role meanwhile, too: the rest is moved
// under their name, and their next request is refused.
//
// Rejected: the records of package idempotency, which belong to an application and
// keep an answer, and not the request that a process needs to go on by itself; and one
// transaction for all items, in which one refusal would undo all others and two
// hundred customers' rows would be locked at a time.
package bulk
