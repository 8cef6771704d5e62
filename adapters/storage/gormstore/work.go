package gormstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// These repeat the conditions of deliveries_open_idx and deliveries_failed_idx.
const (
	isOpen   = "d.status IN ('booked', 'assigned', 'picked_up', 'in_transit', 'outsourced')"
	isFailed = "d.status = 'failed'"
)

// namesAtOnce limits the names that one statement reads.
const namesAtOnce = 512

func (s platform) BusinessNames(ctx context.Context, of []domain.ID) (map[domain.ID]string, error) {
	names := make(map[domain.ID]string, len(of))
	for some := range slices.Chunk(of, namesAtOnce) {
		var keys []rowID
		for _, id := range some {
			if key, err := lookup(domain.PrefixBusiness, id); err == nil {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		var rows []businessRow
		if err := s.with(ctx).Select("id", "name").Where("id IN ?", padded(keys)).Find(&rows).Error; err != nil {
			return nil, s.dialect.failed("read the names of businesses", err)
		}
		for _, r := range rows {
			names[r.ID.as(domain.PrefixBusiness)] = r.Name
		}
	}
	return names, nil
}

// Work counts open and failed deliveries from their two indexes alone.
func (s platform) Work(ctx context.Context, e domain.Environment, at time.Time) (domain.WorkTallies, error) {
	if !storable(string(e)) {
		return nil, nil
	}
	ctx, done := s.forList(ctx, domain.Tenant{})
	defer done()
	query, values := work(e, at)
	rows, err := s.with(ctx).Raw(query, values...).Rows()
	if err != nil {
		return nil, s.listFailed(ctx, "count open deliveries", err)
	}
	defer func() { _ = rows.Close() }() // read to its end, or given up
	// Row by row: there are thousands, for which gorm's Scan takes as long as the database.
	var tallies domain.WorkTallies
	for rows.Next() {
		var of rowID
		var t domain.WorkTally
		if err := rows.Scan(&of, &t.Status, &t.Band, &t.Count); err != nil {
			return nil, s.listFailed(ctx, "count open deliveries", err)
		}
		t.BusinessID = of.as(domain.PrefixBusiness)
		tallies = append(tallies, t)
	}
	return tallies, s.listFailed(ctx, "count open deliveries", rows.Err())
}

func work(e domain.Environment, at time.Time) (query string, values []any) {
	edges := domain.AgeEdges()
	var band strings.Builder
	band.WriteString("CASE")
	var bands []any
	for i, edge := range edges {
		band.WriteString(" WHEN d.updated_at >= ? THEN " + strconv.Itoa(i))
		bands = append(bands, boundary(at.Add(-edge)))
	}
	band.WriteString(" ELSE " + strconv.Itoa(len(edges)) + " END AS band")
	var parts []string
	for _, part := range []struct {
		is     string
		status domain.Status
	}{{isOpen, ""}, {isFailed, domain.Failed}} {
		where := "d.environment = ? AND " + part.is
		values = append(append(values, bands...), string(e))
		if since := (domain.WorkFilter{Environment: e, Status: part.status}).Search(at).UpdatedAfter; since != nil {
			where += " AND d.updated_at >= ?"
			values = append(values, boundary(*since))
		}
		parts = append(parts, "SELECT d.business_id, d.status, "+band.String()+" FROM deliveries d WHERE "+where)
	}
	return "SELECT business_id, status, band, count(*) AS deliveries FROM (" + strings.Join(parts, " UNION ALL ") +
		") AS w GROUP BY business_id, status, band", values
}
