// Package web is what the HTTP edges share: how a body, a query and a cursor are
// read, and how an answer is written. Its packages are JSON in (strictjson), the
// records in JSON (views) and the connections of a listener (connections).
//
// What it does not do: route, authenticate or call a use case. Those are the
// edge's own, because the callers of each edge, their limits and their errors
// differ.
//
// Decisions that bind this package:
//
//   - It is functions and small values over net/http, not a framework: an edge
//     reads top to bottom without it calling back. Only NewRouter knows gin.
//   - A reader notes each problem and goes on, so that one 422 tells them all.
package web
