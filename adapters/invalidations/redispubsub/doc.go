// Package redispubsub carries invalidations between processes over a channel of
// Redis.
//
// Decisions that bind this package:
//
//   - Redis forgets what nobody heard, so that a connection that was lost has
//     to count as something missed: after each subscription, the first one
//     included, everything is forgotten. A stream that remembers was rejected:
//     what was missed is stale by itself before one could be read.
//   - A connection on which nothing is heard for ten seconds, not even the
//     answer to a ping, is given up. One that broke without a word would
//     otherwise be waited on for ever.
//   - An announcement is made once, and also when the request it comes from is
//     over: the change is committed by then.
//   - Word of fan-outs goes the same way, on a channel of its own (fanouts.go).
package redispubsub
