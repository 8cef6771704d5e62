// Package deliveries quotes, books, shows, moves and cancels deliveries. Its use cases differ by
// caller:
//
//   - Quotes and Deliveries: a program of the customer, with an API key.
//   - Handling: people of the customer, in the portal.
//   - Operations: the delivery company, in the console and by its own programs.
//   - Tracking: anybody with the reference of a delivery.
//
// Package domain decides what a delivery may do. Package idempotency makes a create happen once. A
// quote reserves nothing and is not stored.
//
// # People of a business
//
// A program's API key names its tenant. A person names a delivery, so its tenant is looked up
// first. A delivery of another business is domain.ErrNotFound, like one that does not exist.
// Changes go through Change, as those of the API do, and into the audit log with the person's name.
//
// # Tracking
//
// Tracking shows a delivery once, and Watches shows it again after each change. Viewers do not sign
// in. The reference is the only secret, and domain.Tracking is all that it opens: fields that must
// not be seen are not even read.
//
//   - Misses are limited per client address. The limit never hides a delivery that exists, because
//     whole mobile networks share an address. A lookup is charged before it is made and refunded
//     where the delivery exists. Beyond the limit, references are looked up in batches
//     (application/lookups): those that exist open a moment later, and only the others are
//     refused.
//   - A reference in the cache is looked up at once, whatever its client address did.
//   - A watched delivery is read from the database every few seconds, once for all its watchers.
//     Change notifications were rejected: a notification can be lost, and a recipient does not
//     notice a delay of 2 s.
package deliveries
