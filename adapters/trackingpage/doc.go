// Package trackingpage serves the page that the recipient of a parcel opens on a phone: one
// page for each delivery at {tracking_base_url}/{reference}. It shows the status and updates
// while it is open.
//
// The page is complete without its script, which adds two things: times in the reader's time
// zone, and changes as they happen, by server-sent events from {reference}/stream. Everything
// it needs is embedded. Every link in it is relative, so that a proxy may serve it under any
// address. It loads nothing from anywhere else.
//
// Decisions that bind this package:
//
//   - It shows domain.Tracking and nothing more. application/deliveries decides what a
//     reference opens.
//   - An unknown reference and an invalid one get the same bytes.
//   - Punctuation or a slash behind a reference is not part of it, and redirects to the page.
//   - Neither the reference nor the address of a client is logged: a reader of logs must not
//     be able to track parcels.
//   - Texts are in texts/*.json, one file a language. A new file is a new language; a text that it
//     lacks is English. The address names a chosen language (?lang=fr), else the browser does.
//   - An event carries the changed part of the page as HTML from the server. JSON from which
//     the script builds it was rejected: every text would exist twice.
package trackingpage
