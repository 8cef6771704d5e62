// Package access decides which requests are let in: it keeps the customers with their
// applications and API keys, checks the key of each request, and counts what the request
// costs.
//
// # Requests
//
// Admission authenticates the API key, or Operators the token of an operator, and takes
// what the request costs from the rate limits and from the requests in flight.
//
// Admit (admit.go) is the first thing that happens to every request. It
// refuses a mistyped key without asking the database, and counts failures per
// client address before it asks. Keys from an address with too many of them are
// looked up many at a time (application/lookups), so that guesses load nothing and
// a key that exists is let in, however many of its address guess.
//
// Admission remembers a good key for less than two seconds (key_cache.go), so that a
// revoked one stops within two whatever happens. Where the servers hear of the
// change through ports.Invalidations it stops at once: Tenants announces it
// behind the commit, and Admission forgets the application's keys.
//
// When a key was used last is collected in memory (key_uses.go) and written
// every few seconds; a process that dies takes the last ones with it. Writing
// it with each request was rejected: it would turn every read into a write, of
// the same row for all requests of a key.
//
// # Keys
//
// Tenants keeps businesses, their applications and API keys, their limits, and the
// tokens of operators.
//
// A change of a key, an application or a limit is announced behind its commit
// through ports.Invalidations, so that servers which remember a key look it up
// again at once. An announcement decides nothing: a lost one costs less than two
// seconds.
//
// Keys are stored as digests under a pepper. With another pepper all of them
// would be unknown and nothing else would show, so that the storage keeps a
// mark of its pepper (pepper.go), and neither is a server started nor a key
// made with another one.
//
// To change the pepper, every process is given the new one first as a previous
// one, and as its own only then. A key is known by its digests under all of them,
// in one look-up, and its next use moves it to the newest: only then its secret
// is here. The storage keeps the order in which peppers came, so that a process
// with the old one as its own takes no key back. To keep two digests of each key
// was rejected: no key has a second one before it is used.
package access
