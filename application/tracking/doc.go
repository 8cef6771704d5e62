// Package tracking shows a delivery to anyone with its reference: once, and again
// after each change.
//
// Viewers do not sign in. The reference is the only secret, and domain.Tracking
// is all that it opens: fields that must not be seen are not even read.
//
// Decisions that bind this package:
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
package tracking
