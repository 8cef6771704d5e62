package deliveries

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Limits on the watches of one process. Many people share an address, yet each needs only a few
// open pages. A delivery has one recipient and their family, who may watch it from any number of
// addresses.
const (
	maxWatches      = 1000
	maxPerAddress   = 10
	maxPerReference = 50
)

// How often a watched delivery is read. After a failure a rider may try again at once. Later,
// people decide what comes next, which takes longer.
const (
	readInterval            = 2 * time.Second
	readIntervalAfterFailed = 10 * time.Second
	freshlyFailed           = time.Minute // of watching; until then as often as before
	readTimeout             = 5 * time.Second
)

// ErrTooManyWatches means that this process, the client's address or the delivery has the maximum
// of watches. The delivery can still be looked up.
var ErrTooManyWatches = errors.New("too many watch already")

// Watches reports changes of deliveries.
type Watches struct {
	storage ports.Storage
	log     *slog.Logger

	mu        sync.Mutex
	polls     map[domain.Reference]*poll
	addresses map[string]int // number of watches by address
	open      int
}

// NewWatches returns a Watches without any watch. No goroutine runs while there are no watchers.
func NewWatches(s ports.Storage, log *slog.Logger) *Watches {
	return &Watches{storage: s, log: log, polls: map[domain.Reference]*poll{}, addresses: map[string]int{}}
}

// Watch is the watch of one client.
type Watch struct {
	all       *Watches
	poll      *poll
	reference domain.Reference
	address   string
	left      sync.Once
}

// poll reads one delivery for all its watchers.
type poll struct {
	watches int // under the lock of Watches
	stop    context.CancelFunc
	ended   chan struct{} // closed when its goroutine has ended

	mu      sync.Mutex
	latest  domain.Tracking
	changed chan struct{} // closed when latest is replaced
}

// Watch begins to watch a delivery that the client was shown as found. The caller must call Close.
// It returns ErrTooManyWatches beyond a limit.
func (w *Watches) Watch(address string, r domain.Reference, found domain.Tracking) (*Watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open >= maxWatches || w.addresses[address] >= maxPerAddress {
		return nil, ErrTooManyWatches
	}
	p := w.polls[r]
	if p != nil && p.watches >= maxPerReference {
		return nil, ErrTooManyWatches
	}
	w.open++
	w.addresses[address]++
	if p == nil {
		ctx, stop := context.WithCancel(context.Background())
		p = &poll{stop: stop, ended: make(chan struct{}), latest: found, changed: make(chan struct{})}
		w.polls[r] = p
		go w.follow(ctx, r, p)
	}
	p.watches++
	p.update(found)
	return &Watch{all: w, poll: p, reference: r, address: address}, nil
}

// Next waits until the delivery is beyond a sequence and returns it. It returns an error only from
// ctx.
func (w *Watch) Next(ctx context.Context, sequence int) (domain.Tracking, error) {
	for {
		latest, changed := w.poll.state()
		if latest.Sequence > sequence {
			return latest, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return domain.Tracking{}, ctx.Err()
		}
	}
}

// Close ends the watch. The last Close for a delivery stops reading it and waits for a read under
// way.
func (w *Watch) Close() { w.left.Do(w.leave) }

func (w *Watch) leave() {
	if w.all.drop(w) {
		w.poll.stop()
		<-w.poll.ended
	}
}

// drop removes a watch and reports whether it was the last one of its delivery.
func (w *Watches) drop(leaving *Watch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	if w.addresses[leaving.address]--; w.addresses[leaving.address] == 0 {
		delete(w.addresses, leaving.address)
	}
	leaving.poll.watches--
	if leaving.poll.watches > 0 {
		return false
	}
	delete(w.polls, leaving.reference)
	return true
}

// follow reads until the delivery has reached its final status or has no watcher left.
func (w *Watches) follow(ctx context.Context, r domain.Reference, p *poll) {
	defer close(p.ended)
	failing := false
	since, known := time.Now(), 0
	for {
		latest, _ := p.state()
		if latest.Over() {
			return
		}
		if latest.Sequence != known {
			since, known = time.Now(), latest.Sequence
		}
		pause := time.NewTimer(pace(latest.Status, time.Since(since)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
		seen, err := w.read(ctx, r)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			p.update(seen)
		} else if !failing {
			w.log.WarnContext(ctx, "tracking pages wait: a delivery cannot be read", "error", err)
		}
		failing = err != nil
	}
}

func (w *Watches) read(ctx context.Context, r domain.Reference) (domain.Tracking, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return w.storage.Read().Tracking.Find(ctx, r)
}

func pace(s domain.Status, seenFor time.Duration) time.Duration {
	if s == domain.Failed && seenFor >= freshlyFailed {
		return readIntervalAfterFailed
	}
	return readInterval
}

func (p *poll) state() (latest domain.Tracking, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest, p.changed
}

// update replaces the latest state if the given one is newer.
func (p *poll) update(seen domain.Tracking) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seen.Sequence <= p.latest.Sequence {
		return
	}
	p.latest = seen
	close(p.changed)
	p.changed = make(chan struct{})
}
