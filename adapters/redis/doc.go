// Package redis does what processes need of each other quickly: it counts requests against one
// limit, announces work through asynq, and carries invalidations. Nothing in Redis is needed for
// correctness: without it limits are counted in each process, work is found in the database, and
// what is cached expires.
//
// The client is opened by the URL of one Redis or of a Sentinel, with bounds that keep a Redis
// which hangs from holding up requests.
//
// # Queue
//
// Queue notifies across processes, through asynq on Redis.
//
// A notification is an asynq task for now, with the ID as its payload. Nothing else of
// asynq is used: due times and retries are in the storage, which is asked again
// whatever happens here.
//
// Decisions that bind it:
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
//
// # Rate limits
//
// Limiter counts requests in Redis, so that all processes count
// against one limit.
//
// The algorithm is a sliding window made of two counters. A window begins with
// the first request of an idle bucket; the requests of the window before weigh
// as much as of that window still lies within the last full length.
//
// Decisions that bind it:
//
//   - One round trip and one script for all buckets of a request, so that they
//     are counted together or not at all. The script decides and counts; the
//     process works out the rest of the answer, since Redis has one thread and
//     the processes have many.
//   - The time is that of Redis. Clocks of processes differ, and the one that is
//     ahead would end all windows early. A clock of Redis that steps back makes a
//     window begin anew with the counts it has.
//   - Times are whole milliseconds. Numbers of Lua are exact up to 2^53, and ten
//     million requests in a day of microseconds are far beyond that; in
//     milliseconds they are a tenth of it. A millisecond that has begun counts as
//     passed, so that a refused caller is admitted after the promised wait,
//     wherever in its millisecond it came.
//   - A bucket ends by itself when nothing of it weighs any more, at most two
//     windows after it began. Where Redis evicts it earlier, or loses it, it
//     begins afresh.
//   - All keys have one hash tag. The buckets of one request have to lie on one
//     node, and which business a key belongs to is not in its name; so in a
//     cluster one node holds all counters.
//   - It says nothing about a Redis that is slow or gone: errors are errors
//     here. GuardedLimiter goes on without it.
//
// # Rate limits without Redis
//
// GuardedLimiter asks the limiter that all processes share, and goes on limiting when that one
// is slow or gone: the request is then counted by a limiter inside the process.
//
// Decisions that bind it:
//
//   - No request fails or waits longer than 30 ms because of the shared limiter.
//     After five failures in a row a circuit breaker opens and requests are
//     counted locally at once; every second one of them tries the shared limiter
//     again, and the first that succeeds closes it.
//   - A shared limiter that failed may have counted the request all the same.
//     It is counted locally then, once more perhaps: too strict by one request,
//     never an error. Refusing instead was rejected, since an outage of the counter
//     would be an outage of the API.
//   - The local count goes on from the last one known: every answer of the shared
//     limiter is remembered, with what all processes had counted by then. So a
//     process admits in an outage what was left, and not the whole limit again.
//     What others admit meanwhile it cannot know: N processes admit at most N
//     times what was left, and each the whole limit of a bucket that it had not
//     asked for within two windows.
//   - What was counted locally is not told to the shared limiter afterwards: the requests of an
//     outage count against no limit after it, for a window. To tell it took debts with names, so
//     that none was counted twice, and more code than the rest of GuardedLimiter.
//   - To count ahead of the shared limiter, where there is ample room, was rejected too. It spared
//     Redis calls of 20 us each, and made the count of a limit a matter of time.
//   - GiveBack goes where a Take would go now. A request that was charged by one
//     limiter and is given back to the other, because the state changed between
//     the two, moves that other one by one request, and never below none. So a
//     change costs at most as many requests as were under way. Remembering the
//     limiter of each request was rejected: it takes an entry per request.
//   - A caller that goes away says nothing about the shared limiter.
//
// # Invalidations
//
// Invalidations carries invalidations between processes over a channel of
// Redis.
//
// Decisions that bind it:
//
//   - Redis drops a message without subscribers, so a lost connection counts as a
//     missed message: after each subscription, the first one included, the
//     process forgets everything. A Redis stream was rejected: cached entries
//     expire before one could be read.
//   - A connection on which nothing is heard for ten seconds, not even the
//     answer to a ping, is given up. One that broke without a word would
//     otherwise be waited on for ever.
//   - An announcement is made once, and also when the request it comes from is
//     over: the change is committed by then.
//   - Word of fan-outs goes the same way, on a channel of its own (fanouts.go).
package redis
