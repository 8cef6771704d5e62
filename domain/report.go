package domain

import (
	"slices"
	"time"
)

// ReportKept is for how long the figures of reports are kept, from the day they are of.
const ReportKept = 400 * day

// ReportDay is the day that a figure counts for, in UTC.
func ReportDay(t time.Time) time.Time { return t.UTC().Truncate(day) }

// ReportMonth is the first day of the month that a figure counts for, in UTC.
func ReportMonth(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// Figures are what happened to deliveries. An event counts on the day of the event:
// a delivery that was booked on Monday and delivered on Tuesday counts once on each.
type Figures struct {
	Booked, Delivered, Cancelled int64
	// Failed is by reason, empty where none was given. A delivery that failed, was
	// assigned again and failed again counts twice.
	Failed map[ReasonCode]int64
	// ToAssign is from booking to the first rider, ToDeliver from booking to delivery.
	ToAssign, ToDeliver Durations
}

// Failures is how many failed, for any reason.
func (f *Figures) Failures() (n int64) {
	for _, of := range f.Failed {
		n += of
	}
	return n
}

// Add adds other figures to these.
func (f *Figures) Add(other *Figures) {
	f.Booked += other.Booked
	f.Delivered += other.Delivered
	f.Cancelled += other.Cancelled
	for reason, n := range other.Failed {
		f.fail(reason, n)
	}
	f.ToAssign.Merge(other.ToAssign)
	f.ToDeliver.Merge(other.ToDeliver)
}

func (f *Figures) fail(reason ReasonCode, n int64) {
	if f.Failed == nil {
		f.Failed = map[ReasonCode]int64{}
	}
	f.Failed[reason] += n
}

// ReportEvent is an event as reports count it.
type ReportEvent struct {
	Environment  Environment
	BusinessID   ID
	Vehicle      VehicleType
	Municipality string
	BookedAt     time.Time
	Previous     Status // empty on the first event
	Status       Status
	Reason       ReasonCode
	At           time.Time
}

// count adds the event to figures.
func (e *ReportEvent) count(f *Figures) {
	switch {
	case e.Previous == "":
		f.Booked++
	case e.Status == Assigned && e.Previous == Booked:
		f.ToAssign.Add(e.At.Sub(e.BookedAt))
	case e.Status == Delivered:
		f.Delivered++
		f.ToDeliver.Add(e.At.Sub(e.BookedAt))
	case e.Status == Failed:
		f.fail(e.Reason, 1)
	case e.Status == Cancelled:
		f.Cancelled++
	}
}

// ReportBy is a set of what figures are told apart by, beside environment and day.
type ReportBy uint8

// What figures are told apart by.
const (
	ReportByVehicle ReportBy = 1 << iota
	ReportByMunicipality
	ReportByCustomer
	// ReportByMonth tells apart months instead of days.
	ReportByMonth

	ReportByNothing ReportBy = 0
)

// reportsKept are the sets that figures are kept by, the shorter ones first. Each
// event is counted in all of them, so that a report reads no more rows than it has to.
var reportsKept = []ReportBy{
	ReportByNothing, ReportByVehicle, ReportByMunicipality, ReportByVehicle | ReportByMunicipality, ReportByCustomer,
	ReportByVehicle | ReportByMunicipality | ReportByCustomer, ReportByCustomer | ReportByMonth,
}

// ReportsKept are the sets that figures are kept by.
func ReportsKept() []ReportBy { return slices.Clone(reportsKept) }

// kept is the set of days with the fewest rows that tells apart all of these.
func (b ReportBy) kept() ReportBy {
	i := slices.IndexFunc(reportsKept, func(kept ReportBy) bool { return b&^kept == 0 })
	return reportsKept[i] // the last one of days has all
}

// ReportCell is what kept figures are of. What it is not told apart by is empty.
type ReportCell struct {
	Environment  Environment
	By           ReportBy
	Day          time.Time // with ReportByMonth the first of the month
	BusinessID   ID
	Vehicle      VehicleType
	Municipality string
}

// CountReport is what events add to the figures that are kept.
func CountReport(events []ReportEvent) map[ReportCell]*Figures {
	cells := map[ReportCell]*Figures{}
	for i := range events {
		e := &events[i]
		for _, by := range reportsKept {
			cell := ReportCell{Environment: e.Environment, By: by, Day: ReportDay(e.At)}
			if by&ReportByMonth != 0 {
				cell.Day = ReportMonth(e.At)
			}
			if by&ReportByCustomer != 0 {
				cell.BusinessID = e.BusinessID
			}
			if by&ReportByVehicle != 0 {
				cell.Vehicle = e.Vehicle
			}
			if by&ReportByMunicipality != 0 {
				cell.Municipality = e.Municipality
			}
			if cells[cell] == nil {
				cells[cell] = &Figures{}
			}
			e.count(cells[cell])
		}
	}
	return cells
}

// ReportQuery asks for the figures of the days from From until before Until, both
// days of UTC, of one environment. Empty fields do not narrow.
type ReportQuery struct {
	Environment  Environment
	From, Until  time.Time
	BusinessID   ID
	Vehicle      VehicleType
	Municipality string
	Each         ReportGroup
}

// ReportGroup is what each line of a report is about.
type ReportGroup string

// The groups there are.
const (
	ReportEachDay          ReportGroup = "day"
	ReportEachCustomer     ReportGroup = "customer"
	ReportEachVehicle      ReportGroup = "vehicle"
	ReportEachMunicipality ReportGroup = "municipality"
)

// ReportGroups is every group.
func ReportGroups() []ReportGroup {
	return []ReportGroup{ReportEachDay, ReportEachCustomer, ReportEachVehicle, ReportEachMunicipality}
}

// by is what the figures have to be told apart by that answer the query.
func (q *ReportQuery) by() (by ReportBy) {
	for set, needed := range map[ReportBy]bool{
		ReportByCustomer:     q.BusinessID != "" || q.Each == ReportEachCustomer,
		ReportByVehicle:      q.Vehicle != "" || q.Each == ReportEachVehicle,
		ReportByMunicipality: q.Municipality != "" || q.Each == ReportEachMunicipality,
	} {
		if needed {
			by |= set
		}
	}
	return by
}

// ReportPart is where figures are read that answer a part of a query: those kept by a
// set, of days, or with ReportByMonth of months, from From until before Until.
type ReportPart struct {
	By          ReportBy
	From, Until time.Time
}

// Parts are what answers the query. Whole months are read as such where they are kept
// and no line is about a day.
func (q *ReportQuery) Parts() []ReportPart {
	by := q.by().kept()
	first, last := ReportMonth(q.From), ReportMonth(q.Until)
	if first.Before(q.From) {
		first = first.AddDate(0, 1, 0)
	}
	if by != ReportByCustomer || q.Each == ReportEachDay || !first.Before(last) {
		return []ReportPart{{by, q.From, q.Until}}
	}
	parts := []ReportPart{{by, q.From, first}, {by | ReportByMonth, first, last}, {by, last, q.Until}}
	return slices.DeleteFunc(parts, func(p ReportPart) bool { return !p.From.Before(p.Until) })
}

// ReportLine is one line of a report: the field of its group tells what it is about.
type ReportLine struct {
	Day          time.Time
	BusinessID   ID
	Vehicle      VehicleType
	Municipality string
	Figures
}

// ReportProgress is how far figures are behind what happened. Both are zero where
// all is counted.
type ReportProgress struct {
	Since  time.Time // the first event that is not counted yet
	Before time.Time // history of this day and the days before is still being counted
}

// OpenDelivery is an open delivery as a map shows it: where it is from and where it
// goes, and nothing about people.
type OpenDelivery struct {
	ID              ID
	BusinessID      ID
	Reference       Reference
	Municipality    string // of the dropoff
	Status          Status
	Since           time.Time // of its status
	Pickup, Dropoff Coordinates
}
