// Package moves is how operators move many deliveries with one request: up to
// domain.MaxMoves, each with an outcome of its own, once per key.
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
package moves
