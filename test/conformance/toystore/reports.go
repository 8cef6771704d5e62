package toystore

import (
	"context"
	"slices"
	"strings"

	"waybill/domain"
)

// reports count what is stored at the moment, but for events that came after the last
// count.
type reports struct{ session }

// CountReports goes through all timelines.
func (s *Store) CountReports(ctx context.Context, limit int) (looked int, more bool, err error) {
	err = s.transact(ctx, func(on session) error {
		looked = 0
		for _, timeline := range on.tx.timelines.rows {
			for _, e := range timeline {
				if _, counted := on.tx.counted.get(e.ID); !counted && looked < limit {
					on.tx.counted.put(e.ID, true)
					looked++
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	return looked, looked > 0, nil
}

func (s reports) Lines(_ context.Context, q domain.ReportQuery) ([]domain.ReportLine, error) {
	now := s.now()
	var events []domain.ReportEvent
	for id, timeline := range now.timelines.rows {
		d, err := now.deliveries.take(id)
		if err != nil {
			return nil, err
		}
		for _, e := range timeline {
			if _, counted := now.counted.get(e.ID); !counted || d.Tenant.Environment != q.Environment || !within(e.OccurredAt, &q.From, &q.Until) {
				continue
			}
			events = append(events, domain.ReportEvent{
				Environment: d.Tenant.Environment, BusinessID: d.Tenant.BusinessID, Vehicle: d.VehicleType, Municipality: d.Dropoff.Municipality,
				BookedAt: d.CreatedAt, Previous: e.Previous, Status: e.Status, Reason: e.Reason, At: e.OccurredAt,
			})
		}
	}
	lines := map[domain.ReportCell]*domain.Figures{}
	parts := q.Parts()
	for cell, f := range domain.CountReport(events) {
		if !slices.ContainsFunc(parts, func(p domain.ReportPart) bool { return p.By == cell.By && within(cell.Day, &p.From, &p.Until) }) ||
			q.BusinessID != "" && cell.BusinessID != q.BusinessID || q.Vehicle != "" && cell.Vehicle != q.Vehicle ||
			q.Municipality != "" && cell.Municipality != q.Municipality {
			continue
		}
		var of domain.ReportCell
		switch q.Each {
		case domain.ReportEachDay:
			of.Day = cell.Day
		case domain.ReportEachCustomer:
			of.BusinessID = cell.BusinessID
		case domain.ReportEachVehicle:
			of.Vehicle = cell.Vehicle
		case domain.ReportEachMunicipality:
			of.Municipality = cell.Municipality
		}
		if lines[of] == nil {
			lines[of] = &domain.Figures{}
		}
		lines[of].Add(f)
	}
	var all []domain.ReportLine
	for of, f := range lines {
		all = append(all, domain.ReportLine{
			Day: of.Day, BusinessID: of.BusinessID, Vehicle: of.Vehicle, Municipality: of.Municipality, Figures: *f,
		})
	}
	return all, nil
}

func (s reports) Progress(context.Context) (p domain.ReportProgress, err error) {
	now := s.now()
	for _, timeline := range now.timelines.rows {
		for _, e := range timeline {
			if _, counted := now.counted.get(e.ID); !counted && (p.Since.IsZero() || e.OccurredAt.Before(p.Since)) {
				p.Since = e.OccurredAt
			}
		}
	}
	return p, nil
}

func (s reports) Open(_ context.Context, e domain.Environment, limit int) ([]domain.OpenDelivery, error) {
	table := s.now().deliveries
	found := table.where(func(d *domain.Delivery) bool { return d.Tenant.Environment == e && d.Status().Open() },
		func(a, b *domain.Delivery) int { return strings.Compare(string(b.ID), string(a.ID)) })
	var all []domain.OpenDelivery
	for _, d := range found[:min(len(found), limit+1)] {
		all = append(all, domain.OpenDelivery{
			ID: d.ID, BusinessID: d.Tenant.BusinessID, Reference: d.Reference, Municipality: d.Dropoff.Municipality, Status: d.Status(),
			Since: d.UpdatedAt(), Pickup: d.Pickup.Coordinates, Dropoff: d.Dropoff.Coordinates,
		})
	}
	return all, nil
}
