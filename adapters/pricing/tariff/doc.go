// Package tariff prices trips from a table inside the process: a base and a rate per kilometre
// for each vehicle, a minimum fee, and the longest trip with an automatic price.
//
// A fee is computed with integers from whole metres and rounded up to a step. So the fee of a
// quote can be checked by hand from the distance next to it, and two machines never differ by a
// step.
//
// If no road leads to an end of a trip, the error names that end, as for a point outside the
// service area. A manual quote would need a distance too, and after a 503 the caller would
// retry forever.
//
// Trucks have no prices, here or in any table: a person quotes each one.
package tariff
