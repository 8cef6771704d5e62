// Package tenancy knows the customers: businesses, their applications, and
// the API keys by which a request is let in.
//
// Admission (admit.go) is the first thing that happens to every request. It
// refuses a mistyped key without asking the database, remembers a good key
// for less than two seconds, so that a revoked one stops within two, and
// counts failures per client address, so that guessing is cheap for nobody.
package tenancy
