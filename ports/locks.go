package ports

import "context"

// Locks are courtesies between requests: they save double work and give a
// polite answer early. Nothing correct may depend on them.
type Locks interface {
	// TryLock answers at once. When acquired, release must be called; a lock
	// that is never released ends by itself after ten seconds.
	TryLock(ctx context.Context, name string) (release func(), acquired bool)
}
