// Package redislimiter counts requests in Redis, so that all processes count
// against one limit.
//
// The algorithm is a sliding window made of two counters. A window begins with
// the first request of an idle bucket; the requests of the window before weigh
// as much as of that window still lies within the last full length.
//
// Decisions that bind this package:
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
//     here. Package guarded goes on without it.
package redislimiter
