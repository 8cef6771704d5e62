// Package valhalla measures trips by road with a Valhalla engine over HTTP: one request, POST
// {URL}/route, whose response has the length of the fastest way.
//
// Each vehicle uses one of the engine's costings, which decide the roads that it may take:
//
//	bike   motor_scooter    riders are on motorbikes; Options.BikeCosting
//	                        makes it motorcycle or bicycle
//	car    auto
//	van    auto             a van of couriers goes where cars do
//	truck  truck            by its usual size and weight
//
// Decisions that bind this package:
//
//   - No road between the points is a result and no outage. The engine says so with error 170,
//     171 or 442, and the caller gets ports.ErrNoRoute or, if one end is too far from any road
//     for this vehicle, an error that names the end. Error 171 does not say which end, so the
//     package also requests the way from the pickup to itself. The price becomes a 422 on that
//     field, as for a point outside the service area. Rejected: 503, since waiting changes
//     nothing; a manual quote, which needs a distance too; and a straight line.
//   - A point may be 2 km from a road, not the engine's 35: a point farther out would be
//     measured from another town. The way to the road is not in the length.
//   - Every other response is a failure: another status, a redirect, another unit, a length
//     that is missing, negative or no number, a response over 1 MiB or not JSON, any other
//     error of the engine, also if it rejects our request. So is a missing response.
//   - One deadline covers everything from the look-up of the name to the last byte, and the
//     second request.
//   - No retry, no proxy of the environment, no redirect, for the same reasons as in the
//     client of the pricing service.
//   - A trip that the engine finds too long, its error 154 (by its own settings over 500 km),
//     is a result too: the caller gets a *ports.TripTooLongError with an estimate by the
//     straight line, and the price becomes a custom quote. The limit is the operator's, so an
//     existing way is never reported as none.
//   - A failure is about one trip. Package circuitbreaker decides when the engine itself is
//     gone, and keeps live, the sandbox and the businesses apart meanwhile.
//   - The matrix, POST /sources_to_targets, has a shorter response, and was rejected: it uses
//     null for no way, and does not say why.
//
// Package routing caches recent distances, not this one.
package valhalla
