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
//   - One network (/24 of IPv4, /48 of IPv6) holds at most half of the connections. That does not
//     apply to trusted proxies, behind which all clients have one address, nor to this machine.
//   - A proxy that streams bodies holds a connection while one arrives slowly. So arriving bodies
//     have half as many places as there are connections. Those of one network of clients
//     (X-Forwarded-For) have a quarter of them. A body waits a second for its place, and is not read
//     without one. One that has already arrived needs its place for microseconds.
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
// # Process
//
// Process serves on listeners and runs tasks until it is stopped. Then it drains: first the
// requests in flight, then the tasks, and last the listener of operators, which reports meanwhile
// that the process is not ready.
package server
