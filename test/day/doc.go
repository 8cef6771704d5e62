// Command day plays one day of a delivery company on a server of its own, so that a
// person can try the console as a dispatcher would:
//
//	make day
//	make day ARGS="-minutes 5 -seed 7"
//
// It starts `waybill dev` in a data directory of its own, which prints the links into
// the portal and the console. Ten customers book 500 deliveries on live, about half of
// them in the morning and the others through the day. A dispatch system moves them with
// POST /ops/v1/deliveries/advance: most arrive, some late; some fail, for each of the
// reasons there are, and go out again or do not; some are cancelled, by their customer or
// for want of a rider; partners are silent about a few; and a few are never assigned
// but by the person at the console. The webhooks of some customers fail.
//
// All of it goes through the public API and the operations API. The same seed makes the
// same day; a person may move any delivery meanwhile, and the dispatch system then leaves
// that one alone. After the day the server runs on until Ctrl-C. With
// WAYBILL_DATABASE_URL and WAYBILL_REDIS_URL it is played on those servers, where the
// customers of an earlier day are found again by their names.
package main
