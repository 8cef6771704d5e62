// Package dispatch is the engine that sends webhooks. It sends what package
// webhooks and the use cases of deliveries have stored in the outbox.
//
// After a commit the Waker rings for the endpoints; a ring is answered, by one
// process at a time under a lease, by draining everything that is due for the
// endpoint; outcomes are stored in batches while the lease holds. Retries are due
// times in the rows. The Sweeper rings for what is due and has no owner: retries,
// what a dead process left, and whatever a queue lost.
//
// One ring per endpoint, and not one per event, is what makes this fast: a
// busy endpoint is drained in batches, and 5 statements serve 64 webhooks.
//
// Endpoints with a backlog could take all of a machine, and those that have one
// event would wait behind them. So these go straight through, and backlogs make
// room: a first look reads just enough to tell one, they have turns at the storage,
// their sends share slots while they are work, and while somebody without a backlog
// sends each turn is followed by a pause. With 100,000 retries due at once the p95
// of such a one was 100 ms without slots and pauses, 25 with slots and the short
// look alone, 15 with all, beside 10 on an idle machine; the retries went out at
// 7,000 a second instead of 10,000. Pauses alone did not help: what they saved was
// spent by hundreds of sends at once. Those pauses were as long as the turns. They
// are three times as long now: p95 was 0.97 to 2.14 times that alone in ten rounds,
// 1.19 to 1.69 in three with the short ones, for a tenth of the rate.
package dispatch
