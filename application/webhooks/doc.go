// Package webhooks tells applications what happens to their deliveries. It manages their webhook
// endpoints, shows and resends what was sent, and has the feed of all events. Package dispatch,
// below it, does the sending.
//
// An event and a row for each of its endpoints are stored in the transaction of the change. These
// rows are the outbox, so no event can be lost. Everything else is about when they are sent.
//
// Signing secrets are sealed under the server's key. With another key none could be opened and
// webhooks would only wait. So the storage keeps a check of the key (secret_key.go), and no process
// that works for customers starts without a key that opens it. The key can be changed: secrets
// under the former one are sealed anew.
//
// # People of a business
//
// Endpoints shows and changes the webhook endpoints of one business, in all its applications and
// both environments. A program's API key names its tenant. A person names an endpoint, so its
// tenant is looked up first. An endpoint of another business is domain.ErrNotFound, like one that
// does not exist. Changes are those of Webhooks, within a transaction that writes the person to the
// audit log. A form that is sent twice makes no second endpoint and no second rotation. A recovery
// sends only the number of webhooks that the person was shown.
//
// # Signatures
//
// ExamineSignature finds out why the signature of a webhook does not verify. A receiver reads three
// headers, checks the time, takes its secret and compares signatures over the raw body.
// ExamineSignature does the same. Where the signatures differ, it tries the usual causes: other
// secrets, and bodies as they were before a framework changed them. It stores nothing.
package webhooks
