// Package tracking shows a delivery to whoever has its reference: once, and
// then again whenever something changes.
//
// It knows nobody. The reference is the only secret, and domain.Tracking is all
// that it opens: what must not be seen is not read in the first place.
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
//   - What is watched is read from the database every few seconds, once for all
//     who watch it. Telling the processes of changes was rejected: it is one more
//     thing that may be lost, and who waits for a parcel does not notice 2 s.
package tracking
