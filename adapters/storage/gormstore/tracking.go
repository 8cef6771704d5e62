package gormstore

import (
	"context"
	"slices"

	"waybill/domain"
)

// tracking implements ports.TrackingReader.
type tracking struct{ session }

// trackingRow is an event with what the public may see of its delivery. No other column is read, so
// that none can be shown by mistake. The database leaves out an amount that the business hides.
type trackingRow struct {
	ID           rowID
	Sender       string
	Municipality string
	CashMinor    *int64 // null: none, or the business does not show it
	Currency     string
	Environment  string
	Status       string
	LastSequence int
	EventStatus  string
	ReasonCode   string
	OccurredAt   instant
}

// trackingJoin reads in one statement, so that the status and the events are of one moment.
const trackingJoin = "SELECT d.id, b.name AS sender, d.dropoff_municipality AS municipality, d.environment, d.status, d.last_sequence," +
	" CASE WHEN b.tracking_cash THEN d.goods_value_minor END AS cash_minor, d.currency," +
	" e.status AS event_status, e.reason_code, e.occurred_at" +
	" FROM deliveries d JOIN businesses b ON b.id = d.business_id" +
	" JOIN delivery_events e ON e.delivery_id = d.id AND e.business_id = d.business_id" +
	" WHERE d.reference = ? ORDER BY e.sequence DESC LIMIT ?"

// unknownReference replaces a text that is no reference in a look-up.
const unknownReference = "----.----.----"

func (s tracking) Find(ctx context.Context, r domain.Reference) (domain.Tracking, error) {
	wanted, ok := domain.ParseReference(string(r))
	if !ok {
		wanted = unknownReference
	}
	var rows []trackingRow
	err := s.with(ctx).Raw(trackingJoin, string(wanted), domain.MaxTrackedEvents).Scan(&rows).Error
	switch {
	case err != nil:
		return domain.Tracking{}, s.dialect.failed("read what is tracked", err)
	case len(rows) == 0:
		return domain.Tracking{}, domain.ErrNotFound
	}
	// On Citus two businesses may have one reference, however unlikely that is.
	rows = slices.DeleteFunc(rows, func(r trackingRow) bool { return r.ID != rows[0].ID })
	slices.Reverse(rows)
	last := rows[len(rows)-1]
	return domain.Tracking{
		Sender: last.Sender, Municipality: last.Municipality, Test: last.Environment == string(domain.Sandbox),
		Status: domain.Status(last.Status), Sequence: last.LastSequence, Cash: money(last.CashMinor, last.Currency),
		Events: all(rows, (*trackingRow).domain),
	}, nil
}

func (s tracking) Known(ctx context.Context, of []domain.Reference) ([]domain.Reference, error) {
	wanted := make([]string, len(of))
	for i, r := range of {
		wanted[i] = unknownReference
		if sound, ok := domain.ParseReference(string(r)); ok {
			wanted[i] = string(sound)
		}
	}
	var rows []deliveryRow
	err := s.with(ctx).Select("reference").Where("reference IN ?", padded(wanted)).Find(&rows).Error
	return all(rows, func(r *deliveryRow) domain.Reference { return domain.Reference(r.Reference) }),
		s.dialect.failed("look for references", err)
}

func (r *trackingRow) domain() domain.TrackedEvent {
	return domain.TrackedEvent{
		Status: domain.Status(r.EventStatus), OccurredAt: r.OccurredAt.time, Reason: domain.ReasonCode(r.ReasonCode),
	}
}
