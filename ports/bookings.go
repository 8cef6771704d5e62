package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// BookingBudget is the most that may lie between a delivery's created_at and the
// moment from which on it is seen.
const BookingBudget = 5 * time.Second

// Bookings is the hot path of the product: it stores one created delivery
// with all that belongs to it. It is one coarse method, and not a function
// over Stores, so that an adapter may send it as one statement or batch many
// waiting bookings into one commit.
type Bookings interface {
	// Book stores everything or nothing, durably, the key record first. It is
	// safe to repeat with the same write: it wins or finds itself, which shows
	// as ErrKeyTaken with a record of the same ClaimID.
	//
	// A booking with a Bulk mark has no key of its own: there the lease of the
	// bulk is extended first and the outcome of the item recorded next, with
	// ErrLeaseLost and ErrItemDone in place of ErrKeyTaken.
	//
	// A delivery whose simulation runs is counted, or refused with
	// ErrSimulationLimit.
	//
	// A delivery is committed within BookingBudget of the call or not at all, so that
	// a list read by created_at lacks nothing that is older. ErrBookingLate tells
	// that it waited for too long: make it again, with a later time.
	//
	// The other refusals are ErrKeyBusy, ErrDirectoryChanged,
	// ErrExternalIDTaken, ErrReferenceTaken, a VALIDATION_ERROR for an address
	// too many, domain.ErrNotFound for a recipient or address that is not the
	// tenant's, and ErrOutcomeUnknown. Nothing is stored with any of them but the last.
	Book(ctx context.Context, w BookingWrite) error

	// BookRun books items of one bulk, in their order, by one transaction for all
	// of them: the first n. Book of the next one gives the reason why it was not
	// among them. n may be 0, and is with any error; after any error but
	// ErrLeaseLost the caller tries Book.
	BookRun(ctx context.Context, writes []BookingWrite) (n int, err error)
}

// BookingWrite is all that one created delivery stores.
type BookingWrite struct {
	Key       domain.KeyRecord // with its answer
	Retention time.Duration    // of the key record, from the database's now
	Bulk      *BulkItemMark    // instead of Key

	Recipient    domain.Recipient
	NewRecipient bool // insert it; otherwise it is there already
	FillName     bool // the stored recipient has no name: give it this one
	Address      domain.Address
	NewAddress   bool

	Delivery *domain.Delivery // carries the tenant
	Event    EventWrite       // sequence 1
}
