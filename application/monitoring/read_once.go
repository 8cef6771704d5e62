package monitoring

import (
	"context"
	"sync"
	"time"
)

// keepFor is how long what was read stands for all who ask.
const keepFor = 2 * time.Second

// shared reads something once for all who ask within keepFor. A caller during the read
// waits for it.
type shared[T any] struct {
	read func(context.Context) T

	mu      sync.Mutex
	value   T
	until   time.Time
	reading chan struct{} // closed when the read under way has ended; nil: none is
}

// get does not end with ctx: its read is for others too, and bounded by itself.
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

// forget makes the next who asks read anew: something was changed.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// together does all at once and returns when all are done.
func together(all ...func()) {
	var wg sync.WaitGroup
	for _, do := range all {
		wg.Go(do)
	}
	wg.Wait()
}
