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
// seconds for a storage permit while nothing is wrong, and sent less for it. So a
// backlog stops when the calls that hold the permits hang.
//
// The queue is notified once per endpoint and not once per event, which makes this
// fast: a busy endpoint is drained in batches, and 2 statements serve 64 webhooks.
//
// Endpoints with a backlog could take all of a machine, and an endpoint with a single
// event would wait behind them. fair_share.go gives each its share: an endpoint without
// a backlog goes straight through. A backlog is recognised by a short first read; it
// needs a permit for each call of the storage and for sends that keep this machine
// busy; and while an endpoint without a backlog is active, each call of the storage is
// followed by a pause three times as long as the call.
//
// Measured with 100,000 retries due at once, as p95 of an endpoint without a backlog:
// 100 ms without permits and pauses, 25 ms with permits and the short first read, 15 ms
// with pauses too, 10 ms on an idle machine. The retries went out at 7,000 a second
// instead of 10,000. Pauses alone did not help: hundreds of sends at once used up what
// they saved. With pauses as long as the calls, p95 was 1.19 to 1.69 times that of the
// endpoint alone in three rounds; with pauses three times as long 0.97 to 2.14 times in
// ten rounds, for a tenth of the rate.
package dispatch
