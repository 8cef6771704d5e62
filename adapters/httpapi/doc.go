// Package httpapi is the public /v1 API over gin: it turns requests into calls
// of use cases and their outcome into the envelope that openapi.yaml describes.
// One API value serves one environment; the listener it sits on decides which.
//
// Where to look: routes.go is the table of everything there is; pipeline.go is
// the fixed order of checks that every route passes; a file per resource reads
// its input and shows its output, with adapters/web.
//
// What it does not do: decide anything about a delivery, a recipient or a key.
//
// Decisions that bind this package:
//
//   - Bodies are decoded by web/strictjson and not by gin's binding, which accepts
//     trailing content, duplicate and wrong-case names.
//   - The order of checks lives in one place, driven by the route's data.
//     Middleware per check was rejected: the order is part of the contract, and a
//     chain of Use calls would hide it.
//   - The answer that is stored for an Idempotency-Key is the whole body, so
//     that a replay needs no rendering and cannot differ.
package httpapi
