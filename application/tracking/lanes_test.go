package tracking_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/tracking"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// slow is a shelf whose looks take a while each.
type slow struct {
	*shelf
	takes       time.Duration
	under, most atomic.Int64
}

func (s *slow) Read() ports.Readers { return ports.Readers{Tracking: s} }

func (s *slow) Find(ctx context.Context, r domain.Reference) (domain.Tracking, error) {
	now := s.under.Add(1)
	defer s.under.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	time.Sleep(s.takes) // in a bubble: this is what the database needs
	return s.shelf.Find(ctx, r)
}

// window is a limiter of one window that does not end.
type window struct {
	ports.RateLimiter
	mu   sync.Mutex
	used map[string]int
}

func (w *window) Peek(_ context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ports.Allowance{Admitted: w.used[b[0].Name] < b[0].Limit.Limit, RetryAfter: time.Minute}, nil
}

func (w *window) Take(ctx context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	allowance, err := w.Peek(ctx, b...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if allowance.Admitted {
		w.used[b[0].Name]++
	}
	return allowance, err
}

// atOnce finds all of them from one address, and counts by the error's code.
func atOnce(t *testing.T, use *tracking.Tracking, all []domain.Reference) map[string]int {
	counts := map[string]int{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, r := range all {
		wait.Go(func() {
			_, err := use.Find(t.Context(), "192.0.2.1", string(r))
			var e *domain.Error
			code := ""
			if errors.As(err, &e) {
				code = e.Code
			} else if err != nil {
				code = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			counts[code]++
		})
	}
	wait.Wait()
	return counts
}

func references(n int) []domain.Reference {
	all := make([]domain.Reference, n)
	for i := range all {
		all[i] = sample.Reference()
	}
	return all
}

func TestManyWhoHaveTheirReferencesMayComeAtOnceFromOneAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{shelf: newShelf(), takes: 20 * time.Millisecond}
		all := references(400)
		for _, r := range all {
			s.put(r, domain.Booked, 1)
		}
		got := atOnce(t, tracking.New(s, &window{used: map[string]int{}}), all)
		if got[""] != len(all) || s.most.Load() != 8 {
			t.Errorf("%v, at most %d at a time", got, s.most.Load())
		}
	})
}

func TestWhoGuessesManyAtOnceHasFewMoreLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{shelf: newShelf(), takes: time.Millisecond}
		got := atOnce(t, tracking.New(s, &window{used: map[string]int{}}), references(2000))
		if n := s.looked(); got[domain.CodeNotFound] != 100 || got[domain.CodeRateLimitExceeded] != 1900 || n > 107 {
			t.Errorf("%v after %d looks", got, n)
		}
	})
}

func TestWhoWaitsTooLongForTheNeighboursIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{shelf: newShelf(), takes: time.Minute}
		use := tracking.New(s, &window{used: map[string]int{}})
		for range 8 {
			go func() { _, _ = use.Find(t.Context(), "192.0.2.1", "none") }()
		}
		synctest.Wait()
		begun := time.Now()
		_, err := use.Find(t.Context(), "192.0.2.1", string(sample.Reference()))
		var e *domain.Error
		if !errors.As(err, &e) || e.Kind != domain.KindLimited || e.RetryAfter <= 0 || time.Since(begun) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := use.Find(ctx, "192.0.2.1", "none"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one who left: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := use.Find(t.Context(), "192.0.2.2", "none"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("another address: %v", err)
		}
	})
}
