package reports

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Reports are the use cases.
type Reports struct {
	storage   ports.Storage
	clock     ports.Clock
	customers recent[[]domain.Business]

	// reading has a place for the one report that is read at a time: all of them share two
	// connections with the lists of the staff, its board and the feed of a dispatch system.
	reading chan struct{}
	mu      sync.Mutex
	last    lastReport
}

// lastReport is the report that was read last, for a caller that reads the same again.
type lastReport struct {
	query  domain.ReportQuery
	at     time.Time // before it was read
	report Report
}

// New makes the use cases.
func NewReports(s ports.Storage, c ports.Clock) *Reports {
	return &Reports{storage: s, clock: c, reading: make(chan struct{}, 1)}
}

// Line is a line of a report, with the name of the customer that it is about.
type Line struct {
	domain.ReportLine
	Customer string // empty: the line is about none
}

// Report is what happened to deliveries.
type Report struct {
	Lines    []Line // days in their order, everything else with the most booked first
	Total    domain.Figures
	Progress domain.ReportProgress
}

// MaxDays is how many days a report may be about: those whose figures are kept.
const MaxDays = int(domain.ReportKept / (24 * time.Hour))

// Today is the day that is not over yet.
func (r *Reports) Today() time.Time { return domain.ReportDay(r.clock.Now()) }

// Report is a report of at most MaxDays days, as it was at most 5 seconds ago. Without a
// day's figures the report by day has a line of noughts for it. It is shared: do not
// change it.
func (r *Reports) Report(ctx context.Context, q domain.ReportQuery) (Report, error) {
	if days := q.Until.Sub(q.From) / (24 * time.Hour); days < 1 || int(days) > MaxDays {
		return Report{}, domain.Invalid(domain.FieldError{Field: "from", Code: domain.FieldOutOfRange,
			Message: "The first day must not be after the last one, and a report is about 400 days at most."})
	}
	q.From, q.Until = q.From.UTC(), q.Until.UTC() // equal moments are one question
	if report, known := r.known(q); known {
		return report, nil
	}
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return Report{}, &domain.Error{
			Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: time.Second, Err: ctx.Err(),
			Message: "Other reports are being read, one after another. Ask for this one again in a moment.",
		}
	}
	if report, known := r.known(q); known { // the caller before may have read it
		return report, nil
	}
	now := r.clock.Now()
	report, err := r.readReport(ctx, q)
	if err == nil {
		r.mu.Lock()
		r.last = lastReport{query: q, at: now, report: report}
		r.mu.Unlock()
	}
	return report, err
}

// known is the last report, where it is the one that is asked for and not old.
func (r *Reports) known(q domain.ReportQuery) (Report, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := r.clock.Now().Sub(r.last.at)
	return r.last.report, r.last.query == q && age >= 0 && age < recentAge
}

func (r *Reports) readReport(ctx context.Context, q domain.ReportQuery) (report Report, err error) {
	read := r.storage.Read()
	found, err := read.Reports.Lines(ctx, q)
	if errors.Is(err, ports.ErrTookTooLong) {
		err = &domain.Error{
			Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: time.Second, Err: err,
			Message: "The report reads too much. Choose fewer days or one customer.",
		}
	}
	if err != nil {
		return report, err
	}
	if report.Progress, err = read.Reports.Progress(ctx); err != nil {
		return report, err
	}
	for _, l := range found {
		report.Lines = append(report.Lines, Line{ReportLine: l})
		report.Total.Add(&l.Figures)
	}
	if q.Each == domain.ReportEachDay {
		report.Lines = everyDay(q, report.Lines)
	}
	if q.Each == domain.ReportEachCustomer {
		customers, err := r.Customers(ctx)
		if err != nil {
			return report, err
		}
		names := map[domain.ID]string{}
		for _, b := range customers {
			names[b.ID] = b.Name
		}
		for i := range report.Lines {
			id := report.Lines[i].BusinessID
			report.Lines[i].Customer = cmp.Or(names[id], string(id))
		}
	}
	sort.Slice(report.Lines, func(i, j int) bool {
		a, b := &report.Lines[i], &report.Lines[j]
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(b.Booked, a.Booked), cmp.Compare(b.Delivered, a.Delivered),
			strings.Compare(a.Customer, b.Customer), strings.Compare(string(a.Vehicle), string(b.Vehicle)),
			strings.Compare(a.Municipality, b.Municipality)) < 0
	})
	return report, nil
}

// everyDay adds the days on which nothing happened.
func everyDay(q domain.ReportQuery, lines []Line) []Line {
	for day := q.From; day.Before(q.Until); day = day.AddDate(0, 0, 1) {
		if !slices.ContainsFunc(lines, func(l Line) bool { return l.Day.Equal(day) }) {
			lines = append(lines, Line{ReportLine: domain.ReportLine{Day: day}})
		}
	}
	return lines
}

// mostCustomers is how many customers are known by their names.
const mostCustomers = 5000

// Customers are the businesses by name, up to 5,000 of them, as they were at most 5 seconds
// ago. The list is shared: do not change it.
func (r *Reports) Customers(ctx context.Context) ([]domain.Business, error) {
	return r.customers.get(ctx, r.clock, func(ctx context.Context, _ time.Time) ([]domain.Business, error) { return r.readCustomers(ctx) })
}

func (r *Reports) readCustomers(ctx context.Context) ([]domain.Business, error) {
	var all []domain.Business
	p := domain.PageRequest{Limit: 500}
	for len(all) < mostCustomers {
		page, err := r.storage.Read().Platform.Businesses(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, page[:min(len(page), p.Limit)]...)
		if len(page) <= p.Limit {
			break
		}
		last := all[len(all)-1]
		p.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(strings.Compare(all[i].Name, all[j].Name), cmp.Compare(all[i].ID, all[j].ID)) < 0
	})
	return all, nil
}
