package tracking_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/tracking"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/sample"
)

// shelf is a storage with deliveries that are written directly.
type shelf struct {
	ports.Storage
	ports.TrackingReader

	mu    sync.Mutex
	found map[domain.Reference]domain.Tracking
	looks int
	fails error
}

func newShelf() *shelf { return &shelf{found: map[domain.Reference]domain.Tracking{}} }

func (s *shelf) Read() ports.Readers { return ports.Readers{Tracking: s} }

func (s *shelf) Find(ctx context.Context, r domain.Reference) (domain.Tracking, error) {
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

func (s *shelf) put(r domain.Reference, status domain.Status, sequence int) domain.Tracking {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := domain.Tracking{Sender: "Adom Foods", Status: status, Sequence: sequence, Events: []domain.TrackedEvent{{Status: status, OccurredAt: sample.Now}}}
	s.found[r] = t
	return t
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

func (s *shelf) looked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// What the public may see grows only with a decision; this list is where to make it.
func TestWhatIsTrackedHoldsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	for kind, want := range map[reflect.Type][]string{
		reflect.TypeFor[domain.Tracking]():     {"Sender", "Municipality", "Test", "Status", "Sequence", "Events"},
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

var bucket = ports.Bucket{Scope: "tracking", Name: "192.0.2.1", Limit: domain.RateLimit{Limit: 100, Window: 10 * time.Minute}}

func TestAHitCountsNothingAndIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	shelf, limiter := newShelf(), mocks.NewMockRateLimiter(gomock.NewController(t))
	r := sample.Reference()
	want := shelf.put(r, domain.Booked, 1)
	limiter.EXPECT().Peek(gomock.Any(), bucket).Return(ports.Allowance{Admitted: true}, nil)
	use := tracking.New(shelf, limiter)
	for range 3 {
		if got, err := use.Find(t.Context(), "192.0.2.1", string(r)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if n := shelf.looked(); n != 3 {
		t.Errorf("looked %d times", n)
	}
}

func TestAMissCounts(t *testing.T) {
	t.Parallel()
	limiter := mocks.NewMockRateLimiter(gomock.NewController(t))
	limiter.EXPECT().Peek(gomock.Any(), bucket).Return(ports.Allowance{Admitted: true}, nil).Times(2)
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{Admitted: true}, nil).Times(2)
	use := tracking.New(newShelf(), limiter)
	for _, text := range []string{string(sample.Reference()), "none"} {
		if _, err := use.Find(t.Context(), "192.0.2.1", text); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatTheStorageCannotDoIsNotTheClients(t *testing.T) {
	t.Parallel()
	shelf, limiter := newShelf(), mocks.NewMockRateLimiter(gomock.NewController(t))
	broken := errors.New("no answer")
	shelf.fail(broken)
	limiter.EXPECT().Peek(gomock.Any(), bucket).Return(ports.Allowance{Admitted: true}, nil)
	if _, err := tracking.New(shelf, limiter).Find(t.Context(), "192.0.2.1", "none"); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestWhoMissedTooOftenIsToldWhenToComeBackAndNothingIsLookedUp(t *testing.T) {
	t.Parallel()
	shelf, limiter := newShelf(), mocks.NewMockRateLimiter(gomock.NewController(t))
	r := sample.Reference()
	shelf.put(r, domain.Booked, 1)
	limiter.EXPECT().Peek(gomock.Any(), bucket).Return(ports.Allowance{RetryAfter: 89*time.Second + time.Millisecond}, nil)
	_, err := tracking.New(shelf, limiter).Find(t.Context(), "192.0.2.1", string(r))
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.KindLimited || e.RetryAfter != 90*time.Second || shelf.looked() != 0 {
		t.Errorf("%#v after %d looks", err, shelf.looked())
	}
}

func TestALimiterThatFailsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	shelf, limiter := newShelf(), mocks.NewMockRateLimiter(gomock.NewController(t))
	r := sample.Reference()
	shelf.put(r, domain.Booked, 1)
	limiter.EXPECT().Peek(gomock.Any(), bucket).Return(ports.Allowance{}, errors.New("no answer")).Times(2)
	limiter.EXPECT().Take(gomock.Any(), bucket).Return(ports.Allowance{}, errors.New("no answer"))
	use := tracking.New(shelf, limiter)
	if _, err := use.Find(t.Context(), "192.0.2.1", "none"); !errors.Is(err, domain.ErrNotFound) {
		t.Error(err)
	}
	if _, err := use.Find(t.Context(), "192.0.2.1", string(r)); err != nil {
		t.Error(err)
	}
}
