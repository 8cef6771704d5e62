package reports

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// RefreshEvery is how old a count is at most that a reader gets, where counting is quick.
	RefreshEvery = 3 * time.Second
	// RefreshAtLeast is how old a count is at most, however long counting takes.
	RefreshAtLeast = 10 * time.Second
	// refreshShare has a count that took long kept for so many times as long.
	refreshShare = 50
	// againAfter is for how long a failure is told to others too: readers who are many do
	// not all try what one could not do.
	againAfter = time.Second
	// readWithin is how long a count may take.
	readWithin = 3 * time.Second
)

// Board counts for all readers of a process.
type Board struct {
	storage ports.Storage
	clock   ports.Clock
	work    map[domain.Environment]*shared[Work]
	alarms  *shared[Alarms]
}

// New makes a board. The services are those behind prices.
func NewBoard(s ports.Storage, c ports.Clock, services ...PriceService) *Board {
	b := &Board{storage: s, clock: c, work: map[domain.Environment]*shared[Work]{}}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		b.work[e] = &shared[Work]{every: RefreshEvery, read: func(ctx context.Context) (Work, error) { return b.count(ctx, e) }}
	}
	b.alarms = &shared[Alarms]{every: alarmsEvery, read: func(ctx context.Context) (Alarms, error) { return b.alarm(ctx, services) }}
	return b
}

// Work is how the deliveries of an environment stand at a moment.
type Work struct {
	Environment domain.Environment
	At          time.Time
	Tallies     domain.WorkTallies
	Names       map[domain.ID]string // of the businesses in it
}

// Count is the length of the list of the filter, in the environment of the work.
func (w *Work) Count(f domain.WorkFilter) int {
	f.Environment = w.Environment
	return w.Tallies.Count(f)
}

// Businesses are those with open deliveries, with the most first.
func (w *Work) Businesses() []domain.ID {
	open := map[domain.ID]int{}
	for _, t := range w.Tallies {
		if t.Status.Open() {
			open[t.BusinessID] += t.Count
		}
	}
	return slices.SortedFunc(maps.Keys(open), func(a, b domain.ID) int {
		if open[a] != open[b] {
			return open[b] - open[a]
		}
		return cmp.Compare(a, b)
	})
}

// ByStatus is what Count says of each status of each business; "" is any open one.
func (w *Work) ByStatus() map[domain.ID]map[domain.Status]int {
	all := map[domain.ID]map[domain.Status]int{}
	for _, t := range w.Tallies {
		of := all[t.BusinessID]
		if of == nil {
			of = map[domain.Status]int{}
			all[t.BusinessID] = of
		}
		of[t.Status] += t.Count
		if t.Status.Open() {
			of[""] += t.Count
		}
	}
	return all
}

// Work is at most RefreshEvery old, or RefreshAtLeast where counting is dear, but for a
// failure: then it is the last that there was, with the error. Without any its At is zero.
func (b *Board) Work(ctx context.Context, e domain.Environment) (Work, error) {
	return b.work[e].get(ctx)
}

// Moved has the next reader count anew, so that a person who moved a delivery finds it
// where it is now.
func (b *Board) Moved() {
	for _, w := range b.work {
		w.forget()
	}
}

func (b *Board) count(ctx context.Context, e domain.Environment) (Work, error) {
	w := Work{Environment: e, At: b.clock.Now()}
	read := b.storage.Read().Platform
	var err error
	if w.Tallies, err = read.Work(ctx, e, w.At); err != nil {
		return w, err
	}
	ids := map[domain.ID]bool{}
	for _, t := range w.Tallies {
		ids[t.BusinessID] = true
	}
	w.Names, err = read.BusinessNames(ctx, slices.Sorted(maps.Keys(ids)))
	return w, err
}

// shared is what one reader fetches for all.
type shared[T any] struct {
	every time.Duration
	read  func(ctx context.Context) (T, error)

	mu    sync.Mutex
	under chan struct{} // closed when the fetch that is under way has ended; nil: none is
	last  T
	at    time.Time // of the last fetch, by this process's clock; zero: it does not count any more
	took  time.Duration
	gone  bool  // what the fetch under way reads may not count any more
	err   error // of the last fetch
}

// get waits for a fetch only where the last one is too old.
func (s *shared[T]) get(ctx context.Context) (T, error) {
	for {
		s.mu.Lock()
		keep := max(s.every, min(refreshShare*s.took, RefreshAtLeast))
		if s.err != nil {
			keep = againAfter
		}
		if !s.at.IsZero() && time.Since(s.at) < keep {
			defer s.mu.Unlock()
			return s.last, s.err
		}
		if s.under == nil {
			s.under = make(chan struct{})
			s.mu.Unlock()
			s.fetch(ctx)
			continue
		}
		under := s.under
		s.mu.Unlock()
		select {
		case <-under:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.last, ctx.Err()
		}
	}
}

// fetch goes on for the others where its own reader leaves.
func (s *shared[T]) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	begun := time.Now()
	next, err := s.read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.last = next
	}
	s.at, s.err = time.Now(), err
	s.took = s.at.Sub(begun)
	if s.gone {
		s.at = time.Time{}
	}
	close(s.under)
	s.under, s.gone = nil, false
}

// forget has the next reader fetch anew.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.gone = time.Time{}, s.under != nil
}
