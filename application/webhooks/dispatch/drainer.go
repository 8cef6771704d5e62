package dispatch

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

const (
	// leaseFor is how long an owner may be silent, and renewEvery how often it is
	// not. After leaseSure without a sign of life it sends nothing more: what is
	// sent then may reach the receiver beside what the next owner sends.
	leaseFor   = 6 * time.Second
	renewEvery = 2 * time.Second
	leaseSure  = 4 * time.Second
	// slice is how long an endpoint is drained at a stretch, so that many share
	// the workers.
	slice = 5 * time.Second
	// linger is how long an owner waits for more before it leaves.
	linger = 10 * time.Millisecond
	// batch is how many due webhooks are read at a time, inFlight how many are
	// sent at a time to one endpoint, and mostUnstored how many may have been sent
	// and are not stored yet: after a death these are sent again.
	batch        = 128
	inFlight     = 16
	mostUnstored = 128
	// stalled is the age of a write from which nothing more is sent beside it: the
	// storage may be cut off, and all that is sent meanwhile is sent again.
	stalled = 500 * time.Millisecond
	// much is how many due webhooks make a backlog. Drains that have one take turns
	// at the storage, so that those with little to do find it free.
	much = 2 * inFlight
	// brief is how long a send of a backlog counts as work for this machine. Who has
	// not answered by then makes it wait, not work, and holds up no other one.
	brief = 2 * time.Millisecond
	// slotsPerProcessor is how many sends of backlogs are work at a time. All that
	// are beyond what keeps the processors busy only stand in the way of those who
	// have no backlog.
	slotsPerProcessor = 4
	// company is how long a send without a backlog counts as being beside those that
	// have one. While it does, the storage has a pause behind each of their turns
	// that is rest times as long as the turn was.
	company = time.Second
	rest    = 3
	// holds is the age of an attempt from which its drain goes on without a worker: it
	// waits for its receiver, and any number of receivers that hang at once leave the
	// workers to others.
	holds = 20 * time.Millisecond
	// mostUnattended bounds the drains that go on without a worker, and with them the
	// connections that receivers can keep open by not answering.
	mostUnattended = 1024
	// hangs is after how long without an answer an endpoint is left to the slow lane.
	hangs = 2 * time.Second
	// readTimeout ends a read that has to be over long before the lease is, and
	// writeTimeout any other call of the storage.
	readTimeout  = 2 * time.Second
	writeTimeout = 5 * time.Second
	// drainTimeout ends a drain whose storage says nothing at all.
	drainTimeout = time.Minute
)

// Observer hears of attempts; nil functions do not.
type Observer struct {
	Attempted func(domain.WebhookResult)
	Delayed   func(time.Duration) // from the event to its first 2xx
}

// Drainer sends what is due.
type Drainer struct {
	outbox    ports.WebhookOutbox
	sender    ports.WebhookSender
	sealer    ports.Sealer
	renderer  ports.EventRenderer
	queue     ports.Queue
	clock     ports.Clock
	ids       ports.Identifiers
	schedules webhooks.Schedules
	observer  Observer
	log       *slog.Logger
	turns     chan struct{} // that drains with a backlog have at the storage
	backlogs  atomic.Int32  // drains that have one
	promptly  atomic.Int64  // when somebody without a backlog sent last, in Unix nanoseconds
	slots     chan struct{} // that their sends have while they are work
	renewals  lapse
	// unattended has an element for each drain that goes on without a worker.
	unattended chan struct{}

	mu     sync.Mutex
	active map[domain.ID]*drain
	// unsettled are leases that may be this process's and have no drain.
	unsettled map[domain.ID]unsettled
	running   sync.WaitGroup // drains, of which some outlast their handler
	closed    chan struct{}  // no drain begins, and those that run come to an end
	close     func()
}

// NewDrainer makes a drainer. Close it after use.
func NewDrainer(o ports.WebhookOutbox, s ports.WebhookSender, sealer ports.Sealer, r ports.EventRenderer, q ports.Queue,
	c ports.Clock, ids ports.Identifiers, schedules webhooks.Schedules, observer Observer, log *slog.Logger,
) *Drainer {
	closed := make(chan struct{})
	return &Drainer{
		outbox: o, sender: s, sealer: sealer, renderer: r, queue: q, clock: c, ids: ids,
		schedules: schedules, observer: observer, log: log, active: map[domain.ID]*drain{}, unsettled: map[domain.ID]unsettled{},
		turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), slots: make(chan struct{}, slotsPerProcessor*runtime.GOMAXPROCS(0)),
		unattended: make(chan struct{}, mostUnattended), closed: closed, close: sync.OnceFunc(func() { close(closed) }),
	}
}

// Handlers are those of the lanes of webhooks.
func (d *Drainer) Handlers() map[ports.Lane]ports.Handler {
	return map[ports.Lane]ports.Handler{
		ports.LaneWebhook:     func(ctx context.Context, id string) { d.Drain(ctx, domain.ID(id), false) },
		ports.LaneWebhookSlow: func(ctx context.Context, id string) { d.Drain(ctx, domain.ID(id), true) },
	}
}

// RenewalsFailed is why the last renewal of a lease failed since RenewalsFailed was
// last called, or nil. A lease that another process has is no failure.
func (d *Drainer) RenewalsFailed() error { return d.renewals.take() }

// Close sends nothing more and waits until what is on its way has ended and is
// recorded: for at most as long as an attempt takes, while the storage answers.
func (d *Drainer) Close() {
	d.mu.Lock()
	d.close()
	d.mu.Unlock()
	d.running.Wait()
}

// Drain sends what is due for an endpoint, unless another process does. Slow
// ones are left to the slow lane by the other. Drain returns when all is sent, or
// when there is nothing to do but to wait for the receiver: the rest ends without
// a worker.
func (d *Drainer) Drain(ctx context.Context, endpoint domain.ID, slowLane bool) {
	if d.joins(endpoint) {
		return
	}
	lease, ok := d.takeToken(endpoint)
	if !ok {
		return
	}
	lane, asked := laneOf(ports.WaitingEndpoint{Slow: slowLane}), time.Now()
	e, leased, err := d.lease(ctx, endpoint, lease.token)
	if err != nil {
		d.log.WarnContext(ctx, "webhook endpoint not leased", "endpoint", endpoint, "error", err)
		d.unsettle(ctx, endpoint, lease, lane)
	}
	if err != nil || !leased {
		return // the owner looks again before it leaves, and the Sweeper after it
	}
	work := newDrain(d, e, lease, slowLane, asked)
	if !d.enter(work) {
		d.giveBack(ctx, endpoint, lease.token)
		return
	}
	ended := make(chan struct{})
	go func() {
		defer d.running.Done()
		defer close(ended)
		d.own(context.WithoutCancel(ctx), work)
	}()
	select {
	case <-ended:
	case <-work.freed:
	}
}

func (d *Drainer) lease(ctx context.Context, endpoint domain.ID, token string) (domain.WebhookEndpoint, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return d.outbox.Lease(ctx, endpoint, token, leaseFor)
}

// own does the work and gives the endpoint back.
func (d *Drainer) own(ctx context.Context, work *drain) {
	defer func() {
		if work.isFreed() {
			<-d.unattended
		}
		if why := recover(); why != nil {
			d.log.ErrorContext(ctx, "a drain of webhooks panicked", "endpoint", work.endpoint.ID, "panic", why, "stack", string(debug.Stack()))
		}
	}()
	run := func() bool {
		defer d.leave(work)
		ctx, cancel := context.WithTimeout(ctx, drainTimeout)
		defer cancel()
		return work.run(ctx)
	}
	switch {
	case run():
		d.giveBack(ctx, work.endpoint.ID, work.token)
	case work.unsettled:
		lane := laneOf(ports.WaitingEndpoint{Slow: work.slowLane})
		d.unsettle(ctx, work.endpoint.ID, unsettled{token: work.token, tries: work.tries}, lane)
	}
}

// giveBack ends the lease, and rings once more where something is due: a ring
// during the last moments found the endpoint taken.
func (d *Drainer) giveBack(ctx context.Context, endpoint domain.ID, token string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := d.outbox.Release(ctx, endpoint, token); err != nil {
		d.log.WarnContext(ctx, "webhook endpoint not released; its lease ends by itself", "endpoint", endpoint, "error", err)
		return
	}
	waiting, err := d.outbox.WaitingFor(ctx, endpoint, d.clock.Now())
	if err != nil || waiting == nil {
		return // nothing, or the Sweeper finds it
	}
	if err := d.queue.Ring(ctx, laneOf(*waiting), string(endpoint)); err != nil {
		d.log.DebugContext(ctx, "ring failed", "endpoint", endpoint, "error", err)
	}
}

func laneOf(w ports.WaitingEndpoint) ports.Lane {
	if w.Slow {
		return ports.LaneWebhookSlow
	}
	return ports.LaneWebhook
}

// joins tells a drain of this process, where there is one, that there is more.
// Nothing is to be begun then, nor after Close.
func (d *Drainer) joins(endpoint domain.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	work := d.active[endpoint]
	if work == nil {
		return d.isClosed()
	}
	select {
	case work.more <- struct{}{}:
	default:
	}
	return true
}

func (d *Drainer) isClosed() bool {
	select {
	case <-d.closed:
		return true
	default:
		return false
	}
}

func (d *Drainer) enter(work *drain) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed() {
		return false
	}
	d.active[work.endpoint.ID] = work
	d.running.Add(1)
	return true
}

// leave comes before the lease ends: who rings from then on is seen by the look
// after it.
func (d *Drainer) leave(work *drain) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active[work.endpoint.ID] == work {
		delete(d.active, work.endpoint.ID)
	}
}
