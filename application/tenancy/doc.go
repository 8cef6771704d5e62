// Package tenancy knows the customers: businesses, their applications, and
// the API keys by which a request is let in.
//
// Admission (admit.go) is the first thing that happens to every request. It
// refuses a mistyped key without asking the database, remembers a good key
// for less than two seconds, so that a revoked one stops within two, and
// counts failures per client address, so that guessing is cheap for nobody.
//
// Keys are stored as digests under a pepper. With another pepper all of them
// would be unknown and nothing else would show, so that the storage keeps a
// mark of its pepper (pepper.go), and neither is a server started nor a key
// made with another one.
package tenancy
