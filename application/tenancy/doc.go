// Package tenancy knows the customers: businesses, their applications and API
// keys, their limits, and the tokens of operators. Package admission decides which
// request these let in.
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
package tenancy
