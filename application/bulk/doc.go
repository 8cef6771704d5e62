// Package bulk books up to a hundred deliveries under one Idempotency-Key.
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
package bulk
