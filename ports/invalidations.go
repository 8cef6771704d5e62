package ports

import (
	"context"

	"waybill/domain"
)

// Invalidations carry word of a changed key or application to every process that
// answers from memory. They are a courtesy: a process that misses one goes on
// with what it remembers until that expires, within two seconds.
type Invalidations interface {
	// Announce tells every listener, in this process and in others, to forget
	// what it knows of an application and its keys. Call it after the commit. It
	// gives up within 100 milliseconds and reports nothing: the change stands,
	// with or without it.
	Announce(ctx context.Context, application domain.ID)
	// Listen calls forget for each announcement until ctx ends. An empty ID
	// means all applications: some announcements may have been missed.
	Listen(ctx context.Context, forget func(application domain.ID))
}
