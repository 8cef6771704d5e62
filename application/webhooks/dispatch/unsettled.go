package dispatch

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// leaseAgain is the pause before an endpoint is leased again whose lease the
	// storage left unsettled; it doubles while that goes on, up to leaseFor.
	leaseAgain = time.Second
	// mostUnsettled bounds the memory while the storage does not answer. An endpoint
	// beyond it waits until its lease has run out.
	mostUnsettled = 10_000
)

// unsettled is a lease that may be this process's: a call of the storage failed,
// and the call may have been made. Only its token opens the endpoint before the
// lease has run out. So the next owner here takes the same token.
type unsettled struct {
	token string
	tries int       // in a row that were left so
	again time.Time // no attempt before
}

// takeToken returns the token for the next lease of an endpoint. ok is false during
// the pause behind a failure, whose end rings. The caller is the only one that has
// the token, until it gives it back to unsettle.
func (d *Drainer) takeToken(endpoint domain.ID) (u unsettled, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u, left := d.unsettled[endpoint]
	if !left {
		return unsettled{token: d.ids.ID("").Hex()}, true
	}
	if time.Now().Before(u.again) {
		return u, false
	}
	delete(d.unsettled, endpoint)
	return u, true
}

// unsettle keeps the token of a lease whose owner in this process has ended, and
// rings once the pause is over.
func (d *Drainer) unsettle(ctx context.Context, endpoint domain.ID, u unsettled, lane ports.Lane) {
	pause := min(leaseAgain<<min(u.tries, 10), leaseFor)
	u.tries, u.again = u.tries+1, time.Now().Add(pause)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed() || len(d.unsettled) >= mostUnsettled {
		return
	}
	d.unsettled[endpoint] = u
	ctx = context.WithoutCancel(ctx)
	time.AfterFunc(pause, func() {
		if d.isClosed() {
			return
		}
		if err := d.queue.Ring(ctx, lane, string(endpoint)); err != nil {
			d.log.DebugContext(ctx, "ring failed", "endpoint", endpoint, "error", err)
		}
	})
}
