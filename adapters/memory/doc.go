// Package memory limits requests, announces work and carries invalidations within one process.
//
// # Rate limits
//
// Limiter counts requests inside the process. Each process allows
// the whole limit on its own.
//
// The algorithm is a sliding window made of two counters. A window begins with
// the first request of an idle bucket; the requests of the window before weigh
// as much as of that window still lies within the last full length. So the
// first window admits exactly the limit, and no boundary lets a double burst
// through, as it does with fixed windows.
//
// Decisions that bind it:
//
//   - All arithmetic is in whole microseconds and integers. RetryAfter is
//     therefore exact: a single caller that waits that long is admitted, and one
//     that waits a microsecond less is not.
//   - One mutex. A Take of two buckets holds it for a fraction of a
//     microsecond; shards would need an order of locks to stay atomic, and
//     gain nothing before some million requests a second.
//   - Memory is bounded: a bucket is forgotten two windows after its last
//     window began, and each scope keeps a fixed number of buckets, dropping
//     the ones that were not asked for the longest time. The bound is per
//     scope, so that a flood of client addresses cannot push out the counters
//     of keys.
//   - GiveBack takes from the current window. A Take just before a window's
//     end that is given back just after it is taken from the wrong one when
//     the new one has requests of its own already; telling them apart would
//     need a ticket for each request.
//   - It can go on from what another limiter counted (Remember); redis.GuardedLimiter says what for.
//
// # Queue
//
// Queue notifies inside one process. What is waiting when the process
// ends is forgotten, as the port allows.
//
// # Invalidations
//
// Each listener has a queue of its own, so that a slow listener does not hold up
// an announcement. A queue that grows too long is replaced by a single message:
// forget everything.
package memory
