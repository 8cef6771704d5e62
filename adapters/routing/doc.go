// Package routing measures trips without a routing engine, and remembers what one measured.
// Package valhalla asks the engine.
//
// # Straight lines
//
// StraightLine measures trips without a road map: the great circle
// between the two ends, lengthened by 1.3, which is about what roads add in
// towns. It makes no request and so never fails on real coordinates.
//
// It stands where no routing engine is configured, and says so in the source of
// each distance. It must not be a fallback for an engine that failed: two equal
// trips would then cost differently without a visible reason.
//
// # Cache
//
// Cached remembers what another ports.Cached measured lately, so that
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
package routing
