package gormstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"waybill/domain"
)

// A report reads so many rows of figures without a pause. After that it pauses after each burst,
// for a multiple of the time that the burst took, and leaves the processors to requests. So neither
// the program nor the database, which sends no more than is read, is busy for long.
const (
	reportAtOnce = 15_000
	reportBurst  = 500
	reportRest   = 3
	// reportRests limits for how long there are pauses: a report is not refused for them.
	reportRests = time.Second
)

// reports implements ports.ReportReader.
type reports struct{ session }

func (s reports) Lines(ctx context.Context, q domain.ReportQuery) ([]domain.ReportLine, error) {
	ctx, cancel := s.forPrimaryList(ctx, domain.Tenant{})
	defer cancel()
	c := &condition{}
	if !storable(string(q.Environment), string(q.Vehicle), q.Municipality) {
		return nil, nil // nothing is of such a text
	}
	if q.BusinessID != "" {
		business, err := lookup(domain.PrefixBusiness, q.BusinessID)
		if err != nil {
			return nil, nil //nolint:nilerr // no such business, so no figures
		}
		c.and("by_what >= 4 AND business_id = ?", business)
	}
	for column, text := range map[string]string{"vehicle": string(q.Vehicle), "municipality": q.Municipality} {
		if text != "" {
			c.and(column+" = ?", text)
		}
	}
	var row reportRow
	var column string
	var of any
	switch q.Each {
	case domain.ReportEachDay:
		column, of = "day", &row.Day
	case domain.ReportEachCustomer:
		column, of = "business_id", &row.BusinessID
	case domain.ReportEachVehicle:
		column, of = "vehicle", &row.Vehicle
	case domain.ReportEachMunicipality:
		column, of = "municipality", &row.Municipality
	default:
		return nil, fmt.Errorf("there is no report for each %q", q.Each)
	}
	row.BusinessID = noRow
	columns := strings.Join(append([]string{column}, reportSumColumns...), ", ")
	var selects []string
	var values []any
	for _, part := range q.Parts() {
		of := *c
		of.and("environment = ? AND by_what = ?", string(q.Environment), int(part.By))
		of.and("day >= ? AND day < ?", boundary(part.From), boundary(part.Until))
		selects = append(selects, "SELECT "+columns+" FROM report_figures"+of.where())
		values = append(values, of.values...)
	}
	rows, err := s.with(ctx).Raw(strings.Join(selects, " UNION ALL "), values...).Rows()
	if err != nil {
		return nil, s.listFailed(ctx, "read a report", err)
	}
	defer func() { _ = rows.Close() }() // read to its end, or given up
	sums := map[domain.ReportCell]*domain.Figures{}
	read, first := 0, time.Now()
	begun := first
	for rows.Next() {
		if read++; read%reportBurst == 0 {
			if read >= reportAtOnce && time.Since(first) < reportRests {
				time.Sleep(reportRest * time.Since(begun))
			}
			begun = time.Now()
		}
		if err := rows.Scan(of, &row.Booked, &row.Delivered, &row.Cancelled, &row.Failed, &row.ToAssign, &row.ToDeliver); err != nil {
			return nil, s.listFailed(ctx, "read a report", err)
		}
		cell := row.cell()
		if sums[cell] == nil {
			sums[cell] = &domain.Figures{}
		}
		if err := row.addTo(sums[cell]); err != nil {
			return nil, err
		}
	}
	var lines []domain.ReportLine
	for cell, f := range sums {
		lines = append(lines, domain.ReportLine{
			Day: cell.Day, BusinessID: cell.BusinessID, Vehicle: cell.Vehicle, Municipality: cell.Municipality, Figures: *f,
		})
	}
	return lines, s.listFailed(ctx, "read a report", rows.Err())
}

func (s reports) Progress(ctx context.Context) (p domain.ReportProgress, err error) {
	ctx, cancel := s.forList(ctx, domain.Tenant{})
	defer cancel()
	var streams []reportProgressRow
	if err := s.with(ctx).Where("stream <> ?", streamMonths).Find(&streams).Error; err != nil {
		return p, s.listFailed(ctx, "read how far reports are counted", err)
	}
	for _, at := range streams {
		if at.Stream == streamPast {
			if !at.Done {
				p.Before = domain.ReportDay(at.EventID.as(domain.PrefixEvent).MadeAt())
			}
			continue
		}
		var next []instant
		if err := s.with(ctx).Table("feed_events").
			Where("environment = ? AND delivery_id IS NOT NULL", at.Stream).
			Where("(position, sequence, id) > (?, ?, ?)", at.Position, at.Sequence, at.EventID).
			Order("position, sequence, id").Limit(1).Pluck("occurred_at", &next).Error; err != nil {
			return p, s.listFailed(ctx, "read what reports have not counted", err)
		}
		if len(next) > 0 && (p.Since.IsZero() || next[0].time.Before(p.Since)) {
			p.Since = next[0].time
		}
	}
	return p, nil
}

// Open uses the condition of the index of open deliveries, which is in the order of IDs.
func (s reports) Open(ctx context.Context, e domain.Environment, limit int) ([]domain.OpenDelivery, error) {
	ctx, cancel := s.forList(ctx, domain.Tenant{})
	defer cancel()
	var rows []deliveryRow
	err := s.with(ctx).Raw("SELECT id, business_id, reference, dropoff_municipality, status, updated_at, pickup_latitude, pickup_longitude,"+
		" dropoff_latitude, dropoff_longitude FROM deliveries WHERE environment = ?"+
		" AND status IN ('booked', 'assigned', 'picked_up', 'in_transit', 'outsourced')"+
		" ORDER BY id DESC LIMIT ?", string(e), limit+1).Scan(&rows).Error
	return all(rows, (*deliveryRow).open), s.listFailed(ctx, "read open deliveries", err)
}

func (r *deliveryRow) open() domain.OpenDelivery {
	return domain.OpenDelivery{
		ID: r.ID.as(domain.PrefixDelivery), BusinessID: r.BusinessID.as(domain.PrefixBusiness), Reference: domain.Reference(r.Reference),
		Municipality: r.DropoffMunicipality, Status: domain.Status(r.Status), Since: r.UpdatedAt.time,
		Pickup:  domain.Coordinates{Latitude: r.PickupLatitude, Longitude: r.PickupLongitude},
		Dropoff: domain.Coordinates{Latitude: r.DropoffLatitude, Longitude: r.DropoffLongitude},
	}
}
