package dispatch

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// leaseAgain is the pause before this process leases an endpoint again whose lease it may still
	// have. It doubles each time, up to leaseFor.
	leaseAgain = time.Second
	// mostKept limits the leases that are kept while the storage does not respond, and the outcomes
	// kept with them. An endpoint beyond it waits until its lease has expired. An attempt whose
	// outcome is beyond it is made again.
	mostKept = 10_000
)

// keptLease is a lease that this process may have: a call of the storage failed, but may have been
// made. Only its token opens the endpoint before the lease expires. So the next owner here takes
// the same token.
type keptLease struct {
	token string
	tries int       // failed tries in a row
	again time.Time // no attempt before
	// outcomes are not stored, and health is that of the endpoint after them. As long as the
	// storage has the token, nothing else was sent to the endpoint.
	outcomes []ports.WebhookOutcome
	health   domain.WebhookHealth
}

// takeLease returns the token for the next lease of an endpoint. ok is false during the pause after
// a failure, whose end notifies, and while another caller has the token. The caller has to call
// keepLease or forgetLease.
func (d *Drainer) takeLease(endpoint domain.ID) (lease keptLease, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, left := d.kept[endpoint]
	switch {
	case !left:
		return keptLease{token: d.ids.ID("").Hex()}, true
	case time.Now().Before(k.again):
		return keptLease{}, false
	}
	k.again = time.Now().Add(2 * writeTimeout) // by then this attempt has ended
	return *k, true
}

// forgetLease drops a kept lease once its owner is known.
func (d *Drainer) forgetLease(endpoint domain.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(endpoint)
}

func (d *Drainer) drop(endpoint domain.ID) {
	if k := d.kept[endpoint]; k != nil {
		d.keptOutcomes -= len(k.outcomes)
		delete(d.kept, endpoint)
	}
}

// keepLease keeps a lease whose owner in this process has ended, and notifies after the pause.
func (d *Drainer) keepLease(ctx context.Context, endpoint domain.ID, lease keptLease, kind ports.JobKind) {
	pause := min(leaseAgain<<min(lease.tries, 10), leaseFor)
	lease.tries, lease.again = lease.tries+1, time.Now().Add(pause)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(endpoint)
	if d.isClosed() || len(d.kept) >= mostKept {
		return
	}
	lease.outcomes = lease.outcomes[:min(len(lease.outcomes), mostKept-d.keptOutcomes)]
	d.keptOutcomes += len(lease.outcomes)
	d.kept[endpoint] = &lease
	d.notifyIn(ctx, pause, kind, endpoint)
}

// recordKept stores the outcomes that were kept with a lease, unless another process has had the
// endpoint since. So webhooks that were sent before the storage was cut off are not sent again.
func (d *Drainer) recordKept(ctx context.Context, endpoint domain.ID, lease *keptLease) error {
	if len(lease.outcomes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := d.outbox.Record(ctx, endpoint, lease.token, lease.outcomes, lease.health)
	if err != nil && !errors.Is(err, ports.ErrEndpointLost) && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	if err != nil {
		d.log.InfoContext(ctx, "webhook attempts are made again: another process has had the endpoint", "endpoint", endpoint, "attempts",
			len(lease.outcomes))
	}
	lease.outcomes = nil
	return nil
}
