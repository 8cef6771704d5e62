// Package sandbox moves simulated deliveries: step by step through the test helper, or by a
// scenario that runs by itself.
//
// A step of a scenario is first a due time in the delivery's row. The Scheduler finds it ahead of
// time and notifies the queue when it is due. A handler then does it in one transaction, under the
// lock of the row, and only if it is still the next step and not early. So a notification may be
// lost, doubled or late, a process may die anywhere, and every step happens once. Stopping a
// simulation takes the same lock: after the response to the stop no later step can happen.
//
// Rejected: a delayed job per step in the queue. A stop would have to find and remove it, it is
// lost with an emptied Redis, and asynq keeps due times in whole seconds.
package sandbox
