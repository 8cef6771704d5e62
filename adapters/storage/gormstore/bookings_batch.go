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

// A commit costs the same whether it holds one booking or sixty-four, and so does the
// way to the database and back. Bookings that arrive during a commit are therefore stored
// by the next one, all in one transaction (a group commit).
//
// Batching changes nothing but speed. A booking that cannot be stored is left out of
// its batch and tried by itself, which gives its error. Two bookings that claim the
// same thing are not in one batch.

const (
	// mostWaited is how long a booking may wait for its batch, and batchBudget how long
	// that may take. Together with the end of a COMMIT that was begun in time they
	// are ports.BookingBudget.
	mostWaited  = time.Second
	batchBudget = ports.BookingBudget - mostWaited - leastToEnd
	mostBooked  = 64 // in one transaction
)

// bookingBatches are the rules of batches of bookings; writers is how many are stored
// at a time. Two small batches cost more than a large one: a second writer pays where
// half a batch waits, or where batches are small anyway.
func bookingBatches(writers int) batch.Options {
	return batch.Options{
		Size:     mostBooked,
		Parallel: writers,
		Many:     mostBooked / 2,
		Slow:     50 * time.Millisecond,
		Few:      4,
		Budget:   batchBudget,
		MaxWait:  mostWaited,
		// Where the writers hang on dead connections, a booking takes another one by
		// itself.
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

// bookTogether stores a booking in a batch. batch.ErrAlone tells that it has to be
// stored by itself. Once its batch is under way, the outcome is told even where ctx is
// cancelled meanwhile; when the deadline of ctx passes, it is unknown.
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

// claims is the values in a batch that may exist only once.
type claims map[claim]struct{}

type claim struct {
	kind  byte
	owner domain.ID
	env   domain.Environment
	value string
}

// add adds the claims of a booking, or none of them if one is taken.
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
