// Package clients holds the tests of the clients that integrators are given:
// what is committed is what the description says, each of them works with the
// real program, and faults of a service are met as they should be.
//
// generate writes the clients; typescript holds programs that use the one in
// TypeScript.
package clients
