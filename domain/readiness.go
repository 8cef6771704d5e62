package domain

import "time"

// ReadinessStep is something that a program has to be able to do before it goes live, and
// that its own traffic shows.
type ReadinessStep string

// The steps there are. Whether keys have few scopes is told anew each time.
const (
	ReadyReplayed ReadinessStep = "replayed" // sent an Idempotency-Key again
	ReadyWaited   ReadinessStep = "waited"   // met a 429, and called again later
	ReadyVerified ReadinessStep = "verified" // answered a signed webhook with 2xx
	ReadyFailure  ReadinessStep = "failure"  // read a delivery that had failed
	ReadyFeed     ReadinessStep = "feed"     // read the feed after webhooks had not arrived
	ReadyScopes   ReadinessStep = "scopes"   // its keys have no scope that they do not use
)

// ReadinessSteps are all of them, in the order in which people go through them.
func ReadinessSteps() []ReadinessStep {
	return []ReadinessStep{ReadyReplayed, ReadyWaited, ReadyVerified, ReadyFailure, ReadyFeed, ReadyScopes}
}

// Readied is a step that a program has shown.
type Readied struct {
	ApplicationID ID
	Step          ReadinessStep
	At            time.Time
	Source        ID // by what: a request, a key, a delivery, a webhook delivery; empty: by all that was called
}
