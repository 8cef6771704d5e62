// Package server serves: a listener with its connections (Server), and a process with its
// listeners and background tasks (Process).
//
// # Connections
//
// A connection that is closed while its client still sends is reset by the
// kernel, and the reset throws away what the client has not read yet: the answer
// that says why its request was refused. So the sending side is closed first,
// and what still comes is read and thrown away, up to 8 MiB or 2 seconds. That
// happens below net/http, for whatever was answered and by whomever: a handler,
// a site beside the API, or net/http itself.
//
// Decisions that bind it:
//
//   - Each listener has places of its own for its connections, so that those of
//     one cannot use up another's. A connection without a place is closed at
//     once: letting it wait would only move the queue into the kernel.
//   - One network (/56 of IPv6) holds at most half of the places. That is not
//     asked of trusted proxies, behind which all clients have one address, nor of
//     this machine.
//   - A server that ends answers what has reached it. Closing a listener makes the
//     kernel reset the connections that wait to be accepted, and net/http drops a
//     request that it reads once its Shutdown was called. So Shutdown first accepts
//     until none waits, and waits until each request that has come is with its
//     handler. A default delay of one second was rejected: what comes in the moment
//     of its end would be lost all the same, and each restart would take longer.
//   - Throwing away has places too. Without one a connection is closed as if this
//     package were not there: its answer may be lost, and nothing else is.
//
// # Process
//
// Process serves on listeners, beside tasks, until it is told to stop, and
// then drains: first the requests that are under way, then the tasks, and last the
// listener of operators, which tells meanwhile that the process is not ready.
package server
