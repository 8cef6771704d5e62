package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"waybill/domain"
)

// The streams from which figures of reports are counted. report_progress has a row for each. All
// rows are locked together, so that two processes never add to the same figures.
const (
	streamLive    = string(domain.Live)
	streamSandbox = string(domain.Sandbox)
	streamPast    = "past"
	// streamMonths is no stream. It stops processes that do not count months from counting.
	streamMonths = "months"
)

// reportBatch limits the rows of figures that one statement reads or writes.
const reportBatch = 100

var errReportsCounted = errors.New("another process counts")

type reportProgressRow struct {
	Stream   string `gorm:"primaryKey"`
	Position int64
	Sequence int
	EventID  rowID
	Done     bool
}

func (reportProgressRow) TableName() string { return "report_progress" }

// reportEventRow is an event with the fields of its delivery that reports distinguish.
type reportEventRow struct {
	ID           rowID
	Position     int64
	Sequence     int
	Environment  string
	BusinessID   rowID
	Vehicle      string
	Municipality string
	BookedAt     instant
	Previous     string
	Status       string
	Reason       string
	At           instant
}

const reportEventColumns = `d.environment, d.business_id, d.vehicle_type AS vehicle, d.dropoff_municipality AS municipality,
	d.created_at AS booked_at, e.previous_status AS previous, e.status, e.reason_code AS reason, e.occurred_at AS at`

// CountReports counts the next events for reports. It implements ports.ReportCounting.
func (s *Store) CountReports(ctx context.Context, limit int) (looked int, more bool, err error) {
	err = s.transact(ctx, func(sn session) error {
		looked, more = 0, false
		if s.dialect.unhurried != "" {
			if err := sn.with(ctx).Exec(s.dialect.unhurried).Error; err != nil {
				return s.dialect.failed("begin to count for reports", err)
			}
		}
		c := reportCount{session: sn, limit: limit}
		streams, err := c.lock(ctx)
		if err != nil {
			return err
		}
		for _, next := range []func(context.Context, reportProgressRow) (int, error){c.feed, c.feed, c.past} {
			if looked, err = next(ctx, streams[0]); err != nil || looked > 0 {
				break
			}
			streams = streams[1:]
		}
		more = looked > 0
		return err
	})
	if errors.Is(err, errReportsCounted) {
		return 0, false, nil
	}
	return looked, more, err
}

// reportCount counts the next events in one transaction.
type reportCount struct {
	session
	limit int
}

// lock locks the progress of the three streams and returns it: live, sandbox, past. Whatever is
// committed before the first call is the past.
func (s reportCount) lock(ctx context.Context) ([]reportProgressRow, error) {
	for range 2 {
		var rows []reportProgressRow
		err := s.with(ctx).Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).
			Where("stream <> ?", streamMonths).Order("stream").Find(&rows).Error
		if err != nil {
			return nil, s.dialect.failed("read how far reports are counted", err)
		}
		if len(rows) == 3 {
			return []reportProgressRow{rows[0], rows[2], rows[1]}, nil // by name: live, past, sandbox
		}
		start, err := s.start(ctx)
		if err != nil {
			return nil, err
		}
		last := rowID(strings.Repeat("f", len(noRow)))
		begun := s.with(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create([]reportProgressRow{
			{Stream: streamLive, Position: start, Sequence: 1<<31 - 1, EventID: last},
			{Stream: streamSandbox, Position: start, Sequence: 1<<31 - 1, EventID: last},
			{Stream: streamPast, Position: start, EventID: last},
		})
		if begun.Error != nil {
			return nil, s.dialect.failed("begin to count reports", begun.Error)
		}
		if begun.RowsAffected == 0 {
			break
		}
	}
	return nil, errReportsCounted
}

// start returns the last position before which all events are visible.
func (s reportCount) start(ctx context.Context) (start int64, err error) {
	bound, err := s.bound(ctx)
	if err != nil {
		return 0, err
	}
	const last = "SELECT max(position) AS position FROM feed_events WHERE environment = ? AND delivery_id IS NOT NULL AND position <= ?"
	err = s.with(ctx).Raw("SELECT COALESCE(max(position), 0) FROM ("+last+" UNION ALL "+last+") AS ends",
		streamLive, bound, streamSandbox, bound).Scan(&start).Error
	return start, s.dialect.failed("look where reports begin to be counted", err)
}

// bound returns the position up to which the feed has all events that it will ever have. It must be
// known before events are read.
func (s session) bound(ctx context.Context) (bound int64, err error) {
	err = s.with(ctx).Raw("SELECT " + s.dialect.feedBound).Scan(&bound).Error
	return bound, s.dialect.failed("look how far the feed is complete", err)
}

// reportFeed selects the next events of an environment in the feed.
const reportFeed = `SELECT w.id, w.position, w.sequence, ` + reportEventColumns + `
	FROM (SELECT id, business_id, position, sequence FROM feed_events
		WHERE environment = ? AND delivery_id IS NOT NULL AND (position, sequence, id) > (?, ?, ?) AND position <= ?
		ORDER BY position, sequence, id LIMIT ?) AS w
	JOIN delivery_events e ON e.id = w.id AND e.business_id = w.business_id
	JOIN deliveries d ON d.id = e.delivery_id AND d.business_id = e.business_id
	ORDER BY w.position, w.sequence, w.id`

// feed counts events of one environment in the order of their commits.
func (s reportCount) feed(ctx context.Context, at reportProgressRow) (int, error) {
	bound, err := s.bound(ctx)
	if err != nil {
		return 0, err
	}
	var rows []reportEventRow
	if err := s.with(ctx).Raw(reportFeed, at.Stream, at.Position, at.Sequence, at.EventID, bound, s.limit).Scan(&rows).Error; err != nil {
		return 0, s.dialect.failed("read what reports have not counted", err)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	last := &rows[len(rows)-1]
	at.Position, at.Sequence, at.EventID = last.Position, last.Sequence, last.ID
	return len(rows), s.count(ctx, rows, at)
}

// reportPast selects events before the feed was counted: those whose place in it is before that,
// and those that it no longer has.
const reportPast = `SELECT e.id, CASE WHEN f.id IS NULL THEN 0 ELSE 1 END AS position, ` + reportEventColumns + `
	FROM (SELECT * FROM delivery_events WHERE id < ? AND id >= ? ORDER BY id DESC LIMIT ?) AS e
	JOIN deliveries d ON d.id = e.delivery_id AND d.business_id = e.business_id
	LEFT JOIN feed_events f ON f.id = e.id AND f.business_id = e.business_id AND f.position > ?
	ORDER BY e.id DESC`

// past counts history, the newest events first.
func (s reportCount) past(ctx context.Context, at reportProgressRow) (int, error) {
	if at.Done {
		return 0, nil
	}
	var now instant
	if err := s.with(ctx).Raw("SELECT " + s.dialect.now).Row().Scan(&now); err != nil {
		return 0, s.dialect.failed("read the time of the database", err)
	}
	oldest := firstIDAt(domain.ReportDay(now.time.Add(-domain.ReportKept)))
	var rows []reportEventRow
	query, values := reportPast, []any{at.EventID, oldest, s.limit, at.Position}
	if s.dialect.sharded {
		query, values = reportPastOnCitus, []any{at.Position, at.EventID, oldest, s.limit}
	}
	if err := s.with(ctx).Raw(query, values...).Scan(&rows).Error; err != nil {
		return 0, s.dialect.failed("read history for reports", err)
	}
	var counted []reportEventRow
	for i := range rows {
		if at.EventID = rows[i].ID; rows[i].Position == 0 {
			counted = append(counted, rows[i])
		}
	}
	at.Done = len(rows) < s.limit
	return len(rows), s.count(ctx, counted, at)
}

// count adds events to the figures and stores how far the stream is counted.
func (s reportCount) count(ctx context.Context, rows []reportEventRow, at reportProgressRow) error {
	if err := s.add(ctx, domain.CountReport(all(rows, (*reportEventRow).domain))); err != nil {
		return err
	}
	return s.dialect.changed("keep how far reports are counted", s.with(ctx).Select("*").Where("stream = ?", at.Stream).Updates(&at))
}

func (r *reportEventRow) domain() domain.ReportEvent {
	return domain.ReportEvent{
		Environment: domain.Environment(r.Environment), BusinessID: r.BusinessID.as(domain.PrefixBusiness),
		Vehicle: domain.VehicleType(r.Vehicle), Municipality: r.Municipality, BookedAt: r.BookedAt.time,
		Previous: domain.Status(r.Previous), Status: domain.Status(r.Status), Reason: domain.ReasonCode(r.Reason), At: r.At.time,
	}
}

// add adds to the stored figures. The lock of the progress keeps others from changing them.
func (s reportCount) add(ctx context.Context, cells map[domain.ReportCell]*domain.Figures) error {
	var rows []reportRow
	for cell, f := range cells {
		row, err := newReportRow(cell, f)
		if err != nil {
			return fmt.Errorf("store figures of a report: %w", err)
		}
		rows = append(rows, row)
	}
	for first := 0; first < len(rows); first += reportBatch {
		part := rows[first:min(len(rows), first+reportBatch)]
		var conditions []string
		var values []any
		for i := range part {
			r := &part[i]
			conditions = append(conditions, "("+strings.Join(reportCellColumns, " = ? AND ")+" = ?)")
			values = append(values, r.Environment, r.ByWhat, r.Day, r.BusinessID, r.Vehicle, r.Municipality)
		}
		var kept []reportRow
		if err := s.with(ctx).Where(strings.Join(conditions, " OR "), values...).Find(&kept).Error; err != nil {
			return s.dialect.failed("read figures of reports", err)
		}
		for i := range kept {
			if err := kept[i].addTo(cells[kept[i].cell()]); err != nil {
				return err
			}
		}
		for i := range part {
			cell := part[i].cell()
			row, err := newReportRow(cell, cells[cell])
			if err != nil {
				return fmt.Errorf("store figures of a report: %w", err)
			}
			part[i] = row
		}
		key := make([]clause.Column, len(reportCellColumns))
		for i, name := range reportCellColumns {
			key[i].Name = name
		}
		whole := clause.OnConflict{Columns: key, DoUpdates: clause.AssignmentColumns(reportSumColumns)}
		if err := s.with(ctx).Clauses(whole).Create(&part).Error; err != nil {
			return s.dialect.failed("store figures of reports", err)
		}
	}
	return nil
}

// purgeReports deletes figures of days that are no longer kept, and figures of a month with its
// last day.
func (s *Store) purgeReports(ctx context.Context, limit int) (int, error) {
	var oldest *instant
	first, _ := eachReport("SELECT min(day) AS day FROM report_figures WHERE environment = '%s' AND by_what = %d AND by_what < "+
		strconv.Itoa(int(domain.ReportByMonth)), time.Time{})
	if err := s.write.WithContext(ctx).Raw("SELECT min(day) FROM (" + first + ") AS first").Row().Scan(&oldest); err != nil {
		return 0, s.dialect.failed("look for old figures of reports", err)
	}
	if oldest == nil {
		return 0, nil
	}
	before, err := s.requestsOlder(ctx, "report_figures", domain.ReportKept, oldest.time)
	if err != nil || !oldest.time.Before(domain.ReportDay(before)) {
		return 0, err
	}
	cell := strings.Join(reportCellColumns, ", ")
	old, values := eachReport("SELECT "+cell+" FROM report_figures WHERE environment = '%s' AND by_what = %d AND day < ?", before)
	result := s.write.WithContext(ctx).Exec("DELETE FROM report_figures WHERE ("+cell+") IN ("+old+" LIMIT ?)", append(values, limit)...)
	return int(result.RowsAffected), s.dialect.failed("delete old figures of reports", result.Error)
}

// eachReport queries each environment and set separately: days are in order only within these. Its
// values are the days before which figures are old.
func eachReport(query string, before time.Time) (union string, values []any) {
	var parts []string
	sets := domain.ReportsKept()
	slices.Reverse(sets) // months first: an old day that is left brings the next call here
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		for _, by := range sets {
			day := domain.ReportDay(before)
			if by&domain.ReportByMonth != 0 {
				day = domain.ReportMonth(before)
			}
			parts, values = append(parts, fmt.Sprintf(query, e, by)), append(values, instantOf(day))
		}
	}
	return strings.Join(parts, " UNION ALL "), values
}
