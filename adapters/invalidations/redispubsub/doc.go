// Package redispubsub carries invalidations between processes over a channel of
// Redis.
//
// Decisions that bind this package:
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
package redispubsub
