// Package routing measures trips without a routing engine, and caches what one measured.
// Package valhalla asks the engine.
//
// # Straight lines
//
// StraightLine measures trips without a road map: the great circle between the two ends, times
// 1.3, which is about what roads add in towns. It makes no request and so never fails on real
// coordinates.
//
// It is used when no routing engine is configured, and the source of each distance says so. It
// must not be a fallback for an engine that failed: two equal trips would then cost differently
// without a visible reason.
//
// # Cache
//
// Cached caches what another ports.Routing measured recently. So the trips a shop asks for
// again, as for a quote and then its delivery, cost nothing and have the same length.
//
//   - Points are rounded to five decimals, about a metre, before the request to the routing
//     engine: the result then depends on the trip alone, not on the first caller.
//   - Live and sandbox share the cache: roads are the same.
//   - "No way" is cached for a minute: an engine whose map is not loaded yet says so too. A
//     failure is not cached: the next caller asks again.
//   - Callers of one business and environment that want the same trip at the same time share
//     one request. A slow request of one customer does not delay another. The request has no
//     deadline of a caller, since the first may leave while others wait: the routing behind
//     must end by itself. Each caller leaves at its own deadline.
//   - A distance is cached for an hour, and 65,536 trips at most: about 20 MB. The least
//     recently used one is dropped first.
package routing
