package toystore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// usageKey is what usage is counted by.
type usageKey struct {
	writer   string
	minute   time.Time
	key      domain.ID
	business domain.ID
	route    string
	status   int
	code     string
}

// WriteRequests has room for any time.
func (s *Store) WriteRequests(ctx context.Context, writer string, records []domain.RequestRecord,
	usage []domain.UsageMinute) (ports.Skipped, error) {
	return ports.Skipped{}, s.transact(ctx, func(on session) error {
		for _, r := range records {
			on.tx.requests.put(r.ID, r)
		}
		for _, u := range usage {
			on.tx.usage.put(usageKey{writer, u.Minute, u.KeyID, u.BusinessID, u.Route, u.Status, u.Code}, u)
		}
		return nil
	})
}

// RotateRequests deletes what is old.
func (s *Store) RotateRequests(ctx context.Context, keep domain.RequestLogKeeping) error {
	return s.transact(ctx, func(on session) error {
		now := time.Now()
		for id, r := range on.tx.requests.rows {
			kept := keep.Successes
			if r.Failed() {
				kept = keep.Failures
			}
			if id.MadeAt().Before(now.Add(-kept)) {
				on.tx.requests.remove(id)
			}
		}
		for k := range on.tx.usage.rows {
			if k.minute.Before(now.Add(-keep.Usage)) {
				on.tx.usage.remove(k)
			}
		}
		return nil
	})
}

type requests struct{ session }

func requestAt(r domain.RequestRecord) domain.Position { return domain.Position{ID: r.ID} }

// indexed reports whether a record matches what an index knows of a filter.
func indexed(f domain.RequestFilter, r domain.RequestRecord) bool {
	is := func(asked, has domain.ID) bool { return asked == "" || asked == has }
	return is(f.ID, r.ID) && is(f.BusinessID, r.BusinessID) && is(f.DeliveryID, r.DeliveryID) && (!f.Unknown || r.BusinessID == "") &&
		(f.ClientID == "" || f.ClientID == r.ClientID) && within(r.ID.MadeAt(), f.CreatedAfter, f.CreatedBefore) &&
		(f.Failed == nil || *f.Failed == r.Failed()) && (f.Code == "" || r.Failed()) && (f.Status == 0 || (f.Status >= 400) == r.Failed()) &&
		(f.Class == 0 || (f.Class >= 4) == r.Failed())
}

func matches(f domain.RequestFilter, r domain.RequestRecord) bool {
	is := func(asked, has domain.ID) bool { return asked == "" || asked == has }
	says := func(asked, has string) bool { return asked == "" || asked == has }
	return indexed(f, r) && is(f.ApplicationID, r.ApplicationID) && is(f.KeyID, r.KeyID) &&
		says(string(f.Environment), string(r.Environment)) && says(f.Route, r.Route) && says(f.Code, r.Code) &&
		(f.Status == 0 || f.Status == r.Status) && (f.Class == 0 || f.Class == r.Status/100)
}

func (s requests) List(_ context.Context, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error) {
	found := s.now().requests.where(func(r domain.RequestRecord) bool { return matches(f, r) }, by(requestAt))
	if p.After != nil {
		p.After = &domain.Position{ID: p.After.ID}
	}
	return page(found, p, true, requestAt), nil
}

// newest are the newest records that match what an index knows of a filter.
func (s requests) newest(f domain.RequestFilter, after *domain.Position, most int) []domain.RequestRecord {
	found := s.now().requests.where(func(r domain.RequestRecord) bool {
		return indexed(f, r) && (after == nil || r.ID < after.ID)
	}, by(requestAt))
	slices.Reverse(found)
	return found[:min(most, len(found))]
}

func (s requests) Look(_ context.Context, f domain.RequestFilter, p domain.PageRequest, most int) (found []domain.RequestRecord,
	further domain.ID, _ error) {
	newest := s.newest(f, p.After, most)
	for _, r := range newest {
		if len(found) <= p.Limit && matches(f, r) {
			found = append(found, r)
		}
	}
	if len(found) <= p.Limit && len(newest) == most {
		further = newest[most-1].ID
	}
	return found, further, nil
}

func (s requests) Failures(_ context.Context, f domain.RequestFilter, most, kinds int) (sums []domain.FailureSum, since time.Time,
	_ error) {
	f.Failed = new(true)
	if f.CreatedAfter != nil {
		since = *f.CreatedAfter
	}
	if all := s.newest(f, nil, most+1); len(all) > most {
		since = all[most].ID.MadeAt()
		f.CreatedAfter = &since
	}
	calls := map[domain.FailureSum]int64{}
	for _, r := range s.now().requests.rows {
		if matches(f, r) {
			calls[domain.FailureSum{BusinessID: r.BusinessID, Route: r.Route, Status: r.Status, Code: r.Code}]++
		}
	}
	for sum, n := range calls {
		sum.Calls = n
		sums = append(sums, sum)
	}
	slices.SortFunc(sums, func(a, b domain.FailureSum) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.BusinessID, b.BusinessID), cmp.Compare(a.Route, b.Route),
			cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return sums[:min(len(sums), kinds+1)], since, nil
}

func (s requests) Get(_ context.Context, business, id domain.ID) (domain.RequestRecord, error) {
	r, err := s.now().requests.take(id)
	if err == nil && business != "" && r.BusinessID != business {
		return domain.RequestRecord{}, domain.ErrNotFound
	}
	return r, err
}

func (s requests) Usage(_ context.Context, q domain.UsageQuery) ([]domain.Usage, error) {
	sums := map[domain.Usage]domain.Usage{}
	for _, u := range s.now().usage.rows {
		if u.BusinessID != q.BusinessID || q.ApplicationID != "" && u.ApplicationID != q.ApplicationID || q.KeyID != "" && u.KeyID != q.KeyID ||
			q.Environment != "" && u.Environment != q.Environment || u.Minute.Before(q.From) || !u.Minute.Before(q.Until) {
			continue
		}
		var by domain.Usage
		switch q.Step {
		case domain.UsageByMinute:
			by.At = u.Minute
		case domain.UsageByHour:
			by.At = u.Minute.Truncate(time.Hour)
		case domain.UsageByDay:
			by.At = u.Minute.Truncate(24 * time.Hour)
		}
		if q.ByKey {
			by.KeyID = u.KeyID
		}
		if q.ByRoute {
			by.Route = u.Route
		}
		if q.ByResult {
			by.Status, by.Code = u.Status, u.Code
		}
		sum, known := sums[by]
		if !known {
			sum = by
		}
		sum.Calls, sum.Replayed, sum.Took = sum.Calls+u.Calls, sum.Replayed+u.Replayed, sum.Took+u.Took
		if u.Minute.After(sum.Last) {
			sum.Last = u.Minute
		}
		sums[by] = sum
	}
	var found []domain.Usage
	for _, sum := range sums {
		found = append(found, sum)
	}
	slices.SortFunc(found, func(a, b domain.Usage) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(b.Calls, a.Calls), b.Last.Compare(a.Last), cmp.Compare(a.KeyID, b.KeyID),
			cmp.Compare(a.Route, b.Route))
	})
	return found, nil
}
