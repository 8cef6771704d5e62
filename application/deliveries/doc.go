// Package deliveries quotes, books, shows, moves and cancels deliveries. Its use cases differ
// by who asks:
//
//   - Quotes and Deliveries: a program of the customer, with an API key.
//   - Handling: people of the customer, in the portal.
//   - Operations: the delivery company, in the console and by its own programs.
//   - Tracking: anybody with the reference of a delivery.
//
// What a delivery may do is decided in domain; that a create happens once is the promise of
// package idempotency. A quote reserves nothing and is not kept.
//
// # People of a business
//
// Programs name their tenant by a key; people name a delivery, and whose it is has to
// be found first. A delivery of another business is domain.ErrNotFound, as one that
// does not exist. Changes go through Change, as those of the API do, and
// into the audit log with the person's name.
//
// # Tracking
//
// Tracking shows a delivery once, and Watches shows it again after each change. Viewers do not sign in. The reference is the only secret, and domain.Tracking
// is all that it opens: fields that must not be seen are not even read.
//
//   - Misses are limited per client address, and the limit shuts no page: whole
//     mobile networks share an address. A look-up is charged before it is made and
//     given back for what exists. Beyond the limit references are looked up many at
//     a time (application/lookups): those that exist open, a moment later, and only
//     the others are refused.
//   - A reference that was found lately is looked up at once whatever its address
//     did.
//   - A watched delivery is read from the database every few seconds, once for
//     all its watchers. Notifications of changes were rejected: a notification
//     can be lost, and a recipient does not notice a delay of 2 s.
package deliveries
