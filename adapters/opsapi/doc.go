// Package opsapi serves the operators' listener: liveness, readiness, metrics and profiles. On
// servers it also serves the operations API under /ops/v1, with which the delivery company
// manages its customers and moves their deliveries.
//
// Health and metrics are open to every client that reaches the listener by one of its names, so
// it belongs on a private address. They name no customer, no delivery and no key. Profiles and
// the operations API require an operator token with each request.
//
// Where to look: routes.go is the table of all routes. management.go has the fixed order of
// checks that every route passes. A file per resource reads the request and builds the
// response. openapi.yaml describes it, and tests check the routes and every response against
// that.
//
// Decisions that bind this package:
//
//   - It shares adapters/web with the public API and nothing else. The two listeners have
//     different clients, limits and errors. One pipeline with switches for both was rejected.
//   - Only requests that move many deliveries take an Idempotency-Key. A repeated move of one
//     delivery does no harm: it is refused with the current status, which shows that the move
//     was made.
package opsapi
