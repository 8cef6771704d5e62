// Package tracking shows a delivery to whoever has its reference: once, and
// then again whenever something changes.
//
// It knows nobody. The reference is the only secret, and domain.Tracking is all
// that it opens: what must not be seen is not read in the first place.
//
// Decisions that bind this package:
//
//   - Misses are limited per client address. Only what was missed counts, after
//     the look-up, and an address has few look-ups under way at a time: so who
//     guesses with many requests at once has hardly more of them looked up. Taking
//     before the look-up and giving back after a hit was rejected: of many people
//     who open their pages at one moment behind one address, most were turned away.
//   - A reference that was found lately is served whatever its address did: whole
//     mobile networks share one, and a neighbour who guesses shuts nobody out
//     who has the page open.
//   - What is watched is read from the database every few seconds, once for all
//     who watch it. Telling the processes of changes was rejected: it is one more
//     thing that may be lost, and who waits for a parcel does not notice 2 s.
package tracking
