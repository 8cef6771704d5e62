package gormstore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"waybill/domain"
)

type reportRow struct {
	Environment  string
	ByWhat       int
	Day          instant
	BusinessID   rowID
	Vehicle      string
	Municipality string
	Booked       int64
	Delivered    int64
	Cancelled    int64
	Failed       string
	ToAssign     []byte
	ToDeliver    []byte
}

func (reportRow) TableName() string { return "report_figures" }

// reportCellColumns lists the columns of the primary key, reportSumColumns the others.
var (
	reportCellColumns = []string{"environment", "by_what", "day", "business_id", "vehicle", "municipality"}
	reportSumColumns  = []string{"booked", "delivered", "cancelled", "failed", "to_assign", "to_deliver"}
)

func newReportRow(c domain.ReportCell, f *domain.Figures) (reportRow, error) {
	failed, err := json.Marshal(f.Failed)
	if f.Failed == nil {
		failed = []byte("{}")
	}
	business := noRow
	if c.BusinessID != "" {
		business = rowIDOf(c.BusinessID)
	}
	return reportRow{
		Environment: string(c.Environment), ByWhat: int(c.By), Day: instantOf(c.Day), BusinessID: business, Vehicle: string(c.Vehicle),
		Municipality: c.Municipality, Booked: f.Booked, Delivered: f.Delivered, Cancelled: f.Cancelled, Failed: string(failed),
		ToAssign: durationBytes(f.ToAssign), ToDeliver: durationBytes(f.ToDeliver),
	}, err
}

func (r *reportRow) cell() domain.ReportCell {
	c := domain.ReportCell{
		Environment: domain.Environment(r.Environment), By: domain.ReportBy(r.ByWhat), Day: r.Day.time, //nolint:gosec // a set of three
		Vehicle: domain.VehicleType(r.Vehicle), Municipality: r.Municipality,
	}
	if r.BusinessID != noRow {
		c.BusinessID = r.BusinessID.as(domain.PrefixBusiness)
	}
	return c
}

// addTo adds the figures of the row to others.
func (r *reportRow) addTo(f *domain.Figures) error {
	own := domain.Figures{Booked: r.Booked, Delivered: r.Delivered, Cancelled: r.Cancelled}
	if r.Failed != "{}" {
		if err := json.Unmarshal([]byte(r.Failed), &own.Failed); err != nil {
			return fmt.Errorf("the failures %q of a report: %w", r.Failed, err)
		}
	}
	f.Add(&own)
	return errors.Join(addDurations(&f.ToAssign, r.ToAssign), addDurations(&f.ToDeliver, r.ToDeliver))
}

func durationBytes(h domain.Durations) []byte {
	b := []byte{}
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		b = binary.AppendUvarint(b, uint64(bucket))    //nolint:gosec // never negative
		b = binary.AppendUvarint(b, uint64(h[bucket])) //nolint:gosec // never negative
	}
	return b
}

func addDurations(h *domain.Durations, b []byte) error {
	for len(b) > 0 {
		bucket, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("a histogram of a report ends within a bucket: %x", b)
		}
		count, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return fmt.Errorf("a histogram of a report ends within a count: %x", b)
		}
		h.AddTo(int(bucket), int64(count)) //nolint:gosec // as they were stored
		b = b[n+m:]
	}
	return nil
}
