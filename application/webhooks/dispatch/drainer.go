package dispatch

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

const (
	// leaseFor is the duration of a lease, and renewEvery the interval of its renewal. After
	// leaseSure without a renewal the owner stops sending: it could send the same webhooks as the
	// next owner.
	leaseFor   = 6 * time.Second
	renewEvery = 2 * time.Second
	leaseSure  = 4 * time.Second
	// slice limits how long an endpoint is drained without a break, so that many share the workers.
	slice = 5 * time.Second
	// linger is how long an owner waits for more before it leaves.
	linger = 10 * time.Millisecond
	// batch limits the due webhooks that are read at a time, and inFlight those that are sent at a
	// time to one endpoint. mostUnstored limits those that may be sent but not stored yet: after a
	// crash these are sent again.
	batch        = 128
	inFlight     = 16
	mostUnstored = 128
	// stalled is the age of a write after which sending stops. The storage may be cut off, and
	// everything sent in the meantime is sent again.
	stalled = 500 * time.Millisecond
	// holds is the age of an attempt after which its drain continues without a worker. It only
	// waits for its receiver. So any number of hanging receivers leave the workers to others.
	holds = 20 * time.Millisecond
	// mostUnattended limits the drains without a worker, and so the connections that receivers can
	// keep open by not responding.
	mostUnattended = 1024
	// drainsOfOwner limits the drains of a business at a time in an environment. Receivers that
	// hang occupy them, and the drains of others need room.
	drainsOfOwner = 128
	// hangs is the time without a response after which low priority takes an endpoint.
	hangs = 2 * time.Second
	// readTimeout limits a read that must end long before the lease does, and writeTimeout any
	// other call of the storage.
	readTimeout  = 2 * time.Second
	writeTimeout = 5 * time.Second
	// drainTimeout ends a drain whose storage does not respond at all.
	drainTimeout = time.Minute
)

// Observer receives the results of attempts. Nil functions are not called.
type Observer struct {
	Attempted func(domain.WebhookResult)
	Delayed   func(time.Duration) // from the event to its first 2xx
}

// Drainer sends due webhooks.
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
	fair      *fairShare
	renewals  lapse
	halted    pauses
	// unattended has an element for each drain that continues without a worker.
	unattended chan struct{}

	mu     sync.Mutex
	active map[domain.ID]*drain
	// waiting holds endpoints that were given back because their owner had the most drains allowed.
	waiting map[domain.ID]owner
	// kept holds leases that may be this process's and have no drain.
	kept         map[domain.ID]*keptLease
	keptOutcomes int            // in all of them
	running      sync.WaitGroup // drains, some of which outlast their handler
	closed       chan struct{}  // no drain begins, and the running ones end
	close        func()
}

// owner identifies the owner of an endpoint.
type owner struct {
	business    domain.ID
	environment domain.Environment
}

func ownerOf(e domain.WebhookEndpoint) owner { return owner{e.Tenant.BusinessID, e.Tenant.Environment} }

// NewDrainer returns a drainer. Close it after use.
func NewDrainer(o ports.WebhookOutbox, s ports.WebhookSender, sealer ports.Sealer, r ports.EventRenderer, q ports.Queue,
	c ports.Clock, ids ports.Identifiers, schedules webhooks.Schedules, observer Observer, log *slog.Logger,
) *Drainer {
	closed := make(chan struct{})
	return &Drainer{
		outbox: o, sender: s, sealer: sealer, renderer: r, queue: q, clock: c, ids: ids,
		schedules: schedules, observer: observer, log: log, active: map[domain.ID]*drain{}, waiting: map[domain.ID]owner{}, kept: map[domain.ID]*keptLease{},
		fair:       newFairShare(processors(), closed),
		unattended: make(chan struct{}, mostUnattended), closed: closed, close: sync.OnceFunc(func() { close(closed) }),
	}
}

// Handlers returns the handlers of both kinds of webhook jobs.
func (d *Drainer) Handlers() map[ports.JobKind]ports.Handler {
	return map[ports.JobKind]ports.Handler{
		ports.JobWebhook:            func(ctx context.Context, id string) { d.Drain(ctx, domain.ID(id), false) },
		ports.JobWebhookLowPriority: func(ctx context.Context, id string) { d.Drain(ctx, domain.ID(id), true) },
	}
}

// RenewalsFailed returns the error of the last failed renewal of a lease since the previous call,
// or nil. A lease that another process has is not a failure.
func (d *Drainer) RenewalsFailed() error { return d.renewals.take() }

// Close stops sending and waits until current attempts have ended and are stored. While the storage
// responds, that takes at most as long as an attempt.
func (d *Drainer) Close() {
	d.mu.Lock()
	d.close()
	d.mu.Unlock()
	d.running.Wait()
}

// Drain sends the due webhooks of an endpoint, unless another process does. If lowPriority is not
// set, it leaves slow endpoints to low priority. Drain returns when all is sent, or when it only
// has to wait for the receiver: the rest ends without a worker.
func (d *Drainer) Drain(ctx context.Context, endpoint domain.ID, lowPriority bool) {
	if d.joins(endpoint) || d.waits(endpoint) {
		return
	}
	lease, ok := d.takeLease(endpoint)
	if !ok {
		return
	}
	e, asked, leased, err := d.lease(ctx, endpoint, &lease)
	if err != nil {
		d.log.WarnContext(ctx, "webhook endpoint not leased", "endpoint", endpoint, "error", err)
		d.keepLease(ctx, endpoint, lease, jobOf(ports.WaitingEndpoint{Slow: lowPriority}))
		return
	}
	d.forgetLease(endpoint)
	if !leased {
		return // the owner reads once more before it leaves, and the Sweeper after it
	}
	work := newDrain(d, e, lease, lowPriority, asked)
	switch entered, full := d.enter(work); {
	case full:
		d.release(ctx, e.ID, lease.token) // the Sweeper notifies of it later
		return
	case !entered:
		d.giveBack(ctx, e, lease.token)
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

// lease stores the outcomes that were kept with the lease, and acquires the lease. asked is a
// moment before it began.
func (d *Drainer) lease(ctx context.Context, endpoint domain.ID, lease *keptLease) (e domain.WebhookEndpoint, asked time.Time, leased bool,
	err error) {
	if err := d.recordKept(ctx, endpoint, lease); err != nil {
		return e, asked, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	asked = time.Now()
	e, leased, err = d.outbox.Lease(ctx, endpoint, lease.token, leaseFor)
	return e, asked, leased, err
}

// own runs the drain and gives the endpoint back.
func (d *Drainer) own(ctx context.Context, work *drain) {
	defer func() {
		if work.isFreed() {
			<-d.unattended
		}
		if why := recover(); why != nil {
			d.log.ErrorContext(ctx, "a drain of webhooks panicked", "endpoint", work.endpoint.ID, "panic", why, "stack", string(debug.Stack()))
		}
	}()
	run := func() phase {
		defer d.leave(work)
		ctx, cancel := context.WithTimeout(ctx, drainTimeout)
		defer cancel()
		return work.run(ctx)
	}
	switch end := run(); {
	case end.releases():
		d.giveBack(ctx, work.endpoint, work.lease.token)
	case end.keepsToken():
		d.keepLease(ctx, work.endpoint.ID, work.lease, jobOf(ports.WaitingEndpoint{Slow: work.lowPriority}))
	}
}

// giveBack releases the lease. It notifies once more if webhooks are due, or will be before the
// Sweeper's next look. A notification during the last moments found the endpoint taken, and a retry
// may follow soon. If this process considers the sending paused, the Sweeper notifies instead. Just
// after a resume, the handlers of this process could only give the endpoint back again.
func (d *Drainer) giveBack(ctx context.Context, e domain.WebhookEndpoint, token string) {
	endpoint := e.ID
	if !d.release(ctx, endpoint, token) || d.halted.has(e.Tenant.Environment) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	waiting, err := d.outbox.WaitingFor(ctx, endpoint, d.clock.Now(), LookEvery)
	if err != nil || waiting == nil {
		return // nothing is due, or the Sweeper finds it
	}
	if wait := waiting.From.Sub(d.clock.Now()); wait > 0 {
		d.notifyIn(ctx, wait, jobOf(*waiting), endpoint)
	} else {
		d.notify(ctx, jobOf(*waiting), endpoint)
	}
}

// release releases the lease, and reports whether it could.
func (d *Drainer) release(ctx context.Context, endpoint domain.ID, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := d.outbox.Release(ctx, endpoint, token); err != nil {
		d.log.WarnContext(ctx, "webhook endpoint not released; its lease ends by itself", "endpoint", endpoint, "error", err)
		return false
	}
	return true
}

// notifyIn notifies after a pause, unless Close was called.
func (d *Drainer) notifyIn(ctx context.Context, wait time.Duration, kind ports.JobKind, endpoint domain.ID) {
	ctx = context.WithoutCancel(ctx)
	time.AfterFunc(wait, func() {
		if !d.isClosed() {
			d.notify(ctx, kind, endpoint)
		}
	})
}

func (d *Drainer) notify(ctx context.Context, kind ports.JobKind, endpoint domain.ID) {
	if err := d.queue.Notify(ctx, kind, string(endpoint)); err != nil {
		d.log.DebugContext(ctx, "notification failed", "endpoint", endpoint, "error", err)
	}
}

func jobOf(w ports.WaitingEndpoint) ports.JobKind {
	if w.Slow {
		return ports.JobWebhookLowPriority
	}
	return ports.JobWebhook
}

// joins notifies this process's drain of the endpoint, if there is one. It returns true then and
// after Close: no drain may begin.
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

func (d *Drainer) isClosed() bool { return d.fair.isClosed() }

// enter begins a drain, unless Close was called, or its owner has the most drains allowed: full.
func (d *Drainer) enter(work *drain) (entered, full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed() {
		return false, false
	}
	if d.isFull(work.owner) {
		d.waiting[work.endpoint.ID] = work.owner
		return false, true
	}
	d.active[work.endpoint.ID] = work
	d.running.Add(1)
	return true, false
}

// waits reports whether an endpoint that was given back still has to wait for its owner's drains.
// So not every notification asks the storage for its lease.
func (d *Drainer) waits(endpoint domain.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, waiting := d.waiting[endpoint]
	if waiting && d.isFull(o) {
		return true
	}
	delete(d.waiting, endpoint)
	return false
}

// isFull reports whether an owner has the most drains allowed. The caller holds the lock.
func (d *Drainer) isFull(o owner) bool {
	if len(d.active) < drainsOfOwner {
		return false
	}
	n := 0
	for _, work := range d.active {
		if work.owner == o {
			n++
		}
	}
	return n >= drainsOfOwner
}

// leave removes a drain before its lease ends. The read after that sees every notification that
// came later.
func (d *Drainer) leave(work *drain) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active[work.endpoint.ID] == work {
		delete(d.active, work.endpoint.ID)
	}
}
