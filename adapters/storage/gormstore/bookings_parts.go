package gormstore

import (
	"cmp"
	"context"
	"strings"
)

// part describes one kind of row that a booking stores.
type part struct {
	name   string
	needed func(*entry) bool
	// order sorts the rows of this part in a batch, so that no two batches wait for each other.
	order func(a, b *entry) int

	alone func(b booking, ctx context.Context, e *entry) error
	// together stores this part of the given entries of a batch, in their order.
	together func(b *pgBatch, t *pgTry, of []int) error
}

// parts lists what a booking stores, and in which order. A booking stored alone, on either
// database, and a batch on Postgres use the same list.
//
// The key, or the lease of the bulk, comes first. The second of two requests with one key waits
// here. It must not meet the first's external_id before it learns whose that was. Simulations are
// counted before any row that others may wait for, since many starts queue there. A recipient that
// exists and does not change is checked by the foreign key of the delivery, which includes the
// tenant.
//
//nolint:gochecknoglobals // a table
var parts = []part{
	{"lease of a bulk", inBulk, byItem, booking.extendLease, (*pgBatch).extendLease},
	{"item of a bulk", inBulk, byItem, booking.recordItem, (*pgBatch).addItems},
	{"idempotency key", func(e *entry) bool { return !inBulk(e) }, byKey, booking.claimKey, (*pgBatch).addKeys},
	{"simulation", func(e *entry) bool { return e.Delivery.Simulating() }, inAnyOrder, booking.countSimulation,
		(*pgBatch).addSimulations},
	{"recipient", func(e *entry) bool { return e.NewRecipient }, byPhone, booking.insertRecipient, (*pgBatch).addRecipients},
	{"name of a recipient", func(e *entry) bool { return e.FillName && !e.NewRecipient }, byPhone, booking.fillName,
		(*pgBatch).addNames},
	{"count of addresses", countsAddress, byPhone, booking.countAddress, (*pgBatch).addAddressCounts},
	{"address", func(e *entry) bool { return e.NewAddress }, byPhone, booking.insertAddress, (*pgBatch).addAddresses},
	{"delivery", always, byExternalID, booking.insertDelivery, (*pgBatch).addDeliveries},
	{"event", always, byExternalID, booking.insertEvent, (*pgBatch).addEvents},
}

// If another booking stored the same recipient or address first, its row stays, and the booking is
// retried with it.
const (
	onKnownRecipient = " ON CONFLICT (business_id, environment, phone_number) DO NOTHING"
	onKnownAddress   = " ON CONFLICT DO NOTHING"
)

func always(*entry) bool          { return true }
func inBulk(e *entry) bool        { return e.Bulk != nil }
func countsAddress(e *entry) bool { return e.NewAddress && !e.NewRecipient }

func inAnyOrder(*entry, *entry) int { return 0 }

func byItem(a, b *entry) int { return cmp.Compare(a.Bulk.Item.Index, b.Bulk.Item.Index) }

func byKey(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.row.ApplicationID, b.row.ApplicationID), cmp.Compare(a.row.Environment, b.row.Environment),
		cmp.Compare(a.Key.Key, b.Key.Key))
}

func byPhone(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.row.BusinessID, b.row.BusinessID), cmp.Compare(a.row.Environment, b.row.Environment),
		cmp.Compare(a.Recipient.PhoneNumber, b.Recipient.PhoneNumber))
}

// byExternalID sorts by the values that other bookings may claim at the same moment.
func byExternalID(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.row.ApplicationID, b.row.ApplicationID), cmp.Compare(a.row.Environment, b.row.Environment),
		strings.Compare(a.Delivery.ExternalID, b.Delivery.ExternalID))
}
