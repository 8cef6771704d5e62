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

// Reports implements the use cases of reports.
type Reports struct {
	storage   ports.Storage
	clock     ports.Clock
	customers recent[[]domain.Business]

	// reading has a place for one report at a time. All of them share two connections with the
	// lists of the staff, its board and the feed of a dispatch system.
	reading chan struct{}
	mu      sync.Mutex
	last    lastReport
}

// lastReport caches the last report, for a caller that requests the same again.
type lastReport struct {
	query  domain.ReportQuery
	at     time.Time // start of its query
	report Report
}

// NewReports returns the use cases.
func NewReports(s ports.Storage, c ports.Clock) *Reports {
	return &Reports{storage: s, clock: c, reading: make(chan struct{}, 1)}
}

// Line is a line of a report, with the name of its customer.
type Line struct {
	domain.ReportLine
	Customer string // empty: the line is about no customer
}

// Report holds what happened to deliveries.
type Report struct {
	Lines    []Line // days in their order, other groups with the most booked first
	Total    domain.Figures
	Progress domain.ReportProgress
}

// MaxDays limits the days of a report to those whose figures are kept.
const MaxDays = int(domain.ReportKept / (24 * time.Hour))

// Today returns the day that is not over yet.
func (r *Reports) Today() time.Time { return domain.ReportDay(r.clock.Now()) }

// Report returns a report of at most MaxDays days, no older than 5 seconds. A report by day has a
// line of zeros for a day without figures. It is shared: do not change it.
func (r *Reports) Report(ctx context.Context, q domain.ReportQuery) (Report, error) {
	if days := q.Until.Sub(q.From) / (24 * time.Hour); days < 1 || int(days) > MaxDays {
		return Report{}, domain.Invalid(domain.FieldError{Field: "from", Code: domain.FieldOutOfRange,
			Message: "The first day must not be after the last one, and a report is about 400 days at most."})
	}
	q.From, q.Until = q.From.UTC(), q.Until.UTC() // equal times are one query
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
	if report, known := r.known(q); known { // the previous caller may have read it
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

// known returns the last report, where it is the requested one and not old.
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

// mostCustomers limits how many customers are shown by name.
const mostCustomers = 5000

// Customers lists up to 5,000 businesses by name, no older than 5 seconds. The list is shared: do
// not change it.
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
