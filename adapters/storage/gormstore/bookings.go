package gormstore

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// Names of constraints that tell one refusal from another.
const (
	referenceKey  = "deliveries_reference_key"
	externalIDKey = "deliveries_external_id_key"
)

// Book stores a created delivery together with others that come at the same
// time, or by itself: in one transaction in any case.
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

// BookRun stores as many as do not claim the same thing.
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

// entry is a booking on its way into the tables.
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

// booked runs the work in one transaction.
func (s *Store) booked(ctx context.Context, w ports.BookingWrite, work func(booking) error) error {
	return s.transactOn(ctx, s.held(w), func(sn session) error {
		return work(booking{session: sn, tenant: w.Delivery.Tenant})
	})
}

// booking is the work of one transaction of Book.
type booking struct {
	session
	tenant domain.Tenant
}

func (b booking) store(ctx context.Context, e *entry) error {
	// First of all the key, or the lease of the bulk: of two requests with one key
	// the second waits here, and must not meet the first's external_id before it
	// learns who that was.
	if err := b.claim(ctx, e.BookingWrite); err != nil {
		return err
	}
	return b.storeDelivery(ctx, e.BookingWrite, e.row)
}

func (b booking) claim(ctx context.Context, w ports.BookingWrite) error {
	if mark := w.Bulk; mark != nil {
		bulk := bulks{b.session}
		if err := bulk.Extend(ctx, b.tenant, mark.Hold); err != nil {
			return err
		}
		return bulk.AddItem(ctx, b.tenant, mark.Hold, mark.Item)
	}
	return idempotency{b.session}.Claim(ctx, b.tenant, w.Key, w.Retention)
}

func (b booking) storeDelivery(ctx context.Context, w ports.BookingWrite, row deliveryRow) error {
	if w.Delivery.Simulating() {
		// Before any row that others may wait for: many starts queue here.
		if err := (simulations{b.session}).Enter(ctx, b.tenant); err != nil {
			return err
		}
	}
	if err := b.storeParty(ctx, w); err != nil {
		return err
	}
	if err := b.reach(rowBookings, string(b.tenant.BusinessID), string(b.tenant.Environment)); err != nil {
		return b.dialect.failed("insert a delivery", err)
	}
	if err := deliveryTable.insertInto(ctx, b.with(ctx), row, "").Error; err != nil {
		switch b.dialect.violated(err) {
		case externalIDKey:
			return ports.ErrExternalIDTaken
		case referenceKey:
			return ports.ErrReferenceTaken
		}
		return b.dialect.failed("insert a delivery", err)
	}
	return b.addEvent(ctx, b.tenant, w.Event)
}

// storeParty brings the recipient and the address up to date.
func (b booking) storeParty(ctx context.Context, w ports.BookingWrite) error {
	if !w.NewRecipient && !w.FillName && !w.NewAddress {
		return nil
	}
	if err := b.reach(rowRecipient, recipientOf(w)...); err != nil {
		return b.dialect.failed("store a recipient", err)
	}
	if err := b.storeRecipient(ctx, w); err != nil {
		return err
	}
	return b.storeAddress(ctx, w)
}

// storeRecipient brings the recipient up to date. One that is there and needs
// nothing is left to the foreign key of the delivery, which knows the tenant.
func (b booking) storeRecipient(ctx context.Context, w ports.BookingWrite) error {
	switch {
	case w.NewRecipient:
		return b.inserted("insert a recipient", recipientTable.insertInto(ctx, b.with(ctx), firstRecipientRow(w),
			" ON CONFLICT (business_id, environment, phone_number) DO NOTHING"))
	case w.FillName:
		return recipients{b.session}.fillName(ctx, b.tenant, w.Recipient)
	}
	return nil
}

// firstRecipientRow is that of a recipient who is booked for the first time. The
// address is counted here, where it costs no statement.
func firstRecipientRow(w ports.BookingWrite) recipientRow {
	row := newRecipientRow(w.Delivery.Tenant, w.Recipient)
	if w.NewAddress {
		row.AddressCount = 1
	}
	return row
}

func (b booking) storeAddress(ctx context.Context, w ports.BookingWrite) error {
	if !w.NewAddress {
		return nil
	}
	if !w.NewRecipient {
		if err := b.countAddress(ctx, w); err != nil {
			return err
		}
	}
	row := newAddressRow(b.tenant, w.Address)
	return b.inserted("insert an address", addressTable.insertInto(ctx, b.with(ctx), row,
		" ON CONFLICT (recipient_id, match_hash) DO NOTHING"))
}

// countAddress refuses an address too many, unless what is wrong is that it
// exists by now: then it would not have been one too many.
func (b booking) countAddress(ctx context.Context, w ports.BookingWrite) error {
	directory := recipients{b.session}
	full := directory.countAddress(ctx, b.tenant, rowIDOf(w.Address.RecipientID))
	if !domain.HasCode(full, domain.CodeValidation) {
		return full
	}
	if _, err := directory.Get(ctx, b.tenant, w.Address.RecipientID); err != nil {
		return err
	}
	_, err := directory.FindAddress(ctx, b.tenant, w.Address.RecipientID, w.Address.MatchKey)
	switch {
	case err == nil:
		return ports.ErrDirectoryChanged
	case domain.HasCode(err, domain.CodeNotFound):
		return full
	}
	return err
}

// inserted tells an insert that met an existing record.
func (b booking) inserted(what string, result *gorm.DB) error {
	if result.Error == nil && result.RowsAffected == 0 {
		return ports.ErrDirectoryChanged
	}
	return b.dialect.failed(what, result.Error)
}
