// Package opsapi is the operators' listener: is the process alive, may it get
// traffic, its metrics and its profiles; and, on servers, the operations API
// under /ops/v1, by which the delivery company manages its customers and moves
// their deliveries.
//
// Health and metrics are open to every client that reaches the listener by a name
// of its own, so it belongs on a private address. These name no customer, no
// delivery and no key. Profiles and the operations API ask for an operator token
// with each request.
//
// Where to look: routes.go is the table of everything there is; management.go
// is the fixed order of checks that every route passes; a file per resource reads
// its input and shows its output. openapi.yaml describes it, and tests hold the
// routes and every answer against that.
//
// Decisions that bind this package:
//
//   - It shares adapters/web with the public API and nothing else: the two
//     listeners have different callers, limits and errors, and one pipeline with
//     switches for both was rejected.
//   - An Idempotency-Key only where many deliveries are moved with one request. A
//     repeated move of one does no harm: it is refused with the current status, which
//     shows that it was made.
package opsapi
