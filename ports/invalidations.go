package ports

import (
	"context"

	"waybill/domain"
)

// Invalidations spread cache invalidations of keys and applications to every process. They are
// optional: a process that misses one keeps its cached entry until that expires, within two
// seconds.
type Invalidations interface {
	// Announce makes every listener, in this process and in others, drop its cache of an
	// application and its keys. Call it after the commit. It gives up within 100 milliseconds and
	// reports nothing. The change is valid either way.
	Announce(ctx context.Context, application domain.ID)
	// Listen calls forget for each announcement until ctx ends. An empty ID means all applications:
	// some announcements may have been missed.
	Listen(ctx context.Context, forget func(application domain.ID))
}
