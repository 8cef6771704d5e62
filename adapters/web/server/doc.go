// Package server runs a listener with its connections (Server), and a process with its listeners
// and background tasks (Process).
//
// # Connections
//
// The kernel resets a connection that is closed while its client still sends. The reset discards
// what the client has not read yet: the response that says why its request was refused. So the
// server closes the sending side first. Then it reads and discards what still arrives, up to 8 MiB
// or 2 seconds. That happens below net/http, for every response: of a handler, of another site on
// the listener, or of net/http itself.
//
// Decisions that bind it:
//
//   - Each listener has its own limit of connections, so that one cannot use up those of another. A
//     connection beyond the limit is closed at once: letting it wait would only move the queue into
//     the kernel.
//   - A proxy that streams bodies holds a connection while one arrives slowly. So arriving bodies
//     have half as many places as there are connections. A body waits a second for its place, and
//     is not read without one. One that has already arrived needs its place for microseconds.
//   - A response does not wait for a body that its handler did not read to the end. What has not
//     arrived within a quarter of a second is not read, and the connection is closed.
//   - A server that shuts down answers the requests that have reached it. Closing a listener makes
//     the kernel reset the connections that wait to be accepted, and net/http drops a request that
//     it reads after its Shutdown was called. So Shutdown first accepts until none waits, and waits
//     until a handler has each request that arrived. A default delay of one second was rejected:
//     requests at its end would be lost anyway, and each restart would take longer.
//   - Discarding has a limit too, at most a quarter of the connections. Beyond it a connection is
//     closed as if this package did not exist: its response may be lost, and nothing else is.
//
// # Shares
//
// One network (/24 of IPv4, /48 of IPv6) holds at most half of the connections, and a quarter of the
// places of bodies. One address (a /64 of IPv6) holds at most a quarter of what its network does,
// but at least 8 connections: a browser opens six. Trusted proxies and this machine have no share.
// Bodies count for the client before the proxies (X-Forwarded-For).
//
//   - A connection that finds its share full takes the place of one that waits for a request, or
//     for the rest of the head of one. That is the one that has waited the longest, of the address
//     that has the most connections in the network. If all have a request under way, the new one is
//     closed.
//   - A body that has waited a second in vain cuts off the oldest one of the address that has the
//     most in the network, if that has been arriving for more than a second. Connections whose
//     bodies wait are at most a quarter of all, with the same shares.
//   - So one address fills its own share, and only the clients behind it wait. Four addresses fill
//     the share of their network. Then a connection from another address there still finds a place
//     unless all connections of the heaviest one have a request under way, and a body waits a second
//     or two. Two networks fill the connections of a listener, and four the places of bodies.
//   - An office is one address for all its people. By default it has 1024 connections of the live
//     API, 512 of the sandbox and 64 of the portal, and at a time 256, 128 and 16 bodies that arrive.
//     As many bodies wait. 64 connections are twenty people with three live pages each, without a
//     proxy. With shares of networks alone it would have four times as much, but so would any one
//     machine, which could take all of it from the others of its network.
//
// # Process
//
// Process serves on listeners and runs tasks until it is stopped. Then it drains: first the
// requests in flight, then the tasks, and last the listener of operators, which reports meanwhile
// that the process is not ready.
package server
