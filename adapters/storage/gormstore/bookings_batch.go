package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// A commit costs the same whether it holds one booking or sixty-four, and so does a round trip to
// the database. So the bookings that arrive during a commit are stored by the next one, all in one
// transaction (a group commit).
//
// Batching changes nothing but speed. A booking that cannot be stored is removed from its batch and
// stored alone, which returns its error. Two bookings that claim the same value are not in one
// batch.

const (
	// mostWaited limits how long a booking waits for its batch, and batchBudget how long the batch
	// takes. With the end of a COMMIT that began in time they add up to ports.BookingBudget.
	mostWaited  = time.Second
	batchBudget = ports.BookingBudget - mostWaited - leastToEnd
	mostBooked  = 64 // in one transaction
)

// bookingBatches returns the options of batches of bookings; writers limits how many are stored at
// a time. Two small batches cost more than a large one. So a second writer pays off where half a
// batch waits, or where batches are small anyway.
func bookingBatches(writers int) batch.Options {
	return batch.Options{
		Size:     mostBooked,
		Parallel: writers,
		Many:     mostBooked / 2,
		Slow:     50 * time.Millisecond,
		Few:      4,
		Budget:   batchBudget,
		MaxWait:  mostWaited,
		// Where the writers hang on dead connections, a booking uses another connection alone.
		Stall: time.Second,
		Once:  true,
	}
}

func newBookings(store func(ctx context.Context, entries []*entry) []error, writers int) *batch.Batcher[*entry] {
	b := batch.New(bookingBatches(writers), store)
	b.Admit = func(most int) func(*entry) bool {
		claimed := make(claims, 3*most)
		return func(e *entry) bool { return claimed.add(e.BookingWrite) }
	}
	return b
}

// bookTogether stores a booking in a batch. It returns batch.ErrAlone where the booking must be
// stored alone. Once its batch has begun, it returns the outcome even if ctx is cancelled. If the
// deadline of ctx passes, the outcome is unknown.
func (s *Store) bookTogether(ctx context.Context, e *entry) error {
	err := s.bookings.Do(ctx, e)
	switch {
	case errors.Is(err, batch.ErrNotBegun):
		return notBooked(ctx)
	case errors.Is(err, batch.ErrUnderWay):
		return fmt.Errorf("%w: %w", ports.ErrOutcomeUnknown, notBooked(ctx))
	case errors.Is(err, batch.ErrLate):
		return ports.ErrBookingLate
	}
	return err
}

func notBooked(ctx context.Context) error {
	return fmt.Errorf("not booked: %w", whyEnded(ctx))
}

// claims holds the values in a batch that must be unique.
type claims map[claim]struct{}

type claim struct {
	kind  byte
	owner domain.ID
	env   domain.Environment
	value string
}

// add adds the claims of a booking. It adds none and returns false if one is taken.
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
