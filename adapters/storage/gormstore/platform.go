package gormstore

import (
	"context"
	"strings"
	"time"

	"waybill/domain"
)

// platform implements ports.PlatformReader.
type platform struct{ session }

func (s platform) Businesses(ctx context.Context, p domain.PageRequest) ([]domain.Business, error) {
	var rows []businessRow
	err := page(s.with(ctx), p, false).Find(&rows).Error
	return all(rows, (*businessRow).domain), s.dialect.failed("list businesses", err)
}

// idMargin exceeds any difference between the time in an ID and created_at: one process sets both
// while it books.
const idMargin = time.Minute

// Deliveries walks the primary key, which is in the order of time, where no index finds the rows.
// It turns bounds on the booking time into bounds on IDs.
func (s platform) Deliveries(ctx context.Context, f domain.DeliverySearch, p domain.PageRequest) ([]*domain.Delivery, error) {
	if !storable(string(f.Reference), f.ExternalID, string(f.Phone), string(f.Status), string(f.Environment)) {
		return nil, nil
	}
	ctx, done := s.forList(ctx, domain.Tenant{BusinessID: f.BusinessID, ApplicationID: f.ApplicationID})
	defer done()
	q := &condition{}
	if f.ExternalID != "" {
		q.and("d.external_id = ?", f.ExternalID)
		switch {
		case f.ApplicationID != "":
		case f.BusinessID != "":
			q.and("d.application_id IN (SELECT id FROM applications WHERE business_id = ?)", rowIDOf(f.BusinessID))
		default:
			q.and(s.dialect.anyApplication)
		}
		if f.Environment == "" {
			q.and("d.environment IN ('live', 'sandbox')")
		}
	}
	if !q.ids(f) {
		return nil, nil // a filter has a malformed ID, so no deliveries
	}
	for _, by := range []struct{ column, value string }{
		{"reference", string(f.Reference)}, {"recipient_phone", string(f.Phone)}, {"status", string(f.Status)},
		{"environment", string(f.Environment)},
	} {
		if by.value != "" {
			q.and("d."+by.column+" = ?", by.value)
		}
	}
	// Repeat the conditions of the partial indexes: with a parameter they are not used.
	if f.Open {
		q.and(isOpen)
	}
	switch f.Status {
	case domain.Failed:
		q.and(isFailed)
	case domain.Cancelled:
		q.and("d.status = 'cancelled'")
	}
	if f.Environment == domain.Sandbox {
		q.and("d.environment = 'sandbox'")
	}
	q.times(f)
	behind, order := "d.id > ?", " ORDER BY d.id LIMIT ?"
	if f.NewestFirst {
		behind, order = "d.id < ?", " ORDER BY d.id DESC LIMIT ?"
	}
	if p.After != nil {
		q.and(behind, rowIDOf(p.After.ID))
	}
	from, values := "deliveries d"+q.where(), append(q.values, p.Limit+1)
	if f.Status == domain.Failed {
		// Failed ones are few, and not where the walk begins: their index finds all, and they are
		// sorted.
		from = "(SELECT d.id FROM (SELECT d.id FROM " + from + s.dialect.fence + ") AS d" + order +
			") AS failed JOIN deliveries d ON d.id = failed.id"
		values = append(values, p.Limit+1)
	}
	var rows []deliveryRow
	err := s.with(ctx).Raw("SELECT "+deliveryTable.selectAs("d", "")+" FROM "+from+order, values...).Scan(&rows).Error
	return all(rows, (*deliveryRow).domain), s.listFailed(ctx, "search deliveries", err)
}

func (s platform) Named(ctx context.Context, ids []domain.ID, references []domain.Reference) ([]*domain.Delivery, error) {
	keys, names := []rowID{}, []string{}
	for _, id := range ids {
		if key, err := lookup(domain.PrefixDelivery, id); err == nil {
			keys = append(keys, key)
		}
	}
	for _, r := range references {
		if storable(string(r)) {
			names = append(names, string(r))
		}
	}
	columns := "SELECT " + deliveryTable.selectAs("d", "") + " FROM deliveries d WHERE "
	var rows []deliveryRow
	err := s.with(ctx).Raw(columns+"d.id IN ? UNION "+columns+"d.reference IN ?", keys, names).Scan(&rows).Error
	return all(rows, (*deliveryRow).domain), s.dialect.failed("read deliveries by name", err)
}

// condition collects the parts of a WHERE.
type condition struct {
	parts  []string
	values []any
}

func (q *condition) and(part string, values ...any) {
	q.parts = append(q.parts, part)
	q.values = append(q.values, values...)
}

func (q *condition) where() string {
	if len(q.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(q.parts, " AND ")
}

// ids adds conditions on the IDs of records. It returns false if one is no ID of its kind.
func (q *condition) ids(f domain.DeliverySearch) bool {
	for _, by := range []struct {
		column string
		prefix domain.Prefix
		id     domain.ID
	}{
		{"id", domain.PrefixDelivery, f.ID},
		{"business_id", domain.PrefixBusiness, f.BusinessID},
		{"application_id", domain.PrefixApplication, f.ApplicationID},
	} {
		if by.id == "" {
			continue
		}
		key, err := lookup(by.prefix, by.id)
		if err != nil {
			return false
		}
		q.and("d."+by.column+" = ?", key)
	}
	return true
}

func (q *condition) times(f domain.DeliverySearch) {
	if f.CreatedAfter != nil {
		since := boundary(*f.CreatedAfter)
		q.and("d.created_at >= ?", since)
		if first := firstIDAt(since.time.Add(-idMargin)); first != "" {
			q.and("d.id >= ?", first)
		}
	}
	if f.CreatedBefore != nil {
		until := boundary(*f.CreatedBefore)
		q.and("d.created_at < ?", until)
		if end := firstIDAt(until.time.Add(idMargin)); end != "" {
			q.and("d.id < ?", end)
		}
	}
	if f.UpdatedAfter != nil {
		q.and("d.updated_at >= ?", boundary(*f.UpdatedAfter))
	}
	if f.UpdatedBefore != nil {
		until := boundary(*f.UpdatedBefore)
		q.and("d.updated_at < ?", until)
		// Nothing changes before it is booked. Open and failed deliveries have indexes with the
		// time, and are as many as the board shows, whatever their IDs are.
		if end := firstIDAt(until.time.Add(idMargin)); end != "" && !f.Open && f.Status != domain.Failed {
			q.and("d.id < ?", end)
		}
	}
}
