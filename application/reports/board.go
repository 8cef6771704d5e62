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
	// RefreshEvery is the maximum age of a count, where counting is quick.
	RefreshEvery = 3 * time.Second
	// RefreshAtLeast is the maximum age of a count, however long counting takes.
	RefreshAtLeast = 10 * time.Second
	// refreshShare keeps a slow count for that many times its duration.
	refreshShare = 50
	// againAfter is how long a failure is returned to other readers too, so that many readers do
	// not all retry at once.
	againAfter = time.Second
	// readWithin limits how long a count may take.
	readWithin = 3 * time.Second
)

// Board counts for all readers of a process.
type Board struct {
	storage ports.Storage
	clock   ports.Clock
	work    map[domain.Environment]*shared[Work]
	alarms  *shared[Alarms]
}

// NewBoard returns a board. The services are those behind prices.
func NewBoard(s ports.Storage, c ports.Clock, services ...PriceService) *Board {
	b := &Board{storage: s, clock: c, work: map[domain.Environment]*shared[Work]{}}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		b.work[e] = &shared[Work]{every: RefreshEvery, read: func(ctx context.Context) (Work, error) { return b.count(ctx, e) }}
	}
	b.alarms = &shared[Alarms]{every: alarmsEvery, read: func(ctx context.Context) (Alarms, error) { return b.alarm(ctx, services) }}
	return b
}

// Work counts the deliveries of an environment at a moment.
type Work struct {
	Environment domain.Environment
	At          time.Time
	Tallies     domain.WorkTallies
	Names       map[domain.ID]string // of its businesses
}

// Count returns the length of the filter's list, in the environment of the work.
func (w *Work) Count(f domain.WorkFilter) int {
	f.Environment = w.Environment
	return w.Tallies.Count(f)
}

// Businesses lists the businesses with open deliveries, with the most first.
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

// ByStatus returns Count for each status of each business; "" is any open one.
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

// Work returns counts of at most RefreshEvery ago, or RefreshAtLeast where counting is slow. After
// a failure it returns the last ones, with the error. Without any, At is zero.
func (b *Board) Work(ctx context.Context, e domain.Environment) (Work, error) {
	return b.work[e].get(ctx)
}

// Moved makes the next reader count anew, so that a person who moved a delivery finds it in its new
// place.
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

// shared holds what one reader fetches for all.
type shared[T any] struct {
	every time.Duration
	read  func(ctx context.Context) (T, error)

	mu    sync.Mutex
	under chan struct{} // closed when the running fetch has ended; nil: none runs
	last  T
	at    time.Time // of the last fetch, by this process's clock; zero: it is outdated
	took  time.Duration
	gone  bool  // the result of the running fetch may be outdated
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

// fetch continues for the others where its own reader leaves.
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

// forget makes the next reader fetch anew.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.gone = time.Time{}, s.under != nil
}
