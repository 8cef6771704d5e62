package dispatch

import (
	"context"
	"sync/atomic"
	"time"

	"waybill/domain"
)

const (
	// lookPausesEvery is how often a process reads where people have paused the sending. A read
	// within lookPausesTimeout makes it stop within 2 s.
	lookPausesEvery   = time.Second
	lookPausesTimeout = 900 * time.Millisecond
	// idleLooks makes a process that sends nothing and knows of no pause take only one of so many
	// reads. The outbox leases it no endpoint where there is a pause.
	idleLooks = 3
)

// pauses holds the environments in which this process sends nothing. The outbox leases no endpoint
// of them, so that no drain begins. Running drains check it before they send.
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

// sends reports whether a drain is running.
func (d *Drainer) sends() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.active) > 0
}

// Run applies pauses until ctx ends, and then closes the Drainer. If the storage does not respond,
// the last known pauses apply: a drain ends anyway, as its lease does.
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
