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
//
// # People of a business
//
// Endpoints shows and changes the webhook endpoints of one business, in all its
// applications and both environments. Programs name their tenant by a key; people name an endpoint, and whose it is has to be
// found first. What another business has is domain.ErrNotFound, as is what does not exist.
// Changes are those of Webhooks, within a transaction that keeps the person in the
// audit log. No endpoint is made twice by a form that is sent twice, no secret is rotated
// twice, and nothing is recovered that the person was not shown the number of.
//
// # Signatures
//
// ExamineSignature finds out why the signature of a webhook does not verify. A receiver goes through steps: it reads three headers, looks at the time, takes its
// secret and compares signatures over the body as it came. It goes through the same
// and, where the signatures differ, tries what usually happens on the way: other secrets,
// and bodies as they were before a framework changed them. It keeps nothing.
package webhooks
