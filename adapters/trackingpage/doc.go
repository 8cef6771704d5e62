// Package trackingpage is what the recipient of a parcel opens on a phone: one
// page for each delivery at {tracking_base_url}/{reference}, which tells where
// it stands and goes on telling while it is open.
//
// The page is whole without its script, which adds two things: times in the
// reader's zone, and changes as they happen, by server-sent events from
// {reference}/stream. Everything it needs is embedded, every link in it is
// relative, so that a proxy may serve it under any address, and nothing is
// loaded from anywhere else.
//
// Decisions that bind this package:
//
//   - It shows domain.Tracking and nothing more; application/deliveries decides
//     what a reference opens.
//   - A reference that does not exist and a text that is none get the same bytes.
//   - Neither reference nor address of a client is logged: a reader of logs must
//     not be able to track parcels.
//   - An event carries the changed part of the page as the server renders it. JSON
//     from which the script builds it was rejected: every text would be there twice.
package trackingpage
