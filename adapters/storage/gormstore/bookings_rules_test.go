package gormstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// slowStore takes its time for each batch and tells how many bookings it had.
func slowStore(took time.Duration) (*Store, chan int) {
	batches := make(chan int, 1000)
	return &Store{bookings: newBookings(func(_ context.Context, entries []*entry) []error {
		batches <- len(entries)
		time.Sleep(took)
		return make([]error, len(entries))
	}, 1)}, batches
}

// claiming is a booking that claims an external_id, or nothing.
func claiming(externalID string) *entry {
	return &entry{BookingWrite: ports.BookingWrite{Delivery: &domain.Delivery{Booking: domain.Booking{ExternalID: externalID}}}}
}

func TestABookingThatIsNotStoredInTimeSaysWhatMayHaveHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, batches := slowStore(10 * time.Second)
		outcomes := map[string]chan error{}
		book := func(name string, ctx context.Context) {
			outcomes[name] = make(chan error, 1)
			go func() { outcomes[name] <- s.bookTogether(ctx, claiming("")) }()
			synctest.Wait()
		}
		brief, end := context.WithTimeout(t.Context(), time.Millisecond)
		defer end()
		cancelled, cancel := context.WithCancel(t.Context())
		book("under way", brief)
		book("given up", cancelled)
		cancel()
		if err := <-outcomes["under way"]; !errors.Is(err, ports.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("under way: %v, want that its outcome is unknown", err)
		}
		if err := <-outcomes["given up"]; !errors.Is(err, context.Canceled) || errors.Is(err, ports.ErrOutcomeUnknown) {
			t.Errorf("given up: %v, want that it was cancelled", err)
		}
		time.Sleep(time.Minute)
		book("too late", cancelled)
		if err := <-outcomes["too late"]; !errors.Is(err, context.Canceled) || errors.Is(err, ports.ErrOutcomeUnknown) {
			t.Errorf("of a caller that was gone: %v, want that it was cancelled", err)
		}
		if len(batches) != 1 {
			t.Errorf("%d batches, want one", len(batches))
		}
	})
}

func TestABookingThatHasWaitedForTooLongIsGivenAnotherTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Some batch ends within the stall, so that waiting is all that is wrong.
		s, _ := slowStore(600 * time.Millisecond)
		outcomes := make([]chan error, 3)
		for i := range outcomes { // the same external_id: a batch each
			outcomes[i] = make(chan error, 1)
			go func() { outcomes[i] <- s.bookTogether(t.Context(), claiming("order-1")) }()
			synctest.Wait()
		}
		for i, late := range []bool{false, false, true} {
			if err := <-outcomes[i]; errors.Is(err, ports.ErrBookingLate) != late || !late && err != nil {
				t.Errorf("booking %d: %v, want late: %t", i, err, late)
			}
		}
	})
}

func TestBookingsThatClaimTheSameAreInDifferentBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, batches := slowStore(10 * time.Millisecond)
		for _, name := range []string{"first", "order-1", "order-1", "order-2", "", ""} {
			go func() { _ = s.bookTogether(t.Context(), claiming(name)) }()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if first, second, third := <-batches, <-batches, <-batches; first != 1 || second != 4 || third != 1 {
			t.Errorf("batches of %d, %d and %d, want 1, 4 and 1", first, second, third)
		}
	})
}
