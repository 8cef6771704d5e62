package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/reports"
	"waybill/domain"
)

const (
	defaultReportDays = 30
	// mostLines limits the lines on the page of a report that is not by day. The file has all
	// lines.
	mostLines = 100
	// customersOffered limits the customers to choose by name. With more customers, people enter
	// the ID.
	customersOffered = 200
	mostParameter    = 64
)

// narrowing holds the filters that reports and the map share.
type narrowing struct {
	values                url.Values // from the address, for links
	Environment, Customer pages.Field
	ByID                  bool // people enter the customer's ID
	names                 map[domain.ID]string
}

// narrow reads the filters from the address.
func (p *Console) narrow(c *call) (n narrowing, err error) {
	customers, err := p.Reports.Customers(c.Ctx())
	if err != nil {
		return n, err
	}
	n = narrowing{values: url.Values{}, names: map[domain.ID]string{}}
	n.Environment = n.choice(c, "environment", "Environment",
		[]pages.Option{{Value: "live", Text: "Live"}, {Value: "sandbox", Text: "Sandbox"}})
	offered := []pages.Option{{Text: "All customers"}}
	for _, b := range customers {
		n.names[b.ID] = b.Name
		offered = append(offered, pages.Option{Value: string(b.ID), Text: b.Name})
	}
	if n.ByID = len(customers) > customersOffered; n.ByID {
		n.Customer = n.text(c, "customer", "Customer", "ID (biz_...)")
	} else {
		n.Customer = n.choice(c, "customer", "Customer", offered)
	}
	return n, nil
}

// parameter returns a parameter of the address, and keeps it for links.
func (n *narrowing) parameter(c *call, name string) string {
	value := strings.TrimSpace(c.Query(name))
	if len(value) > mostParameter {
		return ""
	}
	if value != "" {
		n.values.Set(name, value)
	}
	return value
}

func (n *narrowing) text(c *call, name, label, hint string) pages.Field {
	return pages.Field{ID: name, Name: name, Label: label, Hint: hint, Value: n.parameter(c, name), MaxLength: mostParameter}
}

// choice returns a field whose first option is the default. It adds an unknown value as an option:
// a link to it finds nothing and says so.
func (n *narrowing) choice(c *call, name, label string, options []pages.Option) pages.Field {
	f := pages.Field{ID: name, Name: name, Label: label, Value: n.parameter(c, name), Options: options}
	if f.Value == "" {
		f.Value = options[0].Value
	}
	if !slices.ContainsFunc(options, func(o pages.Option) bool { return o.Value == f.Value }) {
		f.Options = append(f.Options, pages.Option{Value: f.Value, Text: f.Value})
	}
	for i := range f.Options {
		f.Options[i].Chosen = f.Options[i].Value == f.Value
	}
	return f
}

// address returns a path with the filters. The pairs of names and values in changed replace them.
func (n *narrowing) address(c *call, path string, changed ...string) string {
	values := maps.Clone(n.values)
	for pair := range slices.Chunk(changed, 2) {
		if pair[1] == "" {
			values.Del(pair[0])
		} else {
			values.Set(pair[0], pair[1])
		}
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return c.At(path)
}

// reportAsk holds the query of a report.
type reportAsk struct {
	narrowing
	query                              domain.ReportQuery
	From, To, Each, Vehicle, Municipal pages.Field
}

type reportView struct {
	reportAsk
	Filters       *pages.Filters
	CSV           string
	Quick         []pages.Link
	Days          int64
	Total         reportLineView
	Charts        []pages.Chart
	About         string // the heading of the first column
	Lines         []reportLineView
	More          int
	Reasons       []reasonView
	Since, Before time.Time // as in domain.ReportProgress
	Kept          int
	Error         float64
}

type reasonView struct {
	Text, Share string
	Count       int64
}

// reportLineView is a line of the table.
type reportLineView struct {
	ID, Name, Href                       string
	Booked, Delivered, Failed, Cancelled int64
	Width                                string // of its bar, in percent of the longest one
	AssignHalf, AssignMost               string
	DeliverHalf, DeliverMost             string
}

func (p *Console) askReport(c *call) (a reportAsk, err error) {
	if a.narrowing, err = p.narrow(c); err != nil {
		return a, err
	}
	until := p.Reports.Today()
	from := until.AddDate(0, 0, 1-defaultReportDays)
	day := func(name, label string, otherwise time.Time) (pages.Field, time.Time) {
		f := a.text(c, name, label, "")
		f.Type = "date"
		at, err := time.Parse(time.DateOnly, f.Value)
		if err != nil {
			at = otherwise
			if f.Value != "" {
				f.Error = "Enter a day like " + otherwise.Format(time.DateOnly) + "."
			}
		}
		f.Value = at.Format(time.DateOnly)
		return f, at
	}
	a.From, from = day("from", "First day", from)
	a.To, until = day("to", "Last day", until)
	each := []pages.Option{}
	for _, g := range domain.ReportGroups() {
		each = append(each, pages.Option{Value: string(g), Text: capital(string(g))})
	}
	a.Each = a.choice(c, "each", "A line for each", each)
	vehicles := []pages.Option{{Text: "All vehicles"}}
	for _, v := range domain.VehicleTypes() {
		vehicles = append(vehicles, pages.Option{Value: string(v), Text: capital(string(v))})
	}
	a.Vehicle = a.choice(c, "vehicle", "Vehicle", vehicles)
	a.Municipal = a.text(c, "municipality", "Municipality", "As in the addresses")
	a.query = domain.ReportQuery{
		Environment: domain.Environment(a.Environment.Value), From: from, Until: until.AddDate(0, 0, 1), BusinessID: domain.ID(a.Customer.Value),
		Vehicle: domain.VehicleType(a.Vehicle.Value), Municipality: a.Municipal.Value, Each: domain.ReportGroup(a.Each.Value),
	}
	if !slices.Contains(domain.ReportGroups(), a.query.Each) {
		a.query.Each = domain.ReportEachDay
	}
	return a, nil
}

// report reads the query and the report. It notes invalid values at their fields.
func (p *Console) report(c *call) (a reportAsk, r reports.Report, err error) {
	if a, err = p.askReport(c); err != nil || a.From.Error != "" || a.To.Error != "" {
		return a, r, err
	}
	if r, err = p.Reports.Report(c.Ctx(), a.query); c.Wrong(err) {
		a.From.Error, err = c.Fault(a.From.ID, "from", a.From.Label), nil
	}
	return a, r, err
}

func (p *Console) showReport(c *call) error {
	a, r, err := p.report(c)
	if err != nil {
		return err
	}
	days := int64(a.query.Until.Sub(a.query.From) / (24 * time.Hour))
	v := reportView{
		reportAsk: a, Filters: pages.NewFilters(c.At("/reports"), a.values, nil,
			[]pages.Field{a.From, a.To, a.Environment, a.Customer, a.Vehicle, a.Municipal, a.Each}), CSV: a.address(c, "/reports.csv"), Days: days, Since: r.Progress.Since,
		Before: r.Progress.Before, Kept: reports.MaxDays, Error: 100 * domain.DurationsError,
		Total: lineOf(domain.ReportLine{Figures: r.Total}, 0), About: capital(string(a.query.Each)),
	}
	if !v.Since.IsZero() && p.options.Clock.Now().Sub(v.Since) < reportSlack {
		v.Since = time.Time{}
	}
	today := p.Reports.Today()
	for _, n := range []int{1, 7, 30, 90, reports.MaxDays} {
		text := "Today"
		if n > 1 {
			text = fmt.Sprintf("%d days", n)
		}
		v.Quick = append(v.Quick, pages.Link{Text: text,
			Href: a.address(c, "/reports", "from", today.AddDate(0, 0, 1-n).Format(time.DateOnly), "to", today.Format(time.DateOnly))})
	}
	most := int64(0)
	for _, l := range r.Lines {
		most = max(most, l.Booked)
	}
	for _, l := range r.Lines {
		line := lineOf(l.ReportLine, most)
		line.ID, line.Name, line.Href = a.about(c, &l)
		v.Lines = append(v.Lines, line)
	}
	if a.query.Each == domain.ReportEachDay {
		v.Charts = charts(v.Lines, r.Lines)
		slices.Reverse(v.Lines) // newest day first
	} else if v.More = len(v.Lines) - mostLines; v.More > 0 {
		v.Lines = v.Lines[:mostLines]
	}
	for _, reason := range append(domain.ReasonCodes(), "") {
		if n := r.Total.Failed[reason]; n > 0 {
			v.Reasons = append(v.Reasons, reasonView{Text: reasonText(reason), Count: n, Share: percent(n, r.Total.Failures())})
		}
	}
	sort.SliceStable(v.Reasons, func(i, j int) bool { return v.Reasons[i].Count > v.Reasons[j].Count })
	return p.Show(c, http.StatusOK, "reports", "Reports", v)
}

// reportSlack sets how old the figures may be without a notice.
const reportSlack = time.Minute

// about returns what a line is about and a link to a more detailed report: for a day by customer,
// and for everything else by day.
func (a *reportAsk) about(c *call, l *reports.Line) (id, name, href string) {
	switch a.query.Each {
	case domain.ReportEachCustomer:
		id = string(l.BusinessID)
		return id, l.Customer, a.address(c, "/reports", "customer", id, "each", "")
	case domain.ReportEachVehicle:
		id = string(l.Vehicle)
		return id, capital(id), a.address(c, "/reports", "vehicle", id, "each", "")
	case domain.ReportEachMunicipality:
		if l.Municipality == "" {
			return "", "None in the address", ""
		}
		return l.Municipality, l.Municipality, a.address(c, "/reports", "municipality", l.Municipality, "each", "")
	}
	day := l.Day.Format(time.DateOnly)
	return day, l.Day.Format("Mon 2 Jan 2006"), a.address(c, "/reports", "from", day, "to", day, "each", string(domain.ReportEachCustomer))
}

func charts(views []reportLineView, lines []reports.Line) []pages.Chart {
	bars := make([][]pages.Bar, 3)
	for i, l := range lines {
		bar := pages.Bar{Label: l.Day.Format("2 Jan"), Href: views[i].Href}
		bar.Value = l.Booked
		bars[0] = append(bars[0], bar)
		bar.Value, bar.Bad = l.Delivered+l.Failures(), l.Failures()
		bars[1] = append(bars[1], bar)
		half, _ := l.ToDeliver.Quantile(.5)
		bar.Value, bar.Bad = int64(half.Round(time.Minute)/time.Minute), 0
		bars[2] = append(bars[2], bar)
	}
	const by = "Day of UTC"
	booked := pages.NewChart("Booked", by, "Booked", bars[0])
	ended := pages.NewChart("Delivered and failed", by, "Delivered or failed", bars[1])
	ended.BadUnit = "failed"
	return []pages.Chart{booked, ended, pages.NewChart("Half delivered within (minutes)", by, "Minutes", bars[2])}
}

func lineOf(l domain.ReportLine, most int64) reportLineView {
	v := reportLineView{Booked: l.Booked, Delivered: l.Delivered, Failed: l.Failures(), Cancelled: l.Cancelled}
	v.Width = strconv.FormatInt(100*l.Booked/max(1, most), 10)
	v.AssignHalf, v.AssignMost = within(l.ToAssign)
	v.DeliverHalf, v.DeliverMost = within(l.ToDeliver)
	return v
}

// within returns the time in which half and 95 % are done. most is empty if there is no data.
func within(h domain.Durations) (half, most string) {
	d, some := h.Quantile(.5)
	if !some {
		return "—", ""
	}
	p95, _ := h.Quantile(.95)
	return lasting(d), lasting(p95)
}

// lasting formats a duration in two units.
func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days %d h", int(d.Hours())/24, int(d.Hours())%24)
}

func percent(n, of int64) string {
	return strconv.FormatFloat(100*float64(n)/float64(max(1, of)), 'f', 1, 64) + " %"
}

// capital formats an API constant with a capital first letter.
func capital(word string) string {
	if word == "" {
		return ""
	}
	word = strings.ReplaceAll(word, "_", " ")
	return strings.ToUpper(word[:1]) + word[1:]
}

func reasonText(r domain.ReasonCode) string {
	switch r {
	case "":
		return "No reason was given"
	case domain.ReasonCODRefused:
		return "Cash on delivery refused"
	}
	return capital(string(r))
}

// reportCSV sends the report as a file, with all of its lines.
func (p *Console) reportCSV(c *call) error {
	a, r, err := p.report(c)
	if err != nil {
		return err
	}
	if a.From.Error != "" || a.To.Error != "" {
		return p.showReport(c)
	}
	name := fmt.Sprintf("waybill-report-%s-%s-%s.csv", a.query.Each, a.From.Value, a.To.Value)
	return c.CSV(name, func(write func(...string) error) error {
		head := []string{"environment", "from", "to", string(a.query.Each), "name", "booked", "delivered", "cancelled", "failed"}
		reasons := append(domain.ReasonCodes(), "")
		for _, reason := range reasons {
			head = append(head, "failed_"+reasonName(reason))
		}
		head = append(head, "assigned_half_within_s", "assigned_95_percent_within_s", "delivered_half_within_s",
			"delivered_95_percent_within_s")
		if err := write(head...); err != nil {
			return err
		}
		for _, l := range r.Lines {
			id, name, _ := a.about(c, &l)
			row := []string{string(a.query.Environment), a.From.Value, a.To.Value, id, name, count(l.Booked), count(l.Delivered),
				count(l.Cancelled), count(l.Failures())}
			for _, reason := range reasons {
				row = append(row, count(l.Failed[reason]))
			}
			for _, h := range []domain.Durations{l.ToAssign, l.ToDeliver} {
				for _, share := range []float64{.5, .95} {
					text := ""
					if d, some := h.Quantile(share); some {
						text = count(int64(d.Seconds()))
					}
					row = append(row, text)
				}
			}
			if err := write(row...); err != nil {
				return err
			}
		}
		return nil
	})
}

func reasonName(r domain.ReasonCode) string {
	if r == "" {
		return "without_reason"
	}
	return string(r)
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
