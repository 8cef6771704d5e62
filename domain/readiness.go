package domain

import "time"

// ReadinessStep is something that a program must do before it goes live, and that its own traffic
// shows.
type ReadinessStep string

// The steps. Whether keys have few scopes is checked anew each time.
const (
	ReadyReplayed ReadinessStep = "replayed" // sent an Idempotency-Key again
	ReadyWaited   ReadinessStep = "waited"   // met a 429, and called again later
	ReadyVerified ReadinessStep = "verified" // answered a signed webhook with 2xx
	ReadyFailure  ReadinessStep = "failure"  // read a delivery that had failed
	ReadyFeed     ReadinessStep = "feed"     // read the feed after webhooks had not arrived
	ReadyScopes   ReadinessStep = "scopes"   // its keys have no scope that they do not use
)

// ReadinessSteps lists all steps, in the order in which people do them.
func ReadinessSteps() []ReadinessStep {
	return []ReadinessStep{ReadyReplayed, ReadyWaited, ReadyVerified, ReadyFailure, ReadyFeed, ReadyScopes}
}

// Readied is a step that a program has shown.
type Readied struct {
	ApplicationID ID
	Step          ReadinessStep
	At            time.Time
	Source        ID // the request, key, delivery or webhook delivery that showed it; empty: all calls together
}
