package gormstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"waybill/domain"
	"waybill/ports"
)

// The tables of the request log.
const (
	requestSuccesses = "request_successes"
	requestFailures  = "request_failures"
	usageMinutes     = "usage_minutes"
	usageHours       = "usage_hours" // triggers sum up the rows of usage_minutes there
)

// usageBatch limits the rows of usage that one statement stores.
const usageBatch = 500

// WriteRequests implements ports.RequestLog. It creates missing partitions, and skips records of a
// time that gets none.
func (s *Store) WriteRequests(ctx context.Context, writer string, records []domain.RequestRecord,
	usage []domain.UsageMinute) (ports.Skipped, error) {
	err := s.writeRequests(ctx, writer, records, usage)
	if err == nil || !s.dialect.lacksPartition(err) {
		return ports.Skipped{}, err
	}
	from, until, err := s.dialect.makePartitions(ctx, s, daysAhead)
	if err != nil {
		return ports.Skipped{}, err
	}
	first, end := firstIDAt(from), firstIDAt(until)
	kept := slices.DeleteFunc(slices.Clone(records), func(r domain.RequestRecord) bool {
		id := rowIDOf(r.ID)
		return id < first || id >= end
	})
	skipped := ports.Skipped{Records: len(records) - len(kept)}
	var counted []domain.UsageMinute
	for _, u := range usage {
		if u.Minute.Before(from) || !u.Minute.Before(until) {
			skipped.Usage = append(skipped.Usage, u)
		} else {
			counted = append(counted, u)
		}
	}
	return skipped, s.writeRequests(ctx, writer, kept, counted)
}

func (s *Store) writeRequests(ctx context.Context, writer string, records []domain.RequestRecord, usage []domain.UsageMinute) error {
	var succeeded, failed []requestRow
	for i := range records {
		if row := newRequestRow(&records[i]); records[i].Failed() {
			failed = append(failed, row)
		} else {
			succeeded = append(succeeded, row)
		}
	}
	rows := make([]usageRow, len(usage))
	for i := range usage {
		rows[i] = newUsageRow(writer, &usage[i])
	}
	return s.transact(ctx, func(sn session) error {
		if s.dialect.unhurried != "" {
			if err := sn.with(ctx).Exec(s.dialect.unhurried).Error; err != nil {
				return s.dialect.failed("begin to write the request log", err)
			}
		}
		for table, of := range map[string][]requestRow{requestSuccesses: succeeded, requestFailures: failed} {
			if len(of) == 0 {
				continue
			}
			if err := s.dialect.insertRequests(ctx, sn, table, of); err != nil {
				return s.dialect.failed("write the request log", err)
			}
		}
		if len(rows) == 0 {
			return nil
		}
		whole := clause.OnConflict{
			Columns: []clause.Column{
				{Name: "business_id"}, {Name: "minute"}, {Name: "key_id"}, {Name: "route"}, {Name: "status"}, {Name: "code"}, {Name: "writer"},
			},
			DoUpdates: clause.AssignmentColumns([]string{"calls", "replayed", "took_us"}),
		}
		if err := sn.with(ctx).Clauses(whole).CreateInBatches(rows, usageBatch).Error; err != nil {
			return s.dialect.failed("count usage", err)
		}
		return sn.sumUsage(ctx, rows)
	})
}

// RotateRequests makes room for new records and deletes old ones. It implements ports.RequestLog.
func (s *Store) RotateRequests(ctx context.Context, keep domain.RequestLogKeeping) error {
	return s.dialect.rotateRequests(ctx, s, keep)
}

// requestsOlder returns the time before which records of a table of the request log may be deleted;
// oldest is the time of the oldest record.
func (s *Store) requestsOlder(ctx context.Context, table string, keep time.Duration, oldest time.Time) (time.Time, error) {
	var row retained
	err := s.write.WithContext(ctx).Raw(s.retainedSQL(""), s.dialect.laterBy(0), s.dialect.laterBy(-keep), table).Scan(&row).Error
	if err != nil {
		return time.Time{}, s.dialect.failed("look for old records of "+table, err)
	}
	return s.deletedBefore(ctx, table, row, oldest)
}

// keptFor returns for how long each table of the request log is kept.
func keptFor(keep domain.RequestLogKeeping) map[string]time.Duration {
	return map[string]time.Duration{requestSuccesses: keep.Successes, requestFailures: keep.Failures, usageMinutes: keep.Usage,
		usageHours: keep.Usage}
}

// requests implements ports.RequestReader.
type requests struct{ session }

func (s requests) List(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error) {
	ctx, cancel := s.forList(ctx, domain.Tenant{BusinessID: f.BusinessID, ApplicationID: f.ApplicationID})
	defer cancel()
	query, possible := s.narrowed(ctx, f)
	if !possible {
		return nil, nil
	}
	if p.After != nil {
		query = query.Where("id < ?", rowIDOf(p.After.ID))
	}
	var rows []requestRow
	err := query.Order("id DESC").Limit(p.Limit + 1).Find(&rows).Error
	return all(rows, (*requestRow).domain), s.listFailed(ctx, "list requests", err)
}

// narrowed returns a query for the records that match a filter; possible is false where none can.
func (s requests) narrowed(ctx context.Context, f domain.RequestFilter) (query *gorm.DB, possible bool) {
	query, possible = s.indexed(ctx, f)
	if !possible {
		return nil, false
	}
	return filtered(query, f)
}

// indexed returns a query for the records that match the part of a filter that has an index.
func (s requests) indexed(ctx context.Context, f domain.RequestFilter) (query *gorm.DB, possible bool) {
	if !storable(f.ClientID, f.Route, f.Code) {
		return nil, false
	}
	query = s.with(ctx)
	asked := domain.RequestRecord{Status: max(f.Status, f.Class*statusClass)}
	failed := f.Code != "" || asked.Failed() || f.Failed != nil && *f.Failed
	succeeded := asked.Status != 0 && !asked.Failed() || f.Failed != nil && !*f.Failed
	switch {
	case failed && succeeded:
		return nil, false
	case failed:
		query = query.Table(requestFailures)
	case succeeded:
		query = query.Table(requestSuccesses)
	default:
		query = query.Table("request_log")
	}
	query, possible = withIDs(query, map[string]domain.ID{"id": f.ID, "business_id": f.BusinessID, "delivery_id": f.DeliveryID})
	if !possible {
		return nil, false
	}
	if f.Unknown {
		query = query.Where("business_id IS NULL")
	}
	if f.ClientID != "" {
		query = query.Where("client_id = ?", f.ClientID)
	}
	if f.CreatedAfter != nil {
		query = query.Where("id >= ?", cmpID(firstIDAt(boundary(*f.CreatedAfter).time)))
	}
	if f.CreatedBefore != nil {
		query = query.Where("id < ?", cmpID(firstIDAt(boundary(*f.CreatedBefore).time)))
	}
	return query, true
}

// statusClass counts the statuses that begin with the same digit.
const statusClass = 100

// filtered adds all other conditions of a filter to a query.
func filtered(query *gorm.DB, f domain.RequestFilter) (_ *gorm.DB, possible bool) {
	query, possible = withIDs(query, map[string]domain.ID{"application_id": f.ApplicationID, "key_id": f.KeyID})
	if !possible {
		return nil, false
	}
	for column, text := range map[string]string{"environment": string(f.Environment), "route": f.Route, "code": f.Code} {
		if text != "" {
			query = query.Where(column+" = ?", text)
		}
	}
	if f.Status != 0 {
		query = query.Where("status = ?", f.Status)
	}
	if f.Class != 0 {
		query = query.Where("status >= ? AND status < ?", f.Class*statusClass, (f.Class+1)*statusClass)
	}
	return query, true
}

// requestIDs lists the prefixes of the IDs in columns of the request log.
var requestIDs = map[string]domain.Prefix{
	"id": domain.PrefixRequest, "business_id": domain.PrefixBusiness, "application_id": domain.PrefixApplication,
	"key_id": domain.PrefixAPIKey, "delivery_id": domain.PrefixDelivery,
}

// withIDs adds conditions on the IDs that are not empty.
func withIDs(query *gorm.DB, ids map[string]domain.ID) (_ *gorm.DB, possible bool) {
	for column, id := range ids {
		if id == "" {
			continue
		}
		key, err := lookup(requestIDs[column], id)
		if err != nil {
			return nil, false
		}
		query = query.Where(column+" = ?", key)
	}
	return query, true
}

func (s requests) Look(ctx context.Context, f domain.RequestFilter, p domain.PageRequest, most int) (found []domain.RequestRecord,
	further domain.ID, err error) {
	ctx, cancel := s.forList(ctx, domain.Tenant{BusinessID: f.BusinessID, ApplicationID: f.ApplicationID})
	defer cancel()
	looked := func(columns string) (*gorm.DB, bool) {
		query, possible := s.indexed(ctx, f)
		if !possible {
			return nil, false
		}
		if p.After != nil {
			query = query.Where("id < ?", rowIDOf(p.After.ID))
		}
		return query.Select(columns).Order("id DESC"), true
	}
	newest, possible := looked("*")
	if !possible {
		return nil, "", nil
	}
	query, possible := filtered(s.with(ctx).Table("(?) AS looked", newest.Limit(most)), f)
	if !possible {
		return nil, "", nil
	}
	var rows []requestRow
	if err := query.Order("id DESC").Limit(p.Limit + 1).Find(&rows).Error; err != nil {
		return nil, "", s.listFailed(ctx, "look through requests", err)
	}
	found = all(rows, (*requestRow).domain)
	if len(found) > p.Limit {
		return found, "", nil
	}
	last, _ := looked("id")
	var ends []rowID
	if err := last.Offset(most - 1).Limit(1).Scan(&ends).Error; err != nil || len(ends) == 0 {
		return found, "", s.listFailed(ctx, "find where a look through requests ends", err)
	}
	return found, ends[0].as(domain.PrefixRequest), nil
}

// failureSum is a row that Failures selects.
type failureSum struct {
	BusinessID *rowID
	Route      string
	Status     int
	Code       string
	Calls      int64
}

func (r *failureSum) domain() domain.FailureSum {
	return domain.FailureSum{BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness), Route: r.Route, Status: r.Status, Code: r.Code,
		Calls: r.Calls}
}

func (s requests) Failures(ctx context.Context, f domain.RequestFilter, most, kinds int) (sums []domain.FailureSum, since time.Time,
	err error) {
	ctx, cancel := s.forList(ctx, domain.Tenant{BusinessID: f.BusinessID, ApplicationID: f.ApplicationID})
	defer cancel()
	f.Failed = new(true)
	if f.CreatedAfter != nil {
		since = *f.CreatedAfter
	}
	query, possible := s.indexed(ctx, f)
	if !possible {
		return nil, since, nil
	}
	var ends []rowID
	if err := query.Select("id").Order("id DESC").Offset(most).Limit(1).Scan(&ends).Error; err != nil {
		return nil, since, s.listFailed(ctx, "find where a count of failures begins", err)
	}
	if len(ends) > 0 {
		since = ends[0].as(domain.PrefixRequest).MadeAt()
		f.CreatedAfter = &since
	}
	if query, possible = s.narrowed(ctx, f); !possible {
		return nil, since, nil
	}
	var rows []failureSum
	const by = "business_id, route, status, code"
	err = query.Select(by + ", count(*) AS calls").Group(by).Order("calls DESC, " + by).Limit(kinds + 1).Scan(&rows).Error
	return all(rows, (*failureSum).domain), since, s.listFailed(ctx, "count failures", err)
}

// cmpID returns an ID to compare with; for a time before 1970 the lowest.
func cmpID(id rowID) rowID {
	if id == "" {
		return rowID(strings.Repeat("0", 32))
	}
	return id
}

func (s requests) Get(ctx context.Context, business, id domain.ID) (domain.RequestRecord, error) {
	key, err := lookup(domain.PrefixRequest, id)
	if err != nil {
		return domain.RequestRecord{}, err
	}
	query := s.with(ctx).Where("id = ?", key)
	if business != "" {
		of, err := lookup(domain.PrefixBusiness, business)
		if err != nil {
			return domain.RequestRecord{}, err
		}
		query = query.Where("business_id = ?", of)
	}
	var row requestRow
	if err := query.Take(&row).Error; err != nil {
		return domain.RequestRecord{}, s.dialect.failed("read a request", err)
	}
	return row.domain(), nil
}

func (s requests) Usage(ctx context.Context, q domain.UsageQuery) ([]domain.Usage, error) {
	ctx, cancel := s.forList(ctx, domain.Tenant{BusinessID: q.BusinessID, ApplicationID: q.ApplicationID})
	defer cancel()
	business, err := lookup(domain.PrefixBusiness, q.BusinessID)
	if err != nil {
		return nil, nil //nolint:nilerr // no such business, so no usage
	}
	columns, by, err := s.sums(q)
	if err != nil {
		return nil, err
	}
	query := s.usageOf(ctx, business, q).Select(columns)
	for _, of := range []struct {
		column string
		prefix domain.Prefix
		id     domain.ID
	}{{"application_id", domain.PrefixApplication, q.ApplicationID}, {"key_id", domain.PrefixAPIKey, q.KeyID}} {
		if of.id == "" {
			continue
		}
		key, err := lookup(of.prefix, of.id)
		if err != nil {
			return nil, nil //nolint:nilerr // as above
		}
		query = query.Where(of.column+" = ?", key)
	}
	if q.Environment != "" {
		query = query.Where("environment = ?", string(q.Environment))
	}
	order := "calls DESC, last DESC"
	if q.Step != "" {
		order = "at, " + order
	}
	if len(by) > 0 {
		query = query.Group(strings.Join(by, ", "))
		order += ", " + strings.Join(by, ", ")
	}
	var rows []usageSum
	if err := query.Having("count(*) > 0").Order(order).Scan(&rows).Error; err != nil {
		return nil, s.listFailed(ctx, "sum up usage", err)
	}
	return all(rows, (*usageSum).domain), nil
}

// usageOf selects the usage of a query's time: the sums of whole hours where there are any, and the
// minutes before and after them.
func (s requests) usageOf(ctx context.Context, business rowID, q domain.UsageQuery) *gorm.DB {
	const columns = "environment, application_id, key_id, route, status, code, calls, replayed, took_us"
	const minutes = "SELECT minute, minute AS last, " + columns + " FROM " + usageMinutes +
		" WHERE business_id = ? AND minute >= ? AND minute < ?"
	const hours = "SELECT hour AS minute, last, " + columns + " FROM " + usageHours + " WHERE business_id = ? AND hour >= ? AND hour < ?"
	first, end := q.From.Add(time.Hour-time.Nanosecond).Truncate(time.Hour), q.Until.Truncate(time.Hour)
	if q.Step == domain.UsageByMinute || !first.Before(end) {
		return s.with(ctx).Table("("+minutes+") AS sums", business, boundary(q.From), boundary(q.Until))
	}
	return s.with(ctx).Table("("+hours+" UNION ALL "+minutes+" UNION ALL "+minutes+") AS sums",
		business, boundary(first), boundary(end), business, boundary(q.From), boundary(first), business, boundary(end), boundary(q.Until))
}

// sums returns the columns that a query selects, and those that it groups by.
func (s requests) sums(q domain.UsageQuery) (columns string, by []string, err error) {
	columns = "sum(calls) AS calls, sum(replayed) AS replayed, sum(took_us) AS took_us, max(last) AS last"
	if q.Step != "" {
		step, known := s.dialect.stepOf[q.Step]
		if !known {
			return "", nil, fmt.Errorf("there is no step %q of usage", q.Step)
		}
		columns += ", " + step + " AS at"
		by = append(by, step)
	}
	for column, wanted := range map[string]bool{"key_id": q.ByKey, "route": q.ByRoute, "status": q.ByResult, "code": q.ByResult} {
		if wanted {
			columns += ", " + column
			by = append(by, column)
		}
	}
	slices.Sort(by)
	return columns, by, nil
}
