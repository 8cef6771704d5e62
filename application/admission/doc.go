// Package admission decides which requests are let in: it authenticates the API
// key, or the token of an operator, and takes what the request costs from the rate
// limits and from the requests in flight. Package tenancy has the keys themselves.
//
// Admit (admit.go) is the first thing that happens to every request. It
// refuses a mistyped key without asking the database, and counts failures per
// client address before it asks. Keys from an address with too many of them are
// looked up many at a time (application/lookups), so that guesses load nothing and
// a key that exists is let in, however many of its address guess.
//
// Admission remembers a good key for less than two seconds (key_cache.go), so that a
// revoked one stops within two whatever happens. Where the servers hear of the
// change through ports.Invalidations it stops at once: tenancy announces it
// behind the commit, and Admission forgets the application's keys.
//
// When a key was used last is collected in memory (key_uses.go) and written
// every few seconds; a process that dies takes the last ones with it. Writing
// it with each request was rejected: it would turn every read into a write, of
// the same row for all requests of a key.
package admission
