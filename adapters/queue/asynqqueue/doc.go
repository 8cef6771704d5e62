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
//     refusal the states are read, and a new task gets the first free name
//     unless one waits. Two names, of which one is for what runs and one for
//     what waits, were rejected: both may run, and the next notification would be lost.
//     So was the time in the name: what waits would not be recognized, and a
//     kind without a worker would grow with every notification.
//   - asynq's Inspector could tell the states, but not after Redis was emptied
//     until the process is started again. Its key of a task is read instead;
//     the tests notice when a new version calls it something else.
//   - No task fails. A handler that panics is logged here and done with. A
//     task of a process that died is queued again, which asynq would count as a
//     failure, and put what failed too often into an archive for 90 days.
//   - asynq asks for the next task without a pause when Redis refuses, which
//     takes a whole core for as long as that lasts. Its client pauses instead.
//   - asynq asks again and again, also where nothing ever comes. Here a server that got nothing is held back by
//     its client until it is woken, and asks once in five seconds besides. A wake-up is an entry of a list of
//     Redis beside each queue: the process that notifies adds it in the round trip of the task itself, and
//     Redis gives it to one of the servers that wait, of whatever process; that one asks, and once more where it
//     got a task. Telling all of them over pub/sub was rejected: four workers asked five times for each task, and
//     took 1.24 of what one takes, where it is 1.18 now. So was asking often for a while after a task, which
//     took most of the processor time of a worker with little to do.
//   - A wake-up that is lost, with a connection that is dead without a word, is repeated: the job is still due, so
//     that it is notified again, and where its task is found to wait, a server is woken all the same, that of
//     the same process by no connection. A server whom Redis does not let wait asks by itself.
//   - While Redis cannot be used, a process runs its handlers for what it finds in the
//     storage itself, through a queue in its memory: nothing waits for Redis to come
//     back. Every process with handlers does so for the same IDs, and the leases and
//     locks in the storage let one of them do the work. Redis counts as unusable for
//     outageFor after a failed notification, and after a server asked for a task in
//     vain. Notifications alone do not show it: a full Redis still tells that a task
//     waits, and gives it to nobody.
//   - asynq's subscription to cancelled tasks is kept from connecting. It has no
//     time-out, so that a Redis that hangs at the wrong moment would hold up the
//     end of the process, and a client that is closed too early would crash it.
//   - Handlers do not get asynq's context. It ends when Redis was away for half
//     a minute, and what a handler is at does not depend on Redis.
//
// The database of Redis is one installation's own: another one's handlers would
// get the notifications, find nothing due, and leave the steps to be notified again. It must not
// evict keys that have no expiry: of a task of which a part is gone, asynq keeps
// for ever that it waits, and the ID would be deaf.
package asynqqueue
