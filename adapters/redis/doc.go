// Package redis holds what processes share quickly: rate limit counters, job notifications
// (through asynq) and cache invalidations. Correctness never depends on Redis. Without it each
// process counts rate limits alone, workers find jobs in the database, and cache entries
// expire.
//
// The client is created from the URL of one Redis or of a Sentinel. Its limits keep a Redis
// that hangs from blocking requests.
//
// # Queue
//
// Queue sends notifications of background jobs between processes, through asynq on Redis.
//
// A notification is an asynq task that is due now, with the ID as its payload. Nothing else of
// asynq is used: due times and retries are in the database, which workers poll whatever happens
// here.
//
// Decisions that bind it:
//
//   - Each kind of job has its own server. One server polls its queues in turn and has one
//     pool of workers, where a slow kind would block the others.
//   - While a task of an ID waits, further notifications for it are dropped. asynq refuses a
//     second task of the same name in every state: waiting, running, or left behind by a
//     process that died, for a minute or two. So an ID has several names. After a refusal
//     asynq's Inspector reports the state. The new task gets the next name unless that task is
//     waiting. asynq.Unique was rejected: it holds until the task has run, and notifications
//     during the run would be lost.
//   - After Redis was emptied the Inspector does not know the queue until the process
//     restarts. Notifications then create a few tasks instead of one.
//   - No task fails. A handler that panics is logged here, and its task is done. A task of a
//     process that died is queued again. asynq would count that as a failure, and archive
//     tasks with too many failures for 90 days.
//   - When Redis returns errors, asynq polls for the next task without a pause, which uses a
//     whole core. Its client pauses instead.
//   - While Redis is unusable, a process runs its handlers for the jobs that it finds in the
//     database itself, through a queue in memory. No job waits for Redis to come back. Every
//     process with handlers does so for the same IDs, and the leases and locks in the database
//     let one of them do the work. Redis counts as unusable for outageFor after a failed
//     notification and after a failed poll. Notifications alone are not enough: a full Redis
//     still reports that a task waits, but hands it to no server.
//   - asynq's subscription to cancelled tasks has no timeout. A Redis that hangs at the wrong
//     moment delays the end of the process by at most 25 seconds.
//   - Handlers do not get asynq's context. It ends when Redis was away for half a minute, but
//     the work of a handler does not depend on Redis.
//
// Each installation needs its own Redis database. The handlers of another installation would
// take the notifications, find no job, and so lose them. The Redis must not evict keys without
// an expiry: when a part of a task is gone, asynq believes forever that it waits, and
// notifications of its ID would be lost.
//
// # Rate limits
//
// Limiter counts requests in Redis, so that all processes share one limit.
//
// The algorithm is a sliding window made of two counters. A window begins with the first
// request of an idle bucket. The requests of the previous window count by the share of it that
// still lies within the last full length.
//
// Decisions that bind it:
//
//   - One round trip and one script serve all buckets of a request, so that all of them are
//     counted or none. The script decides and counts. The process computes the rest of the
//     result, since Redis has one thread and the processes have many.
//   - Redis provides the time. The clocks of processes differ, and the fastest one would end
//     all windows early. If the clock of Redis steps back, a window begins again with its
//     counts.
//   - Times are whole milliseconds. Lua numbers are exact up to 2^53. Ten million requests in
//     a day of microseconds are far beyond that; in milliseconds they are a tenth of it. A
//     started millisecond counts as passed, so that a refused client is admitted after the
//     promised wait, wherever in its millisecond it came.
//   - A bucket expires when none of its requests count any more, at most two windows after it
//     began. If Redis evicts or loses it earlier, it starts from zero.
//   - All keys share one hash tag. The buckets of one request have to be on one node, and the
//     name of a key does not say which business it belongs to. So in a cluster one node holds
//     all counters.
//   - It does not handle a slow or missing Redis: it returns errors. GuardedLimiter handles
//     them.
//
// # Rate limits without Redis
//
// GuardedLimiter asks the limiter that all processes share. When that one is slow or gone, it
// counts the request with a limiter inside the process.
//
// Decisions that bind it:
//
//   - No request fails or waits longer than 30 ms because of the shared limiter. After five
//     failures in a row a circuit breaker opens and requests are counted locally at once. Once
//     a second a request tries the shared limiter again. The first success closes the breaker.
//   - A shared limiter that failed may have counted the request. The request is then counted
//     locally too: too strict by one request, never an error. Refusing it was rejected, since
//     an outage of the counter would be an outage of the API.
//   - The local count continues from the last known one: every answer of the shared limiter is
//     remembered, with what all processes had counted by then. So in an outage a process
//     admits what was left, and not the whole limit again. It cannot know what other processes
//     admit meanwhile. N processes admit at most N times what was left, and each the whole
//     limit of a bucket that it had not asked for within two windows.
//   - Local counts are not sent to the shared limiter afterwards: the requests of an outage
//     count against no limit after it, for one window. Sending them took named debts, so that
//     none was counted twice, and more code than the rest of GuardedLimiter.
//   - Counting ahead of the shared limiter when plenty of requests are left was rejected too.
//     It saved Redis calls of 20 us each, and made the count of a limit depend on timing.
//   - GiveBack goes to the limiter that a Take would use now. If the state changed in between,
//     a request charged by one limiter is given back to the other, whose count drops by one
//     and never below zero. So a change of state costs at most as many requests as were in
//     flight. Remembering the limiter of each request was rejected: it takes an entry per
//     request.
//   - A client that disconnects is no evidence about the shared limiter.
//
// # Invalidations
//
// Invalidations sends cache invalidations between processes over a Redis channel.
//
// Decisions that bind it:
//
//   - Redis drops a message that has no subscribers, so a lost connection counts as a missed
//     message. After each subscription, the first one included, the process clears its caches.
//     A Redis stream was rejected: cache entries expire before one could be read.
//   - A connection without traffic for ten seconds, not even the answer to a ping, is closed.
//     Otherwise the process would wait forever on a connection that broke silently.
//   - An invalidation is sent once, and also when its request is over: the change is committed
//     by then.
//   - Fan-out notifications use a channel of their own in the same way (fanouts.go).
package redis
