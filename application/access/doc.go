// Package access decides which requests are admitted. It manages the customers with their
// applications and API keys, checks the key of each request, and counts what the request costs.
//
// # Requests
//
// Admission authenticates the API key, or Operators the token of an operator. It charges the
// request to the rate limits and to the requests in flight.
//
// Every request passes Admit (admit.go) first. It refuses a mistyped key without a query to the
// database, and counts failures per client address before it queries. Keys from an address with too
// many failures are looked up many at a time (application/lookups). So guesses cause no load, and
// an existing key is admitted, however many others at its address guess. The same holds for the
// tokens of operators.
//
// Admission caches a valid key for less than two seconds (key_cache.go), so that a revoked one
// stops within two in any case. Where ports.Invalidations reach the servers, it stops at once:
// Tenants announces the change after the commit, and Admission invalidates the application's keys.
//
// The time of a key's last use is collected in memory (key_uses.go) and written every few seconds.
// A process that dies loses the latest. Writing it with each request was rejected: it would turn
// every read into a write, of the same row for all requests of a key.
//
// # Keys
//
// Tenants manages businesses, their applications and API keys, their limits, and the tokens of
// operators.
//
// After its commit, a change of a key, an application or a limit is announced through
// ports.Invalidations. Servers that have cached a key then look it up again at once. An
// announcement decides nothing: a lost one costs less than two seconds.
//
// Keys are stored as digests with a pepper. With another pepper all of them would be unknown, and
// nothing else would show it. So the storage keeps a mark of its pepper (pepper.go). With another
// pepper no server starts and no key is made.
//
// To change the pepper, every process first gets the new one as a previous one, and only then as
// its own. A key is known by its digests with all of them, in one lookup. Its next use moves it to
// the newest pepper: only then its secret is here. The storage keeps the order of the peppers, so
// that a process with the old one as its own moves no key back. Storing two digests of each key was
// rejected: no key has a second one before it is used.
package access
