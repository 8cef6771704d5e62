// Package asynqqueue notifies across processes, through asynq on Redis.
//
// A notification is an asynq task for now, with the ID as its payload. Nothing else of
// asynq is used: due times and retries are in the storage, which is asked again
// whatever happens here.
//
// Decisions that bind this package:
//
//   - Each kind of job has a server of its own. One server asks its queues in turn and
//     has one pool of workers, where a slow kind would hold up the others.
//   - Notifications are one as long as a task of the ID waits. asynq refuses a second
//     task of the same name in every state: waiting, running, or left behind by
//     a process that died, for a minute or two. So an ID has several names; on a
//     refusal asynq's Inspector tells the state, and a new task gets the next name
//     unless that one waits. asynq.Unique was rejected: it holds until the task has run,
//     and what is notified of meanwhile would be lost.
//   - After Redis was emptied the Inspector does not know the queue until the process is
//     started again: notifications then make a few tasks where one would do.
//   - No task fails. A handler that panics is logged here and done with. A
//     task of a process that died is queued again, which asynq would count as a
//     failure, and put what failed too often into an archive for 90 days.
//   - asynq asks for the next task without a pause when Redis refuses, which
//     takes a whole core for as long as that lasts. Its client pauses instead.
//   - While Redis cannot be used, a process runs its handlers for what it finds in the
//     storage itself, through a queue in its memory: nothing waits for Redis to come
//     back. Every process with handlers does so for the same IDs, and the leases and
//     locks in the storage let one of them do the work. Redis counts as unusable for
//     outageFor after a failed notification, and after a server asked for a task in
//     vain. Notifications alone do not show it: a full Redis still tells that a task
//     waits, and gives it to nobody.
//   - asynq's subscription to cancelled tasks has no time-out. A Redis that hangs at the wrong
//     moment holds up the end of the process for 25 seconds at most.
//   - Handlers do not get asynq's context. It ends when Redis was away for half
//     a minute, and what a handler is at does not depend on Redis.
//
// The database of Redis is one installation's own: another one's handlers would
// get the notifications, find nothing due, and leave the steps to be notified again. It must not
// evict keys that have no expiry: of a task of which a part is gone, asynq keeps
// for ever that it waits, and the ID would be deaf.
package asynqqueue
