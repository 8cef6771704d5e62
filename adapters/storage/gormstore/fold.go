package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// A commit costs the same whether it holds one booking or sixty-four, and so
// does the way to the database and back. So bookings that wait for each other
// anyway are folded: a writer takes all that wait and stores them in one
// transaction. Nobody waits for company: who comes while nothing is stored is
// stored at once, and who comes meanwhile waits for one fold at most, or for as
// long as longFold. Where folds are small anyway two go on at a time.
//
// Folding shows in nothing but speed. A booking that cannot be stored is left
// out of the fold, which is stored without it, and is tried by itself: that
// tells why. Two that claim the same thing are not in one fold.

const (
	// mostFolded is how many bookings one transaction may store.
	mostFolded = 64
	// foldPause is how long no fold may end before bookings come alone.
	foldPause = time.Second
	// mostWaited is how long a booking may wait for its fold, and foldBudget how long
	// that may take. Together with the end of a COMMIT that was begun in time they
	// are ports.BookingBudget.
	mostWaited = time.Second
	foldBudget = ports.BookingBudget - mostWaited - leastToEnd
	// manyWaiting is how many make a second writer worth its while: two folds of
	// a few cost more than one of many.
	manyWaiting = mostFolded / 2
	// fewFolded is how many there are in a fold, on average of about lastFolds,
	// where folding brings so little that another writer comes at once. It leaves
	// where there are more: both would have half a fold each.
	fewFolded = 4
	lastFolds = 8
	// longFold is how long a fold may take before another writer comes anyway.
	longFold = 50 * time.Millisecond
)

// errAlone is the outcome of a booking that its fold was stored without.
var errAlone = errors.New("gormstore: the booking has to be stored by itself")

// folder folds what is booked at the same time.
type folder struct {
	// store stores bookings in one transaction and tells of each what became of it.
	store   func(ctx context.Context, entries []*entry) []error
	writers int // at a time
	// patience is how long a booking waits while no fold ends. Where the writers
	// hang on connections that are dead without a word, it takes another one.
	patience time.Duration
	long     time.Duration // how long a fold takes at which another writer comes anyway

	mu      sync.Mutex
	busy    int
	waiting []*seat
	inside  int       // of folds under way
	lately  float64   // in a fold, on average
	moved   time.Time // when the last one ended
	began   time.Time // when the last one was taken
}

// seat is a booking that waits for its fold.
type seat struct {
	*entry
	came    time.Time
	outcome chan error
}

// book stores a booking together with others. Once its fold has begun, it returns
// when the outcome is known even where ctx is cancelled meanwhile; when the
// deadline of ctx passes, the outcome is unknown.
func (f *folder) book(ctx context.Context, e *entry) error {
	if ctx.Err() != nil {
		return notBooked(ctx)
	}
	s := &seat{entry: e, came: time.Now(), outcome: make(chan error, 1)}
	f.mu.Lock()
	f.waiting = append(f.waiting, s)
	f.hire()
	f.mu.Unlock()
	look := max(f.long, longFold)
	again := time.NewTimer(look)
	defer again.Stop()
	for {
		select {
		case err := <-s.outcome:
			return err
		case <-ctx.Done():
			if f.leave(s, 0) {
				return notBooked(ctx)
			}
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return <-s.outcome
			}
			select {
			case err := <-s.outcome:
				return err
			default:
				return fmt.Errorf("%w: %w", ports.ErrOutcomeUnknown, notBooked(ctx))
			}
		case <-again.C:
			if time.Since(s.came) >= f.patience && f.leave(s, f.patience) {
				return errAlone
			}
			f.mu.Lock()
			f.hire() // what takes long may have begun after all had come
			f.mu.Unlock()
			again.Reset(look)
		}
	}
}

func notBooked(ctx context.Context) error {
	return fmt.Errorf("gormstore: not booked: %w", whyEnded(ctx))
}

// hire lets a writer begin where somebody waits and none is at work or, up to
// their number, where many wait, the last fold was begun long ago, or there are
// few in any. The folder is locked.
func (f *folder) hire() {
	if len(f.waiting) == 0 || f.busy == f.writers {
		return
	}
	needed := f.busy == 0 || len(f.waiting) >= manyWaiting || time.Since(f.began) > f.long
	if needed || f.lately <= fewFolded {
		f.busy, f.began = f.busy+1, time.Now()
		go f.work(needed)
	}
}

// leave gives up a seat, unless its fold has begun or another one has ended
// within such a time.
func (f *folder) leave(s *seat, idle time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.moved) < idle {
		return false
	}
	i := slices.Index(f.waiting, s)
	if i < 0 {
		return false
	}
	f.waiting = slices.Delete(f.waiting, i, i+1)
	return true
}

// work stores fold after fold until nobody waits. A writer who is there only as
// folds are small goes when they are not.
func (f *folder) work(needed bool) {
	for {
		seats := f.next(needed)
		if len(seats) == 0 {
			return
		}
		for i, err := range f.fold(seats) {
			seats[i].outcome <- err
		}
		f.mu.Lock()
		f.inside, f.moved = f.inside-len(seats), time.Now()
		f.mu.Unlock()
	}
}

func (f *folder) fold(seats []*seat) (outcomes []error) {
	defer func() {
		if fault := recover(); fault != nil {
			outcomes = sameForAll(len(seats), fmt.Errorf("gormstore: panic in a fold of bookings: %v", fault))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), foldBudget)
	defer cancel()
	entries := make([]*entry, len(seats))
	for i, s := range seats {
		entries[i] = s.entry
	}
	return f.store(ctx, entries)
}

// next takes those that wait, in their order, up to as many as fit. One that
// claims what another one of the fold does goes on waiting, and one that has
// waited for too long is told so. A writer who has
// nothing to do, or whom another one does without, is let go.
func (f *folder) next(needed bool) []*seat {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 || !needed && f.busy > 1 && f.lately > fewFolded && len(f.waiting) < manyWaiting {
		f.busy--
		return nil
	}
	claimed := make(claims, 4*min(len(f.waiting), mostFolded))
	var taken, left []*seat
	for i, s := range f.waiting {
		if len(taken) == mostFolded {
			left = append(left, f.waiting[i:]...)
			break
		}
		if time.Since(s.came) > mostWaited {
			s.outcome <- ports.ErrBookingLate
		} else if claimed.add(s.BookingWrite) {
			taken = append(taken, s)
		} else {
			left = append(left, s)
		}
	}
	f.waiting = left
	if len(taken) == 0 { // all were late
		f.busy--
		return nil
	}
	f.inside, f.began = f.inside+len(taken), time.Now()
	f.lately += (float64(len(taken)) - f.lately) / lastFolds
	return taken
}

// claims is what a fold stores that may be there only once.
type claims map[claim]struct{}

type claim struct {
	kind  byte
	owner domain.ID
	env   domain.Environment
	value string
}

// add puts in what a booking claims, or nothing if some of it is in there.
func (c claims) add(w ports.BookingWrite) bool {
	t, all := w.Delivery.Tenant, make([]claim, 0, 4)
	if w.Key.Key != "" {
		all = append(all, claim{'k', t.ApplicationID, t.Environment, w.Key.Key})
	}
	if w.Delivery.ExternalID != "" {
		all = append(all, claim{'x', t.ApplicationID, t.Environment, w.Delivery.ExternalID})
	}
	if w.NewRecipient || w.NewAddress || w.FillName {
		all = append(all, claim{'r', t.BusinessID, t.Environment, string(w.Recipient.PhoneNumber)})
	}
	for _, one := range all {
		if _, there := c[one]; there {
			return false
		}
	}
	for _, one := range all {
		c[one] = struct{}{}
	}
	return true
}

func sameForAll(n int, err error) []error {
	all := make([]error, n)
	for i := range all {
		all[i] = err
	}
	return all
}
