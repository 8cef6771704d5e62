// Package dispatch sends the webhooks that package webhooks and the use cases of deliveries have
// stored in the outbox.
//
// After a commit the Notifier passes the endpoints to the queue. One process at a time, with a
// lease, handles the notification and sends everything that is due for the endpoint. It stores the
// outcomes in batches while it has the lease. Retries are due times in the rows. The Sweeper
// notifies the queue of endpoints with due webhooks and no owner. These are retries, the work of a
// dead process, and notifications that a queue lost.
//
// A drain is in one of the phases of states.go, the table of all its states. If the storage does
// not respond, it sends little more. It keeps sent but unstored outcomes with its lease
// (kept_lease.go). After an interruption the same process stores these first, and resends only what
// another process may have sent in the meantime. Stopping by the age of the oldest outcome was
// rejected. With a dozen backlogs each waits seconds for a storage permit while nothing is wrong,
// and sent less for it. So a backlog stops when the calls that hold the permits hang.
//
// The queue is notified once per endpoint and not once per event, which makes this fast. A busy
// endpoint is drained in batches, and 2 statements serve 64 webhooks.
//
// Endpoints with a backlog could take a whole machine, and an endpoint with a single event would
// wait behind them. fair_share.go gives each its share: an endpoint without a backlog sends at
// once. A short first read recognises a backlog. A backlog needs a permit for each call of the
// storage, and for sends that keep this machine busy. While an endpoint without a backlog is
// active, a pause follows each call of the storage, three times as long as the call.
//
// Measured with 100,000 retries due at once, as p95 of an endpoint without a backlog. It was 100 ms
// without permits and pauses, 25 ms with permits and the short first read, 15 ms with pauses too,
// and 10 ms on an idle machine. The retries went out at 7,000 a second instead of 10,000. Pauses
// alone did not help: hundreds of sends at once used up what they saved. With pauses as long as the
// calls, p95 was 1.19 to 1.69 times that of the endpoint alone in three rounds. With pauses three
// times as long it was 0.97 to 2.14 times in ten rounds, for a tenth of the rate.
package dispatch
