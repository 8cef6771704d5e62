// Package valhalla measures trips by road, asking a Valhalla over HTTP: one
// call, POST {URL}/route, whose answer has the length of the fastest way.
//
// A vehicle of ours is one of the engine's costings, which decide the roads
// that it may take:
//
//	bike   motor_scooter    riders are on motorbikes; Options.BikeCosting
//	                        makes it motorcycle or bicycle
//	car    auto
//	van    auto             a van of couriers goes where cars do
//	truck  truck            by its usual size and weight
//
// Decisions that bind this package:
//
//   - No road between the points is an answer and no outage. The engine says so
//     with error 170, 171 or 442, and the caller gets ports.ErrNoRoute or, where
//     one end is too far from any road for this vehicle, the end by name: error 171
//     does not tell which, so the way from the pickup to itself is asked for too.
//     The price becomes a 422 on that field, as for a point outside the service
//     area. Rejected: 503, since nothing gets better by waiting; a quote by hand,
//     which needs a distance too; and a straight line.
//   - A point may be 2 km from a road, not the engine's 35: a point farther out
//     would be measured from another town. The way to the road is not in the
//     length.
//   - Everything else that comes, or does not, is a failure: another status, a
//     redirect, another unit, a length that is missing, negative or no number,
//     an answer over 1 MiB or not JSON, any other error of the engine's, also its
//     refusal of our question.
//   - One deadline covers everything from the look-up of the name to the last
//     byte, and the second question.
//   - No retry, no proxy of the environment, no redirect; the reasons are the same
//     as those of the pricing service's client.
//   - A trip that the engine finds too long, its error 154 (by its own settings
//     over 500 km), is an answer too: the caller gets a *ports.TripTooLongError
//     with an estimate by the straight line, and the price becomes a custom quote.
//     The limit is the operator's, so no way that exists is called none.
//   - A failure is about one trip. Package circuitbreaker decides when the engine
//     itself is gone, and keeps live, the sandbox and the businesses apart
//     meanwhile.
//   - The matrix, POST /sources_to_targets, has a shorter answer, and was
//     rejected: it tells by null that there is no way, and does not say why.
//
// Package routing remembers recent distances, not this one.
package valhalla
