package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// BookingBudget is the maximum time between a delivery's created_at and the moment when readers see
// it.
const BookingBudget = 5 * time.Second

// Bookings stores one created delivery with all that belongs to it. It is the hot path of the
// product. It is one coarse method, and not a function over Stores, so that an adapter may send it
// as one statement or batch many waiting bookings into one commit.
type Bookings interface {
	// Book stores everything or nothing, durably, the key record first. It is safe to repeat with
	// the same write: the repetition stores it, or returns ErrKeyTaken and the record has the same
	// ClaimID.
	//
	// A booking with a Bulk mark has no key of its own. It extends the lease of the bulk first and
	// records the outcome of the item next, and returns ErrLeaseLost and ErrItemDone in place of
	// ErrKeyTaken.
	//
	// A delivery whose simulation runs is counted, or refused with ErrSimulationLimit.
	//
	// A delivery is committed within BookingBudget of the call or not at all, so that a list read
	// by created_at misses nothing older. ErrBookingLate means that it waited too long: book it
	// again, with a later time.
	//
	// The other refusals are ErrKeyBusy, ErrDirectoryChanged, ErrExternalIDTaken,
	// ErrReferenceTaken, a VALIDATION_ERROR for one address too many, domain.ErrNotFound for a
	// recipient or address of another tenant, and ErrOutcomeUnknown. Only with the last one may
	// anything have been stored.
	Book(ctx context.Context, w BookingWrite) error

	// BookRun books the first n items of one bulk, in their order, in one transaction. Book returns
	// the reason why the next item was not among them. n may be 0, and is 0 with any error. After
	// any error but ErrLeaseLost the caller tries Book.
	BookRun(ctx context.Context, writes []BookingWrite) (n int, err error)
}

// BookingWrite holds all that one created delivery stores.
type BookingWrite struct {
	Key       domain.KeyRecord // with its answer
	Retention time.Duration    // of the key record, from the database's now
	Bulk      *BulkItemMark    // instead of Key

	Recipient    domain.Recipient
	NewRecipient bool // insert it; otherwise it exists already
	FillName     bool // the stored recipient has no name: give it this one
	Address      domain.Address
	NewAddress   bool

	Delivery *domain.Delivery // carries the tenant
	Event    EventWrite       // sequence 1
}
