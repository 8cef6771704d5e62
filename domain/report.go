package domain

import (
	"slices"
	"time"
)

// ReportKept is how long the figures of reports are kept after their day.
const ReportKept = 400 * day

// ReportDay returns the day that a figure counts for, in UTC.
func ReportDay(t time.Time) time.Time { return t.UTC().Truncate(day) }

// ReportMonth returns the first day of the month that a figure counts for, in UTC.
func ReportMonth(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// Figures count what happened to deliveries. An event counts on its own day: a delivery that was
// booked on Monday and delivered on Tuesday counts once on each.
type Figures struct {
	Booked, Delivered, Cancelled int64
	// Failed counts by reason, which is empty where none was given. A delivery that failed, was
	// assigned again and failed again counts twice.
	Failed map[ReasonCode]int64
	// ToAssign is from booking to the first rider, ToDeliver from booking to delivery.
	ToAssign, ToDeliver Durations
}

// Failures returns how many failed, for any reason.
func (f *Figures) Failures() (n int64) {
	for _, of := range f.Failed {
		n += of
	}
	return n
}

// Add adds other figures.
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

// ReportBy is a set of dimensions that group figures, besides environment and day.
type ReportBy uint8

// The dimensions.
const (
	ReportByVehicle ReportBy = 1 << iota
	ReportByMunicipality
	ReportByCustomer
	// ReportByMonth groups by months instead of days.
	ReportByMonth

	ReportByNothing ReportBy = 0
)

// reportsKept lists the sets that figures are stored by, the shorter ones first. Each event is
// counted in all of them, so that a report reads no more rows than it must.
var reportsKept = []ReportBy{
	ReportByNothing, ReportByVehicle, ReportByMunicipality, ReportByVehicle | ReportByMunicipality, ReportByCustomer,
	ReportByVehicle | ReportByMunicipality | ReportByCustomer, ReportByCustomer | ReportByMonth,
}

// ReportsKept lists the sets that figures are stored by.
func ReportsKept() []ReportBy { return slices.Clone(reportsKept) }

// kept returns the stored set of days with the fewest rows that has all of these dimensions.
func (b ReportBy) kept() ReportBy {
	i := slices.IndexFunc(reportsKept, func(kept ReportBy) bool { return b&^kept == 0 })
	return reportsKept[i] // the last set of days has all dimensions
}

// ReportCell is the group of stored figures. A dimension that does not group them is empty.
type ReportCell struct {
	Environment  Environment
	By           ReportBy
	Day          time.Time // with ReportByMonth the first of the month
	BusinessID   ID
	Vehicle      VehicleType
	Municipality string
}

// CountReport returns what events add to the stored figures.
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

// ReportQuery asks for the figures of one environment for the days from From until before Until, in
// UTC. Empty fields do not narrow.
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

// The groups.
const (
	ReportEachDay          ReportGroup = "day"
	ReportEachCustomer     ReportGroup = "customer"
	ReportEachVehicle      ReportGroup = "vehicle"
	ReportEachMunicipality ReportGroup = "municipality"
)

// ReportGroups lists every group.
func ReportGroups() []ReportGroup {
	return []ReportGroup{ReportEachDay, ReportEachCustomer, ReportEachVehicle, ReportEachMunicipality}
}

// by returns the dimensions that the query needs.
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

// ReportPart is a part of a query. Its figures are stored by a set, of days, or with ReportByMonth
// of months, from From until before Until.
type ReportPart struct {
	By          ReportBy
	From, Until time.Time
}

// Parts returns the parts that answer the query. Whole months are read as such where they are
// stored and no line is about a day.
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

// ReportLine is one line of a report. The field of its group says what it is about.
type ReportLine struct {
	Day          time.Time
	BusinessID   ID
	Vehicle      VehicleType
	Municipality string
	Figures
}

// ReportProgress says how far figures are behind the events. Both fields are zero where all are
// counted.
type ReportProgress struct {
	Since  time.Time // the first event that is not counted yet
	Before time.Time // history of this day and earlier is still being counted
}

// OpenDelivery is an open delivery as a map shows it: its start and its destination, and nothing
// about people.
type OpenDelivery struct {
	ID              ID
	BusinessID      ID
	Reference       Reference
	Municipality    string // of the dropoff
	Status          Status
	Since           time.Time // start of its status
	Pickup, Dropoff Coordinates
}
