// Package httppricing is the client of a pricing service over HTTP.
//
// The protocol is one request, POST {URL}/prices. Any service may implement it. Package
// pricingserver serves it from any ports.Pricing.
//
//	request   {"environment":"live","vehicle_type":"bike","currency":"GHS",
//	           "pickup":{"latitude":5.56,"longitude":-0.2},"dropoff":{"latitude":5.6,"longitude":-0.19}}
//	200       {"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","requires_custom_quote":false}
//	200       the same without fee where requires_custom_quote is true
//	422       {"code":"OUTSIDE_SERVICE_AREA","field":"dropoff"}    or "pickup"
//
// Everything else is QUOTE_UNAVAILABLE: another status, a redirect, a fee that is negative,
// finer than a hundredth, missing, or sent with requires_custom_quote, a foreign currency, an
// invalid number, a response that is not one JSON object of at most 64 KiB, a timeout.
//
// Decisions that bind this package:
//
//   - The fee is read from the digits of the response. A float was rejected: it cannot
//     distinguish 0.295 from 0.29499999999999998.
//   - One deadline covers everything from the look-up of the name to the last byte of the
//     body. Separate timeouts add up and let a slow drip through.
//   - The body decides whether a response is JSON, not its Content-Type, which small services
//     often leave to their library's guess. Unknown members are ignored, so that a service may
//     add some. A member named twice is an error. requires_custom_quote may be left out when
//     there is a fee, and a fee of null counts as left out.
//   - No retry. The caller has an idempotency key and repeats the whole request. Retrying here
//     as well would multiply the load on a service that is down. (A request that met a
//     connection the service had closed is sent again on a new one: it never arrived.)
//   - A failed price is about one trip. Package circuitbreaker decides when the service itself
//     is gone, and keeps live, the sandbox and the businesses apart meanwhile. Rejected: a
//     breaker that counts bad responses, since one customer can cause them at will.
//   - It uses no proxy of the environment and follows no redirect: the locations of customers
//     go where the setting says and nowhere else.
package httppricing
