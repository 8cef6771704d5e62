package dispatch

import (
	"context"
	"sync/atomic"
	"time"

	"waybill/domain"
)

const (
	// lookPausesEvery is how often it is looked where people have paused the sending. A look
	// that ends within lookPausesTimeout makes a process stop within 2 s.
	lookPausesEvery   = time.Second
	lookPausesTimeout = 900 * time.Millisecond
	// idleLooks is one of how many looks a process takes that sends nothing and knows of no pause: the
	// outbox leases it no endpoint where there is one.
	idleLooks = 3
)

// pauses are the environments in which this process sends nothing. The outbox leases no
// endpoint of them, so that no drain begins. Those that run look here before they send.
type pauses struct {
	of atomic.Pointer[map[domain.Environment]bool]
}

func (p *pauses) has(e domain.Environment) bool {
	of := p.of.Load()
	return of != nil && (*of)[e]
}

// some reports whether there is a pause.
func (p *pauses) some() bool {
	of := p.of.Load()
	return of != nil && len(*of) > 0
}

// sends reports whether a drain is at work.
func (d *Drainer) sends() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.active) > 0
}

// Run keeps to pauses until ctx ends, and closes the Drainer then. Where the storage does not
// answer, what was known last stands: a drain ends without it, as its lease does.
func (d *Drainer) Run(ctx context.Context) {
	tick := time.NewTicker(lookPausesEvery)
	defer tick.Stop()
	defer d.Close()
	for n := 0; ; n++ {
		if n%idleLooks == 0 || d.sends() || d.halted.some() {
			d.lookAtPauses(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d *Drainer) lookAtPauses(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, lookPausesTimeout)
	defer cancel()
	found, err := d.outbox.Pauses(within)
	if err != nil {
		d.log.DebugContext(ctx, "not known where the sending of webhooks is paused", "error", err)
		return
	}
	now := make(map[domain.Environment]bool, len(found))
	for _, p := range found {
		if now[p.Environment] = true; !d.halted.has(p.Environment) {
			d.log.WarnContext(ctx, "webhooks wait: people have paused the sending", "environment", p.Environment)
		}
	}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		if d.halted.has(e) && !now[e] {
			d.log.InfoContext(ctx, "webhooks go on: people have resumed the sending", "environment", e)
		}
	}
	d.halted.of.Store(&now)
}
