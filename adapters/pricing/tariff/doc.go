// Package tariff prices trips from a table inside the process: a base and a
// rate per kilometre for each vehicle, a least fee, and the longest trip that
// is priced without a person looking at it.
//
// A fee is computed with integers from whole metres and rounded up to a step,
// so that the fee of a quote can be checked by hand from the distance shown
// beside it, and two machines never differ by a step.
//
// An end of a trip to which no road leads is refused as one outside the service
// area is, with its name: a quote by hand would need a distance too, and 503 would
// have the caller try again for ever.
//
// Trucks have no prices, here or in any table: each is quoted by a person.
package tariff
