package portal

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/adapters/site"
	"waybill/domain"
)

// requestPage is how many requests a page of the list has.
const requestPage = 50

// Lengths of what a filter takes.
const (
	maxCode   = 64
	maxRoute  = 200
	maxSearch = domain.MaxClientRequestID
)

// requestView is one request to the API, as a row of the list.
type requestView struct {
	ID, Href    string
	At          time.Time
	Method      string
	Path        string
	Status      int
	Code        string
	Failed      bool
	Application string
	Environment string
	Took        string
	Weight      int
}

type requestsView struct {
	Filters  requestFilters
	Requests []requestView
	Keeping  keepingView
	Newest   string
	Older    string
	Empty    pages.Notice
}

// requestFilters are the fields above the list.
type requestFilters struct {
	Search, Application, Environment, Result, Route pages.Field
	Status, Code, After, Before                     pages.Field
	Hidden                                          []pages.Kept // those that have no field
	Unusual                                         bool         // one of the fields that are folded away is set
	Set                                             bool         // anything is
}

// keepingView tells what of all requests is in the log.
type keepingView struct {
	Off, FailuresOnly         bool
	SuccessDays, FailureDays  int
	FailuresASecond, OneInTen int
}

// asked is a filter as it stands in the address.
type asked struct {
	domain.RequestFilter
	values url.Values
}

// with is the address of the list with something else in it; an empty value takes
// it out.
func (a asked) with(name, value string) string {
	values := url.Values{}
	for key, v := range a.values {
		values[key] = v
	}
	values.Del(name)
	if value != "" {
		values.Set(name, value)
	}
	return addressOf("/requests", values)
}

func addressOf(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// requestParameters are the parameters of the list, in the order in which it asks.
var requestParameters = []string{
	"q", "application", "environment", "failed", "route", "status", "code", "key", "delivery", "request_id", "created_after", "created_before",
}

// filterOf reads the address. What cannot be meant is told at its field.
func filterOf(c *call) (a asked) {
	a.values = url.Values{}
	for _, name := range requestParameters {
		if value := strings.TrimSpace(c.Query(name)); value != "" {
			a.values.Set(name, value)
		}
	}
	c.Faults = map[string]string{}
	text := func(name string, most int) string {
		value := a.values.Get(name)
		if len(value) > most {
			c.Faults[name] = "At most " + strconv.Itoa(most) + " characters."
			return ""
		}
		return value
	}
	f := &a.RequestFilter
	f.ApplicationID, f.KeyID = domain.ID(text("application", maxSearch)), domain.ID(text("key", maxSearch))
	f.DeliveryID = domain.ID(text("delivery", maxSearch))
	f.Route, f.Code = text("route", maxRoute), strings.ToUpper(text("code", maxCode))
	f.ClientID = text("request_id", maxSearch)
	if e := a.values.Get("environment"); e != "" {
		f.Environment = domain.Environment(e)
	}
	switch failed := a.values.Get("failed"); failed {
	case "true", "false":
		f.Failed = new(failed == "true")
	}
	if status := a.values.Get("status"); status != "" {
		n, err := strconv.Atoi(status)
		if err != nil || n < 100 || n > 599 {
			c.Faults["status"] = "A status of HTTP is a number from 100 to 599."
		}
		f.Status = n
	}
	f.CreatedAfter, f.CreatedBefore = timeOf(c, a.values, "created_after"), timeOf(c, a.values, "created_before")
	a.search(text("q", maxSearch))
	if id, err := domain.ParseID(domain.PrefixRequest, f.ClientID); err == nil {
		f.ID, f.ClientID = id, ""
	}
	return a
}

// search narrows the list to what a text looks like: an ID of ours, a status, a code, a
// route, or else the name that the caller gave a request.
func (a *asked) search(text string) {
	f := &a.RequestFilter
	number, err := strconv.Atoi(text)
	switch {
	case text == "":
	case strings.HasPrefix(text, string(domain.PrefixDelivery)):
		f.DeliveryID = domain.ID(text)
	case strings.HasPrefix(text, string(domain.PrefixAPIKey)):
		f.KeyID = domain.ID(text)
	case err == nil && number >= 100 && number < 600:
		f.Status = number
	case strings.Contains(text, " /v1"):
		f.Route = text
	case strings.Contains(text, "_") && strings.ToUpper(text) == text:
		f.Code = text
	default:
		f.ClientID = text
	}
}

// The ways to write a time: as programs do, and as the fields of browsers do, in UTC.
var timeFormats = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

const fieldTime = "2006-01-02T15:04:05"

func timeOf(c *call, values url.Values, name string) *time.Time {
	text := values.Get(name)
	if text == "" {
		return nil
	}
	for _, format := range timeFormats {
		if at, err := time.Parse(format, text); err == nil {
			return &at
		}
	}
	c.Faults[name] = "Write a time like 2026-03-14T12:00, in UTC."
	return nil
}

func (p *Portal) listRequests(c *call) error {
	a := filterOf(c)
	apps, err := p.Tenants.Applications(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	v := requestsView{Filters: p.requestFilters(c, a, apps), Keeping: p.keeping()}
	if len(c.Faults) > 0 {
		v.Empty = pages.Notice{Title: "The filter could not be read", Lines: []string{"Mend the field that is marked above."}}
		return p.Show(c, http.StatusUnprocessableEntity, "requests", "Requests", v)
	}
	page := domain.PageRequest{Limit: requestPage}
	if last, err := domain.ParseID(domain.PrefixRequest, c.Query("cursor")); err == nil {
		page.After = &domain.Position{ID: last}
		v.Newest = a.with("cursor", "")
	}
	found, err := p.Requests.List(c.Ctx(), c.Business(), a.RequestFilter, page)
	if err != nil {
		return p.logFailed(c, err)
	}
	if len(found) > requestPage {
		found = found[:requestPage]
		v.Older = a.with("cursor", string(found[requestPage-1].ID))
	}
	names := map[domain.ID]string{}
	for _, app := range apps {
		names[app.ID] = app.Name
	}
	for i := range found {
		v.Requests = append(v.Requests, showRequest(&found[i], names))
	}
	v.Empty = p.noRequests(v)
	return p.Show(c, http.StatusOK, "requests", "Requests", v)
}

// noRequests says what to do where the list is empty.
func (p *Portal) noRequests(v requestsView) pages.Notice {
	switch {
	case v.Newest != "":
		return pages.Notice{Title: "No older requests", Lines: []string{"The list ends here."},
			Link: &pages.Link{Href: v.Newest, Text: "Newest requests"}}
	case v.Filters.Set:
		return pages.Notice{Title: "No request fits",
			Lines: []string{"Take a filter away, or choose a longer time. What is older than the log keeps is gone."},
			Link:  &pages.Link{Href: "/requests", Text: "All requests"}}
	}
	return pages.Notice{Title: "No requests yet",
		Lines: []string{"Each call of your programs appears here within a second or two. Make the first one with a sandbox key."},
		Link:  &pages.Link{Href: p.docs("/first-delivery"), Text: "Your first delivery"}}
}

// routeText is a route as people read it: one of no route of ours is logged as "none".
func routeText(route string) string {
	if method, unknown := strings.CutSuffix(route, " none"); unknown {
		return method + " (unknown path)"
	}
	return route
}

func showRequest(r *domain.RequestRecord, names map[domain.ID]string) requestView {
	method, path, _ := strings.Cut(routeText(r.Route), " ")
	return requestView{
		ID: string(r.ID), Href: "/requests/" + string(r.ID), At: r.ID.MadeAt(), Method: method, Path: path, Status: r.Status, Code: r.Code,
		Failed:      r.Failed(),
		Application: names[r.ApplicationID], Environment: string(r.Environment), Took: site.Took(r.Took), Weight: r.Weight,
	}
}

func (p *Portal) requestFilters(c *call, a asked, apps []domain.Application) requestFilters {
	typed := func(f pages.Field) pages.Field {
		f.ID, f.Error = f.Name, c.Faults[f.Name]
		f.Value = a.values.Get(f.Name)
		return f
	}
	chosen := func(f pages.Field) pages.Field { return withChosen(typed(f)) }
	f := requestFilters{
		Search: typed(pages.Field{Name: "q", Label: "Search", Type: "search", MaxLength: maxSearch,
			Hint: "A request, delivery or key ID, your own request ID, a status or an error code."}),
		Application: chosen(applicationField(apps)),
		Environment: chosen(environmentField()),
		Result: chosen(pages.Field{Name: "failed", Label: "Result", Options: []pages.Option{
			{Value: "", Text: "Any result"}, {Value: "true", Text: "Failed"}, {Value: "false", Text: "Succeeded"},
		}}),
		Route:  chosen(p.routeField()),
		Status: typed(pages.Field{Name: "status", Label: "Status", MaxLength: 3}),
		Code:   typed(pages.Field{Name: "code", Label: "Error code", MaxLength: maxCode}),
		After:  typed(pages.Field{Name: "created_after", Label: "From (UTC)", Type: "datetime-local"}),
		Before: typed(pages.Field{Name: "created_before", Label: "Before (UTC)", Type: "datetime-local"}),
		Set:    len(a.values) > 0,
	}
	for _, of := range []struct {
		field *pages.Field
		at    *time.Time
	}{{&f.After, a.CreatedAfter}, {&f.Before, a.CreatedBefore}} {
		if of.at != nil {
			of.field.Value = of.at.UTC().Format(fieldTime)
		}
	}
	for _, name := range []string{"key", "delivery", "request_id"} {
		if value := a.values.Get(name); value != "" {
			f.Hidden = append(f.Hidden, pages.Kept{Name: name, Value: value})
		}
	}
	f.Unusual = slices.ContainsFunc([]string{"status", "code", "created_after", "created_before"}, a.values.Has)
	return f
}

func applicationField(apps []domain.Application) pages.Field {
	f := pages.Field{Name: "application", Label: "Application", Options: []pages.Option{{Value: "", Text: "All applications"}}}
	for _, app := range apps {
		f.Options = append(f.Options, pages.Option{Value: string(app.ID), Text: app.Name})
	}
	return f
}

func environmentField() pages.Field {
	return pages.Field{Name: "environment", Label: "Environment", Options: []pages.Option{
		{Value: "", Text: "Both"}, {Value: string(domain.Sandbox), Text: "Sandbox"}, {Value: string(domain.Live), Text: "Live"},
	}}
}

func (p *Portal) routeField() pages.Field {
	f := pages.Field{Name: "route", Label: "Route", Options: []pages.Option{{Value: "", Text: "Any route"}}}
	for _, o := range p.options.Operations() {
		f.Options = append(f.Options, pages.Option{Value: o.Route, Text: o.Route})
	}
	return f
}

// withChosen marks the option that the field has; one that is not offered is added, so
// that the page shows what it was asked for.
func withChosen(f pages.Field) pages.Field {
	known := false
	for i := range f.Options {
		f.Options[i].Chosen = f.Options[i].Value == f.Value
		known = known || f.Options[i].Chosen
	}
	if !known {
		f.Options = append(f.Options, pages.Option{Value: f.Value, Text: f.Value, Chosen: true})
	}
	return f
}
