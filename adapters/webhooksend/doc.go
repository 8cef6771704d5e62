// Package webhooksend sends webhooks to URLs that customers chose.
//
// Each Send is one POST over HTTP/1.1. It neither signs nor retries, and it does not check the
// URL of an endpoint: domain.CheckWebhookURL did that at registration. It does check the
// addresses of the host name, at every dial.
//
// Decisions that bind this package:
//
//   - A dial looks the name up, refuses if any address of the result is forbidden, and then
//     connects to an address of this same result. A name that changes between check and use
//     cannot lead elsewhere. A kept connection was checked when it was made and serves its
//     host only.
//   - The forbidden addresses are a table, from the registries of the IANA. Of IPv6 only the
//     global unicast range and the well-known NAT64 prefix are allowed. The predicates of
//     net/netip were rejected: IsPrivate and the others let several ranges through. An address
//     that carries an IPv4 address (mapped, NAT64, ISATAP) is treated like that one. Addresses
//     of retired mechanisms (6to4, Teredo, compatible) are refused whatever they carry.
//   - It follows no redirect, uses no proxy of the environment, decompresses nothing and keeps
//     no cookie.
//   - A 2xx counts as soon as its headers arrive: the receiver has responded, and its body
//     only serves the log. So a body that drips, breaks off or never ends changes nothing.
//   - Names are looked up as absolute ones, without the search list of the host, except in
//     development.
//   - HTTP/1.1 only, by net/http.Transport, with a dialer of our own. The dialer checks the
//     addresses, and says why a connection failed. RoundTrip is called and not a Client, which
//     would follow redirects.
//   - All senders to a host share kept connections. Attempts in flight are limited for each
//     owner and host, so that one customer's webhooks to a slow host delay no other
//     customer's.
//   - A request on a kept connection that the receiver had closed is sent once more on a new
//     connection. The first request never arrived, or both arrive with the same ID.
//
// The error class is the nearest one. dns: the name has no address, or the lookup failed.
// blocked_ip: an address is forbidden, or nothing may be sent to the URL. refused: no
// connection, for another reason than time (no route, too). tls: the handshake failed, an
// untrusted certificate included. timeout_connect: no connection in time, the handshake
// included, or no free slot. timeout_response: connected, but no complete headers in time, or
// the caller left. body_too_large: headers of over 16 KiB, informational responses included.
// reset: the connection broke off, or the response is not HTTP or has a status outside 200-599.
package webhooksend
