package console

import (
	"errors"
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/application/monitoring"
	"waybill/domain"
	"waybill/ports"
)

const (
	requestsAt   = "/requests"
	requestsPage = 50
	// unknownCaller replaces the customer's ID in the address for requests of unknown callers.
	unknownCaller = "none"
)

var unknownCallers = pages.Option{Value: unknownCaller, Text: "Unknown callers"}

// requestsView holds the request log of all customers.
type requestsView struct {
	Filters  *pages.Filters
	Set      bool // any filter is set
	Requests []requestLine
	Until    *time.Time // how far back the page searched, if the log goes on
	Keeping  pages.KeepingView
	Newest   string
	Older    string // the next page
	Further  string // the same filter, further back
	Empty    pages.Notice
}

// requestLine is a row of the list.
type requestLine struct {
	pages.RequestRow
	Business, BusinessHref string
}

// requestsAsked reads the filter from the address. Invalid values get an error at their field.
func requestsAsked(c *call) pages.RequestsAsked {
	a := pages.RequestsAskedBy(c, "business", "class")
	switch text := a.Values.Get("business"); text {
	case "":
	case unknownCaller:
		a.Unknown = true
	default:
		var err error
		if a.BusinessID, err = domain.ParseID(domain.PrefixBusiness, text); err != nil {
			c.Faults["business"] = "Enter a customer ID (biz_...), or none for unknown callers."
		}
	}
	switch class := a.Values.Get("class"); class {
	case "2", "4", "5":
		a.Class = int(class[0] - '0')
	}
	return a
}

func (p *Console) listRequests(c *call) error {
	a := requestsAsked(c)
	v := requestsView{Keeping: p.options.API.RequestLog.Kept(), Filters: p.requestFilters(c, a), Set: len(a.Values) > 0}
	c.Widen()
	if len(c.Faults) > 0 {
		v.Empty = pages.Notice{Title: "Nothing was searched", Lines: []string{"Fix the highlighted filter."}}
		return p.Show(c, http.StatusUnprocessableEntity, "requests", "Requests", v)
	}
	page := domain.PageRequest{Limit: requestsPage}
	if last, err := domain.ParseID(domain.PrefixRequest, c.Query("cursor")); err == nil {
		page.After = &domain.Position{ID: last}
		v.Newest = c.At(a.With("cursor", ""))
	}
	found, further, err := p.Requests.Look(c.Ctx(), a.RequestFilter, page)
	if err != nil {
		return p.logUnread(c, err)
	}
	if len(found) > requestsPage {
		found = found[:requestsPage]
		v.Older = c.At(a.With("cursor", string(found[requestsPage-1].ID)))
	}
	if further != "" {
		v.Until, v.Further = new(further.MadeAt()), c.At(a.With("cursor", string(further)))
	}
	if v.Requests, err = p.requestLines(c, found); err != nil {
		return p.logUnread(c, err)
	}
	switch {
	case v.Further != "":
		v.Empty = pages.Notice{Title: "No match so far", Lines: []string{"The newest " + pages.Count(monitoring.MostLooked) +
			" requests were searched. Search further back, or choose a time in the filters."}}
	case v.Newest != "":
		v.Empty = pages.Notice{Title: "No older requests", Lines: []string{"The list ends here."},
			Link: &pages.Link{Href: v.Newest, Text: "Newest requests"}}
	case v.Set:
		v.Empty = pages.Notice{Title: "No matching request",
			Lines: []string{"Remove a filter, or choose a longer time. Older requests may have been deleted."},
			Link:  &pages.Link{Href: c.At(requestsAt), Text: "All requests"}}
	default:
		v.Empty = pages.Notice{Title: "No requests yet",
			Lines: []string{"API requests of customers appear here within two seconds."}}
	}
	return p.Show(c, http.StatusOK, "requests", "Requests", v)
}

func (p *Console) requestLines(c *call, found []domain.RequestRecord) (lines []requestLine, err error) {
	var ids []domain.ID
	for i := range found {
		ids = append(ids, found[i].BusinessID)
	}
	names, err := p.Requests.BusinessNames(c.Ctx(), ids)
	for i := range found {
		line := requestLine{RequestRow: pages.ShowRequest(&found[i], nil), Business: "unknown"}
		line.Href = c.At(line.Href)
		if id := found[i].BusinessID; id != "" {
			line.Business, line.BusinessHref = names[id], c.At("/businesses/"+string(id))
		}
		lines = append(lines, line)
	}
	return lines, err
}

// requestFilters returns the line of filters above the list.
func (p *Console) requestFilters(c *call, a pages.RequestsAsked) *pages.Filters {
	field := func(f pages.Field) pages.Field {
		f.ID, f.Error, f.Value = f.Name, c.Fault(f.Name, f.Name, f.Label), a.Values.Get(f.Name)
		if f.Type != "" { // browsers accept only this layout in a time field
			at := pages.MomentOf(f.Value)
			if f.Value = ""; at != nil {
				f.Value = at.Format(pages.OfMinute + ":05")
			}
		}
		if f.Options != nil {
			return pages.WithChosen(f)
		}
		return f
	}
	search := field(pages.Field{Name: "q", Label: "Request, delivery or key ID, status or error code", MaxLength: pages.MaxSearch})
	fields := []pages.Field{
		field(pages.EnvironmentField()),
		field(pages.Field{Name: "class", Label: "Result", Options: []pages.Option{
			{Text: "Any result"}, {Value: "2", Text: "2xx: succeeded"}, {Value: "4", Text: "4xx: refused"}, {Value: "5", Text: "5xx: failed on our side"},
		}}),
		field(p.options.API.RouteField()),
		p.customerField(c, field(pages.Field{Name: "business"}), unknownCallers),
		field(pages.Field{Name: "status", Label: "Status", MaxLength: 3}),
		field(pages.Field{Name: "code", Label: "Error code", MaxLength: pages.MaxCode}),
		field(pages.Field{Name: "created_after", Label: "From (UTC)", Type: "datetime-local"}),
		field(pages.Field{Name: "created_before", Label: "Before (UTC)", Type: "datetime-local"}),
	}
	// Links from other pages set these, so their fields are shown only then.
	for _, f := range []pages.Field{
		{Name: "application", Label: "Application ID"}, {Name: "key", Label: "Key ID"}, {Name: "delivery", Label: "Delivery ID"},
		{Name: "request_id", Label: "Request ID"}, {Name: "failed", Label: "Failed"},
	} {
		if f = field(f); f.Value != "" {
			fields = append(fields, f)
		}
	}
	return pages.NewFilters(c.At(requestsAt), a.Values, &search, fields)
}

// showRequest shows one request of any customer, as the customer's own portal does.
func (p *Console) showRequest(c *call) error {
	r, err := p.Requests.OfAny(c.Ctx(), domain.ID(c.Param("request")))
	if err != nil {
		return p.logUnread(c, err)
	}
	v := p.options.API.ViewRequest(&r)
	v.ManyCustomers, v.List = true, c.At(requestsAt)
	if r.Failed() {
		alike := pages.RequestsAsked{Values: map[string][]string{"route": {r.Route}, "code": {r.Code}, "failed": {"true"}}}
		v.Alike = c.At(alike.With("", ""))
	}
	if r.DeliveryID != "" {
		v.DeliveryHref, v.DeliveryRequests = c.At(deliveriesAt+"/"+v.DeliveryID), c.At(requestsAt+"?delivery="+v.DeliveryID)
	}
	if err := p.callerOf(c, &r, &v); err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "request", "A request", v)
}

// callerOf adds the customer, the application and the key. Deleted ones have no link.
func (p *Console) callerOf(c *call, r *domain.RequestRecord, v *pages.RequestView) error {
	if r.BusinessID == "" {
		return nil
	}
	b, err := p.Tenants.Business(c.Ctx(), r.BusinessID)
	if err != nil {
		return err
	}
	v.Business, v.BusinessHref = b.Name, c.At("/businesses/"+string(b.ID))
	app, err := p.Tenants.ApplicationOf(c.Ctx(), b.ID, r.ApplicationID)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v.Application, v.AppHref = app.Name, v.BusinessHref+"/apps/"+string(app.ID)
	key, err := p.Tenants.KeyOf(c.Ctx(), b.ID, app.ID, r.Environment, r.KeyID)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	v.KeyHref, v.KeyEnds = v.AppHref+"/"+string(r.Environment)+"/keys", key.LastFour
	return err
}

// logUnread shows an error page if the request log does not answer.
func (p *Console) logUnread(c *call, err error) error {
	if !ports.StorageUnavailable(err) {
		return err
	}
	p.options.Log.WarnContext(c.Ctx(), "the request log cannot be read", "request_id", c.RequestID(), "route", "console "+c.FullPath(),
		"error", err)
	c.Header("Retry-After", "5")
	p.Notice(c, http.StatusServiceUnavailable, pages.Notice{Tone: "bad", Title: "The request log cannot be read right now",
		Lines: []string{"API requests of customers are not affected. Try again in a few seconds, or choose a shorter time."},
		Link:  &pages.Link{Href: c.Request.URL.RequestURI(), Text: "Try again"}})
	return nil
}
