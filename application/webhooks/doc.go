// Package webhooks tells applications what happens to their deliveries: where
// they want it sent, what was sent and is to be sent again, and the feed of all
// events. Package dispatch, below it, does the sending.
//
// An event and a row for each endpoint it goes to are stored in the transaction
// of the change: these rows are the outbox, and there is no window in which an
// event could be lost. All else is about when they are sent.
//
// Signing secrets are sealed under the server's key. With another key none could
// be opened and webhooks would only wait, so that the storage keeps a check of
// the key (secret_key.go), and no process that works for customers starts without
// a key that opens it. The key can be changed: secrets under the former one are
// sealed anew.
package webhooks
