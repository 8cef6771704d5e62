// Package dispatch sends webhooks. It sends what package
// webhooks and the use cases of deliveries have stored in the outbox.
//
// After a commit the Notifier passes the endpoints to the queue. One process at a time,
// under a lease, answers the notification: it sends everything that is due for the
// endpoint; outcomes are stored in batches while the lease holds. Retries are due
// times in the rows. The Sweeper notifies the queue of what is due and has no owner: retries,
// what a dead process left, and whatever a queue lost.
//
// A drain is in one of the phases of states.go, the table of all its states. Where
// the storage does not answer it sends little more, and what it has sent and could not
// store is kept with its lease (kept_lease.go): after a cut the same process stores
// that first, and sends again only what another process may have sent meanwhile. To
// stop by the age of the oldest outcome was rejected: with a dozen backlogs each waits
// for its turn for seconds in which nothing is wrong, and sent less for it. So a
// backlog stops when the turns before it hang.
//
// One notification per endpoint, and not one per event, is what makes this fast: a
// busy endpoint is drained in batches, and 5 statements serve 64 webhooks.
//
// Endpoints with a backlog could take all of a machine, and those that have one
// event would wait behind them. So these go straight through, and backlogs make
// room (fair_share.go): a first look reads just enough to tell one, they have turns at
// the storage, their sends share permits while they are work, and while an endpoint
// without a backlog is active each turn is followed by a pause. With 100,000 retries due at once the p95
// of such a one was 100 ms without permits and pauses, 25 with permits and the short
// look alone, 15 with all, beside 10 on an idle machine; the retries went out at
// 7,000 a second instead of 10,000. Pauses alone did not help: what they saved was
// spent by hundreds of sends at once. Those pauses were as long as the turns. They
// are three times as long now: p95 was 0.97 to 2.14 times that alone in ten rounds,
// 1.19 to 1.69 in three with the short ones, for a tenth of the rate.
package dispatch
