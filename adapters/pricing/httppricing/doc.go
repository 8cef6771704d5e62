// Package httppricing asks a pricing service over HTTP.
//
// The protocol is one call, POST {URL}/prices. Any service may answer it;
// package pricingserver serves it from any ports.Pricing.
//
//	request   {"environment":"live","vehicle_type":"bike","currency":"GHS",
//	           "pickup":{"latitude":5.56,"longitude":-0.2},"dropoff":{"latitude":5.6,"longitude":-0.19}}
//	200       {"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","requires_custom_quote":false}
//	200       the same without fee where requires_custom_quote is true
//	422       {"code":"OUTSIDE_SERVICE_AREA","field":"dropoff"}    or "pickup"
//
// Whatever else comes back, or does not, is QUOTE_UNAVAILABLE: another status,
// a redirect, a fee that is negative, finer than a hundredth, missing or
// beside requires_custom_quote, a foreign currency, a number that is none, an
// answer that is not one JSON object of at most 64 KiB, a time-out.
//
// Decisions that bind this package:
//
//   - The fee is read from the digits of the answer. A float was rejected: it
//     cannot tell 0.295 from 0.29499999999999998.
//   - One deadline covers everything from the look-up of the name to the last
//     byte of the body. Separate time-outs add up and let a slow drip through.
//   - The body decides whether an answer is JSON, not its Content-Type, which
//     small services often leave to their library's guess. Unknown members are
//     ignored, so that a service may add some; a member named twice is a fault.
//     requires_custom_quote may be left out beside a fee, and a fee of null
//     counts as left out.
//   - No retry. The caller has an idempotency key and repeats the whole
//     request; retrying here as well would multiply the load on a service that
//     is down. (A request that met a connection the service had closed is sent
//     again on a new one: it never arrived.)
//   - A failure to price is about one trip. Package circuitbreaker decides when the
//     service itself is gone, and keeps live, the sandbox and the businesses
//     apart meanwhile. Rejected: a breaker that counts bad answers, since one
//     customer can have them at will.
//   - No proxy is taken from the environment, and no redirect is followed: the
//     places of customers go where the setting says and nowhere else.
package httppricing
