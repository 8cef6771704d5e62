// Package cached remembers what another ports.Routing measured lately, so that
// the trips a shop asks for again, as for a quote and then its delivery, cost
// nothing and have the same length.
//
//   - Points are rounded to five decimals, about a metre, before the routing
//     engine is asked: the answer then depends on the trip alone, not on the
//     first caller.
//   - Live and sandbox share what was measured: roads are the same.
//   - That there is no way is remembered for a minute: an engine whose map is not
//     loaded yet says so too. A failure is not: the next caller asks again.
//   - Callers of one business and environment that want the same trip at the same
//     time share one request; a slow request of one customer does not hold up
//     another. The request has no deadline of a caller, since the first may leave
//     while others wait; the routing behind has to end by itself. Each caller
//     leaves at its own deadline.
//   - A distance is kept for an hour, and 65,536 trips at most: about 20 MB. The
//     least used one goes first.
package cached
