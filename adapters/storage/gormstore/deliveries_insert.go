package gormstore

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// The names of constraints show which value was taken.
const (
	referenceKey  = "deliveries_reference_key"
	externalIDKey = "deliveries_external_id_key"
)

// Book stores a new delivery in one transaction, alone or with others that arrive at the same time.
func (s *Store) Book(ctx context.Context, w ports.BookingWrite) error {
	ctx, cancel := context.WithTimeout(ctx, ports.BookingBudget-leastToEnd)
	defer cancel()
	e, err := newEntry(w)
	if err != nil {
		return err
	}
	if w.Bulk == nil && s.held(w) == "" {
		if err := s.bookTogether(ctx, e); !errors.Is(err, batch.ErrAlone) {
			return err
		}
	}
	return s.booked(ctx, w, func(b booking) error { return b.store(ctx, e) })
}

// BookRun stores the first bookings in one transaction and returns how many. It stops at a booking
// that is malformed, needs a row that counts as held, or claims the same key, external ID or
// recipient as an earlier one.
func (s *Store) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, ports.BookingBudget-leastToEnd)
	defer cancel()
	claimed := make(claims, 3*len(writes))
	var run []*entry
	for _, w := range writes {
		e, err := newEntry(w)
		if err != nil || s.held(w) != "" || !claimed.add(w) {
			break
		}
		run = append(run, e)
	}
	if len(run) == 0 {
		return 0, nil
	}
	return s.dialect.storeRun(ctx, s, run)
}

// entry holds a booking on its way into the tables.
type entry struct {
	ports.BookingWrite
	row deliveryRow
}

func newEntry(w ports.BookingWrite) (*entry, error) {
	if len(w.Event.Payload) == 0 {
		return nil, errNoPayload
	}
	row, err := newDeliveryRow(w.Delivery)
	return &entry{BookingWrite: w, row: row}, err
}

// booked runs work in one transaction.
func (s *Store) booked(ctx context.Context, w ports.BookingWrite, work func(booking) error) error {
	return s.transactOn(ctx, s.held(w), func(sn session) error {
		return work(booking{session: sn, tenant: w.Delivery.Tenant})
	})
}

// booking holds the session and the tenant of one transaction of Book.
type booking struct {
	session
	tenant domain.Tenant
}

// store stores the parts of a booking one after the other.
func (b booking) store(ctx context.Context, e *entry) error {
	for _, p := range parts {
		if !p.needed(e) {
			continue
		}
		if err := p.alone(b, ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (b booking) extendLease(ctx context.Context, e *entry) error {
	return bulks{b.session}.Extend(ctx, b.tenant, e.Bulk.Hold)
}

func (b booking) recordItem(ctx context.Context, e *entry) error {
	return bulks{b.session}.AddItem(ctx, b.tenant, e.Bulk.Hold, e.Bulk.Item)
}

func (b booking) claimKey(ctx context.Context, e *entry) error {
	return idempotency{b.session}.Claim(ctx, b.tenant, e.Key, e.Retention)
}

func (b booking) countSimulation(ctx context.Context, _ *entry) error {
	return simulations{b.session}.Enter(ctx, b.tenant)
}

// reachRecipient names the recipient whose row this booking may have to wait for.
func (b booking) reachRecipient(e *entry) error {
	return b.dialect.failed("store a recipient", b.reach(rowRecipient, recipientOf(e.BookingWrite)...))
}

func (b booking) insertRecipient(ctx context.Context, e *entry) error {
	if err := b.reachRecipient(e); err != nil {
		return err
	}
	return b.inserted("insert a recipient", recipientTable.insertInto(ctx, b.with(ctx), firstRecipientRow(e.BookingWrite), onKnownRecipient))
}

func (b booking) fillName(ctx context.Context, e *entry) error {
	if err := b.reachRecipient(e); err != nil {
		return err
	}
	return recipients{b.session}.fillName(ctx, b.tenant, e.Recipient)
}

// firstRecipientRow returns the row of a new recipient. It counts the address here, where that
// costs no statement.
func firstRecipientRow(w ports.BookingWrite) recipientRow {
	row := newRecipientRow(w.Delivery.Tenant, w.Recipient)
	if w.NewAddress {
		row.AddressCount = 1
	}
	return row
}

// countAddress refuses an address beyond the limit. If another request has just added the same
// address, it returns ErrDirectoryChanged, so that the booking is retried with that one.
func (b booking) countAddress(ctx context.Context, e *entry) error {
	if err := b.reachRecipient(e); err != nil {
		return err
	}
	directory := recipients{b.session}
	full := directory.countAddress(ctx, b.tenant, rowIDOf(e.Address.RecipientID))
	if !domain.HasCode(full, domain.CodeValidation) {
		return full
	}
	if _, err := directory.Get(ctx, b.tenant, e.Address.RecipientID); err != nil {
		return err
	}
	_, err := directory.FindAddress(ctx, b.tenant, e.Address.RecipientID, e.Address.MatchKey)
	switch {
	case err == nil:
		return ports.ErrDirectoryChanged
	case domain.HasCode(err, domain.CodeNotFound):
		return full
	}
	return err
}

func (b booking) insertAddress(ctx context.Context, e *entry) error {
	return b.inserted("insert an address", addressTable.insertInto(ctx, b.with(ctx), newAddressRow(b.tenant, e.Address), onKnownAddress))
}

func (b booking) insertDelivery(ctx context.Context, e *entry) error {
	if err := b.reach(rowBookings, string(b.tenant.BusinessID), string(b.tenant.Environment)); err != nil {
		return b.dialect.failed("insert a delivery", err)
	}
	err := deliveryTable.insertInto(ctx, b.with(ctx), e.row, "").Error
	switch {
	case err == nil:
		return nil
	case b.dialect.violated(err) == externalIDKey:
		return ports.ErrExternalIDTaken
	case b.dialect.violated(err) == referenceKey:
		return ports.ErrReferenceTaken
	}
	return b.dialect.failed("insert a delivery", err)
}

func (b booking) insertEvent(ctx context.Context, e *entry) error {
	return b.addEvent(ctx, b.tenant, e.Event)
}

// inserted returns the error of an insert, which is ErrDirectoryChanged if it met an existing
// record.
func (b booking) inserted(what string, result *gorm.DB) error {
	if result.Error == nil && result.RowsAffected == 0 {
		return ports.ErrDirectoryChanged
	}
	return b.dialect.failed(what, result.Error)
}
