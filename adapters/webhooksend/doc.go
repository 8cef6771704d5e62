// Package webhooksend posts webhooks to addresses that customers chose.
//
// Each Send is one POST over HTTP/1.1. It neither signs nor retries, and it does
// not know which addresses an endpoint may have: domain.CheckWebhookURL judged
// that at registration. It does check, at every dial, the addresses of a name.
//
// Decisions that bind this package:
//
//   - A dial looks the name up, refuses if any address of the answer is
//     forbidden, and then connects to an address of this very answer. A name
//     that changes between check and use cannot lead elsewhere. A kept
//     connection was vetted when it was made and serves its host only.
//   - The forbidden addresses are a table, from the registries of the IANA, and
//     of IPv6 only the global unicast range and the well-known NAT64 prefix are
//     left. The predicates of net/netip were rejected: IsPrivate and the others
//     let several ranges through. Addresses that carry an IPv4 address (mapped,
//     NAT64, ISATAP) are as good as that one; those of retired mechanisms (6to4,
//     Teredo, compatible) are refused whatever they carry.
//   - No redirect is followed, no proxy is taken from the environment, nothing
//     is decompressed, no cookie is kept.
//   - A 2xx counts as soon as its headers are there: the receiver has answered,
//     and its body serves the log alone. So a body that drips, breaks or never
//     ends changes nothing.
//   - Names are looked up as absolute ones, without the search list of the host,
//     except in development.
//   - HTTP/1.1 only, by net/http.Transport, with dials of our own: they check the
//     addresses, and tell why there is no connection. RoundTrip is called and not a
//     Client, which would follow redirects.
//   - Kept connections are shared by all who send to a host. Attempts under way are
//     bounded for each owner and host, so that one customer's webhooks to a slow
//     host hold up no other's.
//   - A request that met a kept connection the receiver had closed is sent once
//     more on a new one: it never arrived, or arrives twice with the same ID.
//
// The error class is the nearest there is. dns: the name has no address, or no
// answer came. blocked_ip: an address is forbidden, or the URL is none to send
// to. refused: no connection, for another reason than time (no route, too). tls:
// the handshake failed, an untrusted certificate included. timeout_connect: no
// connection in time, the handshake included, or none was free.
// timeout_response: connected, but no whole headers in time, or the caller
// left. body_too_large: headers of over 16 KiB, informational answers added up.
// reset: the connection broke off, or what came is not HTTP or has a status
// outside 200-599.
package webhooksend
