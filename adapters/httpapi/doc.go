// Package httpapi serves the public /v1 API with gin. It turns requests into calls of use
// cases, and their outcome into the response envelope that openapi.yaml describes. One API
// value serves one environment. The listener it runs on decides which.
//
// Where to look: routes.go is the table of all routes. pipeline.go has the fixed order of
// checks that every route passes. A file per resource reads the request and builds the
// response, with adapters/web.
//
// This package decides nothing about a delivery, a recipient or a key.
//
// Decisions that bind this package:
//
//   - web/strictjson decodes request bodies, not gin's binding, which accepts trailing
//     content, duplicate names and names in the wrong case.
//   - The order of checks is in one place and driven by the data of the route. Middleware per
//     check was rejected: the order is part of the contract, and a chain of Use calls would
//     hide it.
//   - The response stored for an Idempotency-Key is the whole body. A replay needs no
//     rendering and cannot differ.
package httpapi
