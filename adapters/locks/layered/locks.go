// Package layered puts one set of courtesy locks before another: a near one, such
// as that of the process, and a far one, such as that of Redis. A lock that the
// near one refuses is not asked of the far one; and while the far one is gone and
// grants everything, the near one still refuses.
package layered

import (
	"context"

	"waybill/ports"
)

var _ ports.Locks = (*Locks)(nil)

// Locks are two sets of locks taken one after the other.
type Locks struct{ near, far ports.Locks }

// New puts near before far.
func New(near, far ports.Locks) *Locks { return &Locks{near: near, far: far} }

// TryLock takes both locks or none.
func (l *Locks) TryLock(ctx context.Context, name string) (release func(), acquired bool) {
	releaseNear, acquired := l.near.TryLock(ctx, name)
	if !acquired {
		return releaseNear, false
	}
	releaseFar, acquired := l.far.TryLock(ctx, name)
	if !acquired {
		releaseNear()
		return releaseFar, false
	}
	return func() {
		// The far one first: the next holder of the near one must find the far
		// one free.
		releaseFar()
		releaseNear()
	}, true
}
