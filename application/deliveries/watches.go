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

// Limits on the watches of one process. Many people share an address, yet each
// needs only a few open pages; and a delivery has one recipient and their family,
// from however many addresses they watch it.
const (
	mostWatches      = 1000
	mostPerAddress   = 10
	mostPerReference = 50
)

// How often what is watched is looked at. After a failure a rider may try again
// at once; later people decide what comes next, which takes longer.
const (
	lookEvery       = 2 * time.Second
	lookAfterFailed = 10 * time.Second
	freshlyFailed   = time.Minute // of watching; until then as often as before
	lookTimeout     = 5 * time.Second
)

// ErrTooManyWatches means that this process, or the client's address, watches as much
// as it may, or that the delivery is watched by as many as may. The delivery can still be looked at.
var ErrTooManyWatches = errors.New("too many watch already")

// Watches tells of changes of deliveries.
type Watches struct {
	storage ports.Storage
	log     *slog.Logger

	mu        sync.Mutex
	polls     map[domain.Reference]*poll
	addresses map[string]int // watches of each
	open      int
}

// NewWatches makes an empty one. No goroutine runs while there are no watchers.
func NewWatches(s ports.Storage, log *slog.Logger) *Watches {
	return &Watches{storage: s, log: log, polls: map[domain.Reference]*poll{}, addresses: map[string]int{}}
}

// Watch is one client's.
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
	ended   chan struct{} // closed when nothing of it runs any more

	mu     sync.Mutex
	latest domain.Tracking
	news   chan struct{} // closed when latest is replaced
}

// Watch begins to watch a delivery that the client was shown as found. Close
// must be called. ErrTooManyWatches when it is one too many.
func (w *Watches) Watch(address string, r domain.Reference, found domain.Tracking) (*Watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open >= mostWatches || w.addresses[address] >= mostPerAddress {
		return nil, ErrTooManyWatches
	}
	p := w.polls[r]
	if p != nil && p.watches >= mostPerReference {
		return nil, ErrTooManyWatches
	}
	w.open++
	w.addresses[address]++
	if p == nil {
		ctx, stop := context.WithCancel(context.Background())
		p = &poll{stop: stop, ended: make(chan struct{}), latest: found, news: make(chan struct{})}
		w.polls[r] = p
		go w.follow(ctx, r, p)
	}
	p.watches++
	p.tell(found)
	return &Watch{all: w, poll: p, reference: r, address: address}, nil
}

// Next waits until the delivery is beyond a sequence and shows it. The error is
// that of ctx.
func (w *Watch) Next(ctx context.Context, sequence int) (domain.Tracking, error) {
	for {
		latest, news := w.poll.state()
		if latest.Sequence > sequence {
			return latest, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return domain.Tracking{}, ctx.Err()
		}
	}
}

// Close ends the watch, and with the last one of a delivery the looking at it;
// when it returns, no such look is under way.
func (w *Watch) Close() { w.left.Do(w.leave) }

func (w *Watch) leave() {
	if w.all.drop(w) {
		w.poll.stop()
		<-w.poll.ended
	}
}

// drop reports whether no watcher is left.
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

// follow reads until the delivery has reached its last status, or has no watcher
// left.
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
		seen, err := w.look(ctx, r)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			p.tell(seen)
		} else if !failing {
			w.log.WarnContext(ctx, "tracking pages wait: a delivery cannot be read", "error", err)
		}
		failing = err != nil
	}
}

func (w *Watches) look(ctx context.Context, r domain.Reference) (domain.Tracking, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return w.storage.Read().Tracking.Find(ctx, r)
}

func pace(s domain.Status, seenFor time.Duration) time.Duration {
	if s == domain.Failed && seenFor >= freshlyFailed {
		return lookAfterFailed
	}
	return lookEvery
}

func (p *poll) state() (latest domain.Tracking, news <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest, p.news
}

// tell replaces what is known with what is newer.
func (p *poll) tell(seen domain.Tracking) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seen.Sequence <= p.latest.Sequence {
		return
	}
	p.latest = seen
	close(p.news)
	p.news = make(chan struct{})
}
