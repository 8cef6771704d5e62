package portal

import (
	"net/http"
	"net/url"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// requestPage sets the page size of the request list.
const requestPage = 50

type requestsView struct {
	Filters  *pages.Filters
	Only     []pages.Kept // filters without a field
	All      string       // the list without filters
	Requests []pages.RequestRow
	Several  bool // the list has requests of several applications
	Keeping  pages.KeepingView
	Newest   string
	Older    string
	Empty    pages.Notice
}

func (p *Portal) listRequests(c *call) error {
	a := pages.RequestsAskedBy(c)
	choice, err := p.shown(c)
	if err != nil {
		return err
	}
	if a.ID == "" && a.ClientID == "" && a.DeliveryID == "" && a.KeyID == "" { // a record is found in any environment
		if !a.Values.Has("environment") {
			a.Environment = choice.Environment
		}
		if !a.Values.Has("application") {
			a.ApplicationID = choice.Application
		}
	}
	c.Widen()
	v := requestsView{Keeping: p.keeping(), Several: a.ApplicationID == "", All: pages.AddressOf("/requests", choice.asQuery())}
	v.Filters, v.Only = p.requestFilters(c, a)
	if len(c.Faults) > 0 {
		v.Empty = pages.Notice{Title: "The filter could not be read", Lines: []string{"Open the filters and fix the highlighted field."}}
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
	for _, app := range choice.apps {
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
	case v.Filters.Clear != "" || len(v.Only) > 0:
		return pages.Notice{Title: "No matching request",
			Lines: []string{"Remove a filter, or choose a longer time. Old requests are deleted."},
			Link:  &pages.Link{Href: v.All, Text: "All requests"}}
	}
	return pages.Notice{Title: "No requests here yet",
		Lines: []string{"Each API call appears here within two seconds. Calls in the other environment are on its own list: choose it in the menu."},
		Link:  &pages.Link{Href: p.docs("/quickstart"), Text: "Quickstart"}}
}

// requestFilters returns the line above the list, and the filters that have no field.
func (p *Portal) requestFilters(c *call, a pages.RequestsAsked) (*pages.Filters, []pages.Kept) {
	query := url.Values{}
	for name, values := range a.Values {
		if name != "environment" && name != "application" {
			query[name] = values
		}
	}
	for name, at := range map[string]*time.Time{"created_after": a.CreatedAfter, "created_before": a.CreatedBefore} {
		if at != nil {
			query.Set(name, at.UTC().Format(pages.OfMinute+":05"))
		}
	}
	field := func(f pages.Field) pages.Field {
		f.ID, f.Error, f.Value = f.Name, c.Fault(f.Name, f.Name, f.Label), query.Get(f.Name)
		if len(f.Options) > 0 {
			f = pages.WithChosen(f)
		}
		return f
	}
	search := field(pages.Field{Name: "q", Label: "ID, request ID, status or error code", MaxLength: pages.MaxSearch})
	var only []pages.Kept
	names := []string{"key", "delivery", "request_id"}
	for _, name := range names {
		if value := query.Get(name); value != "" {
			only = append(only, pages.Kept{Name: name, Value: value})
		}
	}
	return pages.NewFilters("/requests", query, &search, []pages.Field{
		field(pages.Field{Name: "failed", Label: "Result", Options: []pages.Option{
			{Value: "", Text: "Any result"}, {Value: "true", Text: "Failed"}, {Value: "false", Text: "Succeeded"},
		}}),
		field(p.API().RouteField()),
		field(pages.Field{Name: "status", Label: "Status", MaxLength: 3}),
		field(pages.Field{Name: "code", Label: "Error code", MaxLength: pages.MaxCode}),
		field(pages.Field{Name: "created_after", Label: "From (UTC)", Type: "datetime-local"}),
		field(pages.Field{Name: "created_before", Label: "Before (UTC)", Type: "datetime-local"}),
	}, names...), only
}
