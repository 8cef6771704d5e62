// Package memory limits requests, sends job notifications and cache invalidations within one
// process.
//
// # Rate limits
//
// Limiter counts requests inside the process. Each process allows the whole limit on its own.
//
// The algorithm is a sliding window made of two counters. A window begins with the first
// request of an idle bucket. The requests of the previous window count by the share of it that
// still lies within the last full length. So the first window admits exactly the limit, and no
// boundary lets a double burst through, as with fixed windows.
//
// Decisions that bind it:
//
//   - All arithmetic uses whole microseconds and integers. RetryAfter is therefore exact: a
//     single client that waits that long is admitted, and one that waits a microsecond less is
//     not.
//   - There is one mutex. A Take of two buckets holds it for a fraction of a microsecond.
//     Shards would need an order of locks to stay atomic, and gain nothing below some million
//     requests a second.
//   - Memory is bounded. A bucket is dropped two windows after its last window began. Each
//     scope keeps a fixed number of buckets and drops the least recently used ones. The bound
//     is per scope, so that a flood of client addresses cannot push out the counters of keys.
//   - GiveBack takes from the current window. If a Take comes just before the end of a window
//     and its GiveBack just after, the wrong window loses the request when the new one already
//     has requests. Preventing that would need a ticket for each request.
//   - It can continue from the counts of another limiter (Remember). redis.GuardedLimiter says
//     why.
//
// # Queue
//
// Queue sends notifications inside one process. Waiting notifications are lost when the process
// ends, as the port allows.
//
// # Invalidations
//
// Each listener has a queue of its own, so that a slow listener does not delay an announcement.
// A queue that grows too long is replaced by a single message: clear everything.
package memory
