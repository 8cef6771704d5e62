package portal

import (
	"net/http"
	"slices"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// requestPage sets the page size of the request list.
const requestPage = 50

type requestsView struct {
	Filters  requestFilters
	Requests []pages.RequestRow
	Keeping  pages.KeepingView
	Newest   string
	Older    string
	Empty    pages.Notice
}

// requestFilters holds the fields above the list.
type requestFilters struct {
	Search, Application, Environment, Result, Route pages.Field
	Status, Code, After, Before                     pages.Field
	Hidden                                          []pages.Kept // filters without a field
	Unusual                                         bool         // one of the collapsed fields is set
	Set                                             bool         // any filter is set
}

func (p *Portal) listRequests(c *call) error {
	a := pages.RequestsAskedBy(c)
	apps, err := p.Tenants.Applications(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	v := requestsView{Filters: p.requestFilters(c, a, apps), Keeping: p.keeping()}
	if len(c.Faults) > 0 {
		v.Empty = pages.Notice{Title: "The filter could not be read", Lines: []string{"Fix the highlighted field."}}
		return p.Show(c, http.StatusUnprocessableEntity, "requests", "Requests", v)
	}
	page := domain.PageRequest{Limit: requestPage}
	if last, err := domain.ParseID(domain.PrefixRequest, c.Query("cursor")); err == nil {
		page.After = &domain.Position{ID: last}
		v.Newest = a.With("cursor", "")
	}
	found, err := p.Requests.List(c.Ctx(), c.Business(), a.RequestFilter, page)
	if err != nil {
		return p.logFailed(c, err)
	}
	if len(found) > requestPage {
		found = found[:requestPage]
		v.Older = a.With("cursor", string(found[requestPage-1].ID))
	}
	names := map[domain.ID]string{}
	for _, app := range apps {
		names[app.ID] = app.Name
	}
	for i := range found {
		v.Requests = append(v.Requests, pages.ShowRequest(&found[i], names))
	}
	v.Empty = p.noRequests(v)
	return p.Show(c, http.StatusOK, "requests", "Requests", v)
}

// noRequests says what to do if the list is empty.
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

func (p *Portal) requestFilters(c *call, a pages.RequestsAsked, apps []domain.Application) requestFilters {
	typed := func(f pages.Field) pages.Field {
		f.ID, f.Error = f.Name, c.Fault(f.Name, f.Name, f.Label)
		f.Value = a.Values.Get(f.Name)
		return f
	}
	chosen := func(f pages.Field) pages.Field { return pages.WithChosen(typed(f)) }
	f := requestFilters{
		Search: typed(pages.Field{Name: "q", Label: "Search", Type: "search", MaxLength: pages.MaxSearch,
			Hint: "A request, delivery or key ID, your own request ID, a status or an error code."}),
		Application: chosen(applicationField(apps)),
		Environment: chosen(pages.EnvironmentField()),
		Result: chosen(pages.Field{Name: "failed", Label: "Result", Options: []pages.Option{
			{Value: "", Text: "Any result"}, {Value: "true", Text: "Failed"}, {Value: "false", Text: "Succeeded"},
		}}),
		Route:  chosen(p.API().RouteField()),
		Status: typed(pages.Field{Name: "status", Label: "Status", MaxLength: 3}),
		Code:   typed(pages.Field{Name: "code", Label: "Error code", MaxLength: pages.MaxCode}),
		After:  typed(pages.Field{Name: "created_after", Label: "From (UTC)", Type: "datetime-local"}),
		Before: typed(pages.Field{Name: "created_before", Label: "Before (UTC)", Type: "datetime-local"}),
		Set:    len(a.Values) > 0,
	}
	for _, of := range []struct {
		field *pages.Field
		at    *time.Time
	}{{&f.After, a.CreatedAfter}, {&f.Before, a.CreatedBefore}} {
		if of.at != nil {
			of.field.Value = of.at.UTC().Format(pages.OfMinute + ":05")
		}
	}
	for _, name := range []string{"key", "delivery", "request_id"} {
		if value := a.Values.Get(name); value != "" {
			f.Hidden = append(f.Hidden, pages.Kept{Name: name, Value: value})
		}
	}
	f.Unusual = slices.ContainsFunc([]string{"status", "code", "created_after", "created_before"}, a.Values.Has)
	return f
}

func applicationField(apps []domain.Application) pages.Field {
	f := pages.Field{Name: "application", Label: "Application", Options: []pages.Option{{Value: "", Text: "All applications"}}}
	for _, app := range apps {
		f.Options = append(f.Options, pages.Option{Value: string(app.ID), Text: app.Name})
	}
	return f
}
