package deliveries_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/sample"
)

// records is a storage whose deliveries are written directly.
type records struct {
	ports.Storage
	ports.TrackingReader

	mu        sync.Mutex
	found     map[domain.Reference]domain.Tracking
	looks     int
	questions int // batched lookups
	fails     error
}

func newRecords() *records { return &records{found: map[domain.Reference]domain.Tracking{}} }

func (s *records) Read() ports.Readers { return ports.Readers{Tracking: s} }

func (s *records) Find(ctx context.Context, r domain.Reference) (domain.Tracking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	found, ok := s.found[r]
	switch {
	case s.fails != nil:
		return domain.Tracking{}, s.fails
	case ctx.Err() != nil:
		return domain.Tracking{}, ctx.Err()
	case !ok:
		return domain.Tracking{}, domain.ErrNotFound
	}
	return found, nil
}

func (s *records) Known(_ context.Context, of []domain.Reference) (known []domain.Reference, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions++
	for _, r := range of {
		if _, ok := s.found[r]; ok {
			known = append(known, r)
		}
	}
	return known, s.fails
}

func (s *records) put(r domain.Reference, status domain.Status, sequence int) domain.Tracking {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := domain.Tracking{Sender: "Adom Foods", Status: status, Sequence: sequence,
		Events: []domain.TrackedEvent{{Status: status, OccurredAt: sample.Now}}}
	s.found[r] = t
	return t
}

func (s *records) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

func (s *records) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.questions
}

func (s *records) looked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// The public sees more only after a decision. Extend this list to make it.
func TestWhatIsTrackedHoldsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	for kind, want := range map[reflect.Type][]string{
		reflect.TypeFor[domain.Tracking]():     {"Sender", "Municipality", "Test", "Cash", "Status", "Sequence", "Events"},
		reflect.TypeFor[domain.TrackedEvent](): {"Status", "OccurredAt", "Reason"},
	} {
		var got []string
		for i := range kind.NumField() {
			got = append(got, kind.Field(i).Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v has %q, want %q", kind, got, want)
		}
	}
}

var bucket = ports.Bucket{Scope: "tracking", Name: "192.0.2.1", Limit: domain.RateLimit{Limit: 100, Window: time.Minute}}

func TestAHitCountsNothingAndIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	records, limiter := newRecords(), mocks.NewMockRateLimiter(gomock.NewController(t))
	r := sample.Reference()
	want := records.put(r, domain.Booked, 1)
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{Admitted: true}, nil)
	limiter.EXPECT().GiveBack(gomock.Any(), bucket)
	use := deliveries.NewTracking(records, limiter)
	for range 3 {
		if got, err := use.Find(t.Context(), "192.0.2.1", string(r)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if n := records.looked(); n != 3 {
		t.Errorf("looked %d times", n)
	}
}

func TestAMissCountsAndAHitDoesNot(t *testing.T) {
	t.Parallel()
	records, limiter := newRecords(), mocks.NewMockRateLimiter(gomock.NewController(t))
	r := sample.Reference()
	records.put(r, domain.Booked, 1)
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{Admitted: true}, nil).Times(3)
	limiter.EXPECT().GiveBack(gomock.Any(), bucket)
	use := deliveries.NewTracking(records, limiter)
	for _, text := range []string{string(sample.Reference()), "none"} {
		if _, err := use.Find(t.Context(), "192.0.2.1", text); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for range 3 {
		if _, err := use.Find(t.Context(), "192.0.2.1", string(r)); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatTheStorageCannotDoIsNotTheClients(t *testing.T) {
	t.Parallel()
	records, limiter := newRecords(), mocks.NewMockRateLimiter(gomock.NewController(t))
	broken := errors.New("no answer")
	records.fail(broken)
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{Admitted: true}, nil)
	limiter.EXPECT().GiveBack(gomock.Any(), bucket)
	if _, err := deliveries.NewTracking(records, limiter).Find(t.Context(), "192.0.2.1", "none"); !errors.Is(err, broken) {
		t.Error(err)
	}
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{}, nil)
	if _, err := deliveries.NewTracking(records, limiter).Find(t.Context(), "192.0.2.1", "none"); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestAnAddressWithTooManyMissesIsToldWhenToComeBackAndIsLookedUpWithOthers(t *testing.T) {
	t.Parallel()
	records, limiter := newRecords(), mocks.NewMockRateLimiter(gomock.NewController(t))
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{RetryAfter: 9*time.Second + time.Millisecond}, nil).Times(2)
	use := deliveries.NewTracking(records, limiter)
	for _, text := range []string{string(sample.Reference()), "none"} {
		_, err := use.Find(t.Context(), "192.0.2.1", text)
		var e *domain.Error
		if !errors.As(err, &e) || e.Kind != domain.KindLimited || e.RetryAfter != 10*time.Second || records.looked() != 0 {
			t.Errorf("%s: %#v after %d looks", text, err, records.looked())
		}
	}
}

// A hundred people behind one address guess as fast as they get responses, in the fake time of the
// bubble. Others open pages that they never opened before.
func TestAPageThatExistsOpensWhateverOthersGuess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := newRecords()
		limiter := &windowless{}
		use := deliveries.NewTracking(records, limiter)
		ctx, stop := context.WithCancel(t.Context())
		var guessing, opening sync.WaitGroup
		for range 100 {
			guessing.Go(func() {
				for ctx.Err() == nil {
					if _, err := use.Find(t.Context(), "192.0.2.1", string(sample.Reference())); err == nil {
						t.Error("a guess hit")
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		for range 300 {
			r := sample.Reference()
			records.put(r, domain.Booked, 1)
			time.Sleep(17 * time.Millisecond)
			opening.Go(func() {
				begun := time.Now()
				if _, err := use.Find(t.Context(), "192.0.2.1", string(r)); err != nil || time.Since(begun) > time.Second {
					t.Errorf("a page that exists: %v after %v", err, time.Since(begun))
				}
			})
		}
		opening.Wait()
		stop()
		guessing.Wait()
		// 5.1 seconds of batches.
		if n := records.asked(); n > 60 {
			t.Errorf("%d questions for many", n)
		}
		if n := records.looked(); n > 100+300 {
			t.Errorf("%d look-ups of one, want those of the pages and of a hundred misses", n)
		}
	})
}

// windowless admits a hundred requests and never frees any of them.
type windowless struct {
	ports.RateLimiter
	taken atomic.Int64
}

func (w *windowless) Take(context.Context, ...ports.Bucket) (ports.Allowance, error) {
	if w.taken.Add(1) <= 100 {
		return ports.Allowance{Admitted: true}, nil
	}
	w.taken.Add(-1)
	return ports.Allowance{RetryAfter: time.Minute}, nil
}

func (w *windowless) GiveBack(context.Context, ...ports.Bucket) error {
	w.taken.Add(-1)
	return nil
}

func TestALimiterThatFailsRefusesNoRequest(t *testing.T) {
	t.Parallel()
	records, limiter := newRecords(), mocks.NewMockRateLimiter(gomock.NewController(t))
	r := sample.Reference()
	records.put(r, domain.Booked, 1)
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{}, errors.New("no answer")).Times(2)
	use := deliveries.NewTracking(records, limiter)
	if _, err := use.Find(t.Context(), "192.0.2.1", "none"); !errors.Is(err, domain.ErrNotFound) {
		t.Error(err)
	}
	if _, err := use.Find(t.Context(), "192.0.2.1", string(r)); err != nil {
		t.Error(err)
	}
}
