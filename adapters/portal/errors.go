package portal

import (
	"net/http"
	"sort"
	"strconv"
	"time"

	"waybill/adapters/pages"
)

// errorView holds a kind of failure: a route with an error code.
type errorView struct {
	ID        string
	Route     string
	Status    int
	Code      string
	Document  string
	Calls, Of int64 // failures, and all calls of the route
	Share     string
	Last      time.Time
	Requests  string // the list of exactly these requests
}

// mostErrors limits the kinds of errors on the page. The usage file has all of them.
const mostErrors = 40

type errorsView struct {
	figures
	More     int // kinds that are not listed, if positive
	Groups   []errorView
	Errors   int64
	Calls    int64
	Keeping  pages.KeepingView
	Usage    string
	PastKept bool // the period begins before the oldest failure in the log
}

func (p *Portal) listErrors(c *call) error {
	f, _, err := p.figuresOf(c, "/errors")
	if err != nil {
		return err
	}
	q := f.query
	q.ByRoute, q.ByResult = true, true
	sums, err := p.Requests.Usage(c.Ctx(), q)
	if err != nil {
		return p.logFailed(c, err)
	}
	v := errorsView{figures: f, Keeping: p.keeping(), Usage: f.same("/usage")}
	v.PastKept = f.until.Sub(f.from) > p.options.RequestLog.Keeping.Failures+24*time.Hour
	ofRoute := map[string]int64{}
	for _, u := range sums {
		ofRoute[u.Route] += u.Calls
		v.Calls += u.Calls
	}
	for _, u := range sums {
		if !u.Failed() {
			continue
		}
		v.Errors += u.Calls
		v.Groups = append(v.Groups, errorView{
			ID: u.Route + " " + strconv.Itoa(u.Status) + " " + u.Code, Route: pages.RouteText(u.Route), Status: u.Status,
			Code: u.Code, Document: p.document(u.Code),
			Calls: u.Calls, Of: ofRoute[u.Route], Share: share(u.Calls, ofRoute[u.Route]), Last: u.Last, Requests: f.requests(f.from, f.until,
				pages.Kept{Name: "failed", Value: "true"}, pages.Kept{Name: "route", Value: u.Route},
				pages.Kept{Name: "code", Value: u.Code}, pages.Kept{Name: "status", Value: strconv.Itoa(u.Status)}),
		})
	}
	sort.SliceStable(v.Groups, func(i, j int) bool {
		return moreCalls(v.Groups[i].Calls, v.Groups[j].Calls, v.Groups[i].ID, v.Groups[j].ID)
	})
	if v.More = len(v.Groups) - mostErrors; v.More > 0 {
		v.Groups = v.Groups[:mostErrors]
	}
	return p.Show(c, http.StatusOK, "errors", "Errors", v)
}

// share formats a part of a total as a percentage.
func share(part, of int64) string {
	if of == 0 {
		return "0 %"
	}
	percent := 100 * float64(part) / float64(of)
	switch {
	case part > 0 && percent < .1:
		return "under 0.1 %"
	case part < of && percent > 99.9:
		return "over 99.9 %"
	case percent < 10:
		return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(percent, 'f', 0, 64) + " %"
}
