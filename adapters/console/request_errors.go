package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/monitoring"
	"waybill/domain"
)

// failedLately lists the periods for counting errors, by their names in the address.
var failedLately = []struct {
	name, text string
	d          time.Duration
}{{"1h", "Last hour", time.Hour}, {"24h", "Last 24 hours", 24 * time.Hour}}

type errorsView struct {
	Filters *pages.Filters
	From    time.Time
	Until   time.Time
	Cut     bool // more requests failed than are counted
	Most    int64
	Kinds   []errorLine
	More    bool // there are more kinds than shown
	Failed  int64
	All     string // the list of all of them
	Kept    pages.KeepingView
}

type errorLine struct {
	ID, Business, BusinessHref, Route, Code, Document, Requests string
	Status                                                      int
	Calls                                                       int64
}

// listErrors counts failed requests by customer, code and route. Each number matches the list that
// it links to.
func (p *Console) listErrors(c *call) error {
	lately := failedLately[0]
	period := pages.Field{Name: "period", Label: "Time"}
	for _, one := range failedLately {
		if one.name == c.Query("period") {
			lately = one
		}
		period.Options = append(period.Options, pages.Option{Value: one.name, Text: one.text})
	}
	a := pages.RequestsAsked{Values: map[string][]string{"failed": {"true"}}}
	for _, name := range []string{"environment", "business"} {
		if value := c.Query(name); value != "" && len(value) <= pages.MaxSearch {
			a.Values.Set(name, value)
		}
	}
	f := domain.RequestFilter{Environment: domain.Environment(a.Values.Get("environment")), BusinessID: domain.ID(a.Values.Get("business"))}
	if f.BusinessID == unknownCaller {
		f.BusinessID, f.Unknown = "", true
	}
	t, err := p.Requests.Failures(c.Ctx(), f, lately.d)
	if err != nil {
		return p.logUnread(c, err)
	}
	period.ID, period.Value = period.Name, lately.name
	business := p.customerField(c, pages.Field{Name: "business", Value: a.Values.Get("business")}, unknownCallers)
	environment := pages.EnvironmentField()
	environment.ID, environment.Value = environment.Name, a.Values.Get("environment")
	a.Values.Set("created_after", domain.FormatTime(t.From))
	a.Values.Set("created_before", domain.FormatTime(t.Until))
	v := errorsView{Filters: pages.NewFilters(c.At("/errors"), c.Request.URL.Query(), nil,
		[]pages.Field{pages.WithChosen(period), pages.WithChosen(environment), business}), From: t.From, Until: t.Until,
		Cut: t.Cut, Most: monitoring.MostFailures, More: t.More, All: c.At(a.With("", "")), Kept: p.options.API.RequestLog.Kept()}
	var ids []domain.ID
	for _, sum := range t.Sums {
		ids = append(ids, sum.BusinessID)
	}
	names, err := p.Requests.BusinessNames(c.Ctx(), ids)
	if err != nil {
		return p.logUnread(c, err)
	}
	for _, sum := range t.Sums {
		line := errorLine{Business: "unknown", Route: pages.RouteText(sum.Route), Code: sum.Code, Status: sum.Status, Calls: sum.Calls,
			Document: p.options.API.Document(sum.Code)}
		status := strconv.Itoa(sum.Status)
		line.ID = strings.Join([]string{string(sum.BusinessID), sum.Route, status, sum.Code}, " ")
		of := pages.RequestsAsked{Values: map[string][]string{"route": {sum.Route}, "status": {status}, "business": {unknownCaller}}}
		for name, values := range a.Values {
			if name != "business" {
				of.Values[name] = values
			}
		}
		if sum.BusinessID != "" {
			line.Business, line.BusinessHref = names[sum.BusinessID], c.At("/businesses/"+string(sum.BusinessID))
			of.Values.Set("business", string(sum.BusinessID))
		}
		line.Requests = c.At(of.With("code", sum.Code))
		v.Failed += sum.Calls
		v.Kinds = append(v.Kinds, line)
	}
	c.Widen()
	return p.Show(c, http.StatusOK, "errors", "Errors", v)
}
