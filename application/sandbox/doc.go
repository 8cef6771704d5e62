// Package sandbox moves simulated deliveries: by hand through the test helper,
// or by a scenario that plays itself.
//
// A step of a scenario is a due time in the delivery's row before it is anything
// else. The Scheduler sees it come and notifies the queue when it is due; a
// handler then does it in one transaction, under the lock of the row, and only if
// it is still the next step and not early. So a notification may be lost, doubled
// or late, a process may die anywhere, and every step happens once. Stopping a
// simulation takes the same lock: after the answer to the stop no later step can
// happen.
//
// Rejected: a delayed job per step in the queue. It would have to be found and
// removed on a stop, it is gone with an emptied Redis, and asynq keeps due
// times in whole seconds.
package sandbox
