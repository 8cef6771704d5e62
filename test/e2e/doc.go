// Package e2e drives the real program over HTTP, as a caller would: it builds
// the binary, starts `waybill dev` on SQLite and on Postgres, makes customers
// with the command line, and holds every answer against openapi.yaml.
//
// Tests share one server per database and keep out of each other's way by having
// an application of their own. A test that counts requests, stops a server or
// starts it with other settings has a server of its own; startFleet is `waybill
// serve` beside `waybill worker`, as in production.
//
// A test reads as the behaviour it shows: both runs it on both engines,
// everywhere on both engines and in both environments. In short mode only the
// first flow and most of the hostile requests run, on SQLite.
//
// When a server stops it must exit with 0, and its log must hold nothing but
// the allowed fields, no panic, and nothing that a test sent as a secret.
package e2e
