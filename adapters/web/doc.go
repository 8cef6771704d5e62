// Package web holds what the HTTP adapters share: how to read a body, a query and a cursor, and
// how to write a response. Its packages are JSON input (strictjson), JSON output of records
// (views) and the server with its connections (server).
//
// This package does not route, authenticate or call a use case. Each HTTP adapter does that
// itself, because its clients, limits and errors differ.
//
// Decisions that bind this package:
//
//   - It is functions and small values over net/http, not a framework that calls back: a
//     handler reads top to bottom. Only NewRouter knows gin.
//   - A reader records each error and continues, so that one 422 lists them all.
package web
