package monitoring

import (
	"context"
	"sync"
	"time"
)

// keepFor is how long a result is cached for all callers.
const keepFor = 2 * time.Second

// shared reads something once for all callers within keepFor. A caller during the read waits for
// it.
type shared[T any] struct {
	read func(context.Context) T

	mu      sync.Mutex
	value   T
	until   time.Time
	reading chan struct{} // closed when the running read has ended; nil: none runs
}

// get does not end with ctx: its read is also for others, and has its own limit.
func (s *shared[T]) get(ctx context.Context) T {
	s.mu.Lock()
	if time.Now().Before(s.until) {
		defer s.mu.Unlock()
		return s.value
	}
	reading := s.reading
	if reading == nil {
		reading = make(chan struct{})
		s.reading = reading
		go func() {
			v := s.read(context.WithoutCancel(ctx))
			s.mu.Lock()
			defer s.mu.Unlock()
			s.value, s.until, s.reading = v, time.Now().Add(keepFor), nil
			close(reading)
		}()
	}
	s.mu.Unlock()
	<-reading
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// forget makes the next caller read anew, after a change.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// together calls all functions concurrently and returns when all have returned.
func together(all ...func()) {
	var wg sync.WaitGroup
	for _, do := range all {
		wg.Go(do)
	}
	wg.Wait()
}
