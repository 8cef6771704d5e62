package pages

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"time"

	"waybill/application/monitoring"
	"waybill/domain"
)

// Operation describes a route of the public API.
type Operation struct {
	Route   string // as in the request log
	Summary string
	Scopes  []domain.Scope
	Sample  string // an example body; empty: the route takes none
}

// RequestLog holds the settings of the request log that a site shows.
type RequestLog struct {
	Mode    monitoring.LogMode
	Keeping domain.RequestLogKeeping
}

// KeepingView says which requests the log keeps.
type KeepingView struct {
	Off, FailuresOnly         bool
	SuccessDays, FailureDays  int
	FailuresASecond, OneInTen int
}

// Kept returns what the log keeps, for pages.
func (l RequestLog) Kept() KeepingView {
	const day = 24 * time.Hour
	return KeepingView{
		Off: l.Mode == monitoring.LogNothing, FailuresOnly: l.Mode == monitoring.LogFailures,
		SuccessDays: int(l.Keeping.Successes / day), FailureDays: int(l.Keeping.Failures / day),
		FailuresASecond: monitoring.FailuresPerSecond, OneInTen: monitoring.SampleEvery,
	}
}

// API holds what request pages need of the public API.
type API struct {
	LiveBaseURL, SandboxBaseURL string // for integrators
	DocsURL                     string
	Operations                  func() []Operation // in the order of the API description
	RequestLog                  RequestLog
}

// Document returns the address of an error code's documentation page; empty: there is none.
func (a API) Document(code string) string {
	if code == "" || a.DocsURL == "" {
		return ""
	}
	return a.DocsURL + "/errors/" + code
}

// RouteField returns a field that chooses a route of the API.
func (a API) RouteField() Field {
	f := Field{Name: "route", Label: "Route", Options: []Option{{Value: "", Text: "Any route"}}}
	for _, o := range a.Operations() {
		f.Options = append(f.Options, Option{Value: o.Route, Text: o.Route})
	}
	return f
}

// RequestView holds the data of request.html, the page of one request. Its links lead to pages of
// the site that shows it.
type RequestView struct {
	RequestRow
	Summary  string
	Document string // of the error; empty: it succeeded
	List     string // the list of all requests
	Alike    string // the list of requests with the same result
	Fields   []FieldView

	ManyCustomers          bool   // the site shows requests of all customers
	Business, BusinessHref string // the request's business; empty: none
	ClientID               string
	AppHref                string
	KeyID, KeyHref         string
	KeyName                string // what people call the key; empty: it has no name
	KeyEnds                string // the last four characters of the key; empty: no longer known
	DeliveryID             string
	DeliveryHref           string
	DeliveryRequests       string // the list of requests about the delivery
	Replayed               bool
	KeyDigest              string // first 8 bytes of the Idempotency-Key's SHA-256, hexadecimal
	Network, Agent         string
	Curl                   Code
	HasBody, HasID         bool
	LacksKey               bool // the call needs an Idempotency-Key and has none
	KeptFor                int  // days
}

// ViewRequest converts a record for the page. The site adds the business and the links.
func (a API) ViewRequest(r *domain.RequestRecord) RequestView {
	v := RequestView{
		RequestRow: ShowRequest(r, nil), Document: a.Document(r.Code), Fields: fieldsOf(r.Fields), ClientID: r.ClientID, KeyID: string(r.KeyID),
		DeliveryID: string(r.DeliveryID), Replayed: r.Replayed, KeyDigest: hex.EncodeToString(r.KeyDigest), Network: r.Network, Agent: r.Agent,
	}
	kept := a.RequestLog.Keeping.Successes
	if r.Failed() {
		kept = a.RequestLog.Keeping.Failures
	}
	v.KeptFor = int(kept / (24 * time.Hour))
	a.again(r, &v)
	return v
}

// FieldView is a field that an error is about, with its code and its rule.
type FieldView struct {
	Name, Code, Rule string // an older record has the name alone
	Meant            string // the field that was probably meant; empty: not known
}

// fieldRules says what each field code means. A few fields have a rule of their own.
var fieldRules = map[string]string{
	domain.FieldRequired: "send a value", domain.FieldTooShort: "the value is too short", domain.FieldTooLong: "the value is too long",
	domain.FieldOutOfRange: "the number is too small or too large", domain.FieldInvalidFormat: "the value is not written as described",
	domain.FieldInvalidType: "the value has another JSON type", domain.FieldNotAllowed: "the value is not one of those allowed",
	"latitude:" + domain.FieldOutOfRange: "-90 to 90", "longitude:" + domain.FieldOutOfRange: "-180 to 180",
	"phone_number:" + domain.FieldInvalidFormat: "a number of Ghana, or one with its country code, such as +233201234567",
	"contact:" + domain.FieldInvalidFormat:      "a number of Ghana, or one with its country code, such as +233201234567",
}

// fieldsOf returns the fields of a record for its page.
func fieldsOf(recorded []string) (fields []FieldView) {
	for _, text := range recorded {
		name, code, _ := strings.Cut(text, ":")
		v := FieldView{Name: name, Code: code}
		if meant, unknown := strings.CutPrefix(code, "meant:"); unknown {
			v.Code, v.Meant = "", meant
		}
		last := name[strings.LastIndexByte(name, '.')+1:]
		v.Rule = cmp.Or(fieldRules[last+":"+code], fieldRules[code])
		fields = append(fields, v)
	}
	return fields
}

// pathParameter matches a route's placeholder of an ID.
var pathParameter = regexp.MustCompile(`\{[a-z_]+\}`)

// again writes the call as a curl command. It has placeholders for what the log does not keep, and
// the example body of the documentation.
func (a API) again(r *domain.RequestRecord, v *RequestView) {
	base := a.SandboxBaseURL
	if r.Environment == domain.Live {
		base = a.LiveBaseURL
	}
	path := strings.TrimPrefix(v.Path, "/v1")
	if r.DeliveryID != "" {
		path = strings.Replace(path, "{delivery_id}", string(r.DeliveryID), 1)
	}
	if pathParameter.MatchString(path) {
		v.HasID = true
		path = pathParameter.ReplaceAllString(path, "$$ID")
	}
	lines := []string{`curl -i -X ` + v.Method + ` "` + base + path + `"`, `-H "Authorization: Bearer $WAYBILL_API_KEY"`}
	if v.Method == http.MethodGet {
		lines[0] = `curl -i "` + base + path + `"`
	}
	v.LacksKey = r.Code == domain.CodeIdempotencyKeyRequired
	if v.KeyDigest != "" || v.LacksKey {
		lines = append(lines, `-H "Idempotency-Key: $IDEMPOTENCY_KEY"`)
	}
	for _, o := range a.Operations() {
		if o.Route != r.Route {
			continue
		}
		v.Summary = o.Summary
		if o.Sample != "" {
			v.HasBody = true
			lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+strings.ReplaceAll(o.Sample, "'", `'\''`)+"'")
		}
	}
	v.Curl = Code{ID: "curl", Text: strings.Join(lines, " \\\n  ")}
}
