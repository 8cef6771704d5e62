package pages

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// The longest values of request log filters.
const (
	MaxCode   = 64
	MaxRoute  = 200
	MaxSearch = domain.MaxClientRequestID
)

// RequestsAsked holds a filter of the request log, read from the address.
type RequestsAsked struct {
	domain.RequestFilter
	Values url.Values // from the address
}

// With returns the list's address with one parameter changed. An empty value removes the parameter.
func (a RequestsAsked) With(name, value string) string {
	values := url.Values{}
	for key, v := range a.Values {
		values[key] = v
	}
	values.Del(name)
	if value != "" {
		values.Set(name, value)
	}
	return AddressOf("/requests", values)
}

// AddressOf joins a path and a query, if there is one.
func AddressOf(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// requestParameters lists the parameters of the list, in the order of its form.
var requestParameters = []string{
	"q", "application", "environment", "failed", "route", "status", "code", "key", "delivery", "request_id", "created_after", "created_before",
}

// RequestsAskedBy reads the filter from the address, and keeps more parameters for the site.
// Invalid values get an error at their field.
func RequestsAskedBy(c *Call, more ...string) (a RequestsAsked) {
	a.Values = url.Values{}
	for _, name := range slices.Concat(requestParameters, more) {
		if value := strings.TrimSpace(c.Query(name)); value != "" {
			a.Values.Set(name, value)
		}
	}
	c.Faults = map[string]string{}
	text := func(name string, most int) string {
		value := a.Values.Get(name)
		if len(value) > most {
			c.Faults[name] = "At most " + strconv.Itoa(most) + " characters."
			return ""
		}
		return value
	}
	f := &a.RequestFilter
	f.ApplicationID, f.KeyID = domain.ID(text("application", MaxSearch)), domain.ID(text("key", MaxSearch))
	f.DeliveryID = domain.ID(text("delivery", MaxSearch))
	f.Route, f.Code = text("route", MaxRoute), strings.ToUpper(text("code", MaxCode))
	f.ClientID = text("request_id", MaxSearch)
	if e := a.Values.Get("environment"); e != "" {
		f.Environment = domain.Environment(e)
	}
	switch failed := a.Values.Get("failed"); failed {
	case "true", "false":
		f.Failed = new(failed == "true")
	}
	if status := a.Values.Get("status"); status != "" {
		n, err := strconv.Atoi(status)
		if err != nil || n < 100 || n > 599 {
			c.Faults["status"] = "A status of HTTP is a number from 100 to 599."
		}
		f.Status = n
	}
	f.CreatedAfter, f.CreatedBefore = momentAsked(c, a.Values, "created_after"), momentAsked(c, a.Values, "created_before")
	a.search(text("q", MaxSearch))
	if id, err := domain.ParseID(domain.PrefixRequest, f.ClientID); err == nil {
		f.ID, f.ClientID = id, ""
	}
	return a
}

// search narrows the list to what a text looks like: an ID of ours, a status, a code or a route.
// Any other text is the caller's own request ID.
func (a *RequestsAsked) search(text string) {
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

func momentAsked(c *Call, values url.Values, name string) *time.Time {
	text := values.Get(name)
	if text == "" {
		return nil
	}
	if at := MomentOf(text); at != nil {
		return at
	}
	c.Faults[name] = "Write a time like 2026-03-14T12:00, in UTC."
	return nil
}

// RequestRow is a row of the request list.
type RequestRow struct {
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

// RouteText formats a route for people. The log names unknown paths "none".
func RouteText(route string) string {
	if method, unknown := strings.CutSuffix(route, " none"); unknown {
		return method + " (unknown path)"
	}
	return route
}

// ShowRequest converts a record to a row. names maps application IDs to names.
func ShowRequest(r *domain.RequestRecord, names map[domain.ID]string) RequestRow {
	method, path, _ := strings.Cut(RouteText(r.Route), " ")
	return RequestRow{
		ID: string(r.ID), Href: "/requests/" + string(r.ID), At: r.ID.MadeAt(), Method: method, Path: path, Status: r.Status, Code: r.Code,
		Failed:      r.Failed(),
		Application: names[r.ApplicationID], Environment: string(r.Environment), Took: Took(r.Took), Weight: r.Weight,
	}
}

// EnvironmentField returns a field that chooses one environment, or both.
func EnvironmentField() Field {
	return Field{Name: "environment", Label: "Environment", Options: []Option{
		{Value: "", Text: "Both"}, {Value: string(domain.Sandbox), Text: "Sandbox"}, {Value: string(domain.Live), Text: "Live"},
	}}
}

// WithChosen marks the option with the field's value. It adds a missing option, so that the page
// shows the filter in use.
func WithChosen(f Field) Field {
	known := false
	for i := range f.Options {
		f.Options[i].Chosen = f.Options[i].Value == f.Value
		known = known || f.Options[i].Chosen
	}
	if !known {
		f.Options = append(f.Options, Option{Value: f.Value, Text: f.Value, Chosen: true})
	}
	return f
}
