// Package clients holds the tests of the clients that integrators are given: each of
// them works with the real program, has every operation, and meets faults of a service as
// it should. `make verify` shows that what is generated is what the description says.
//
// bruno plays the collection, and typescript holds programs that use the client in
// TypeScript.
package clients
