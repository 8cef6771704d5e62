package pages

import (
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"time"

	"waybill/application/monitoring"
	"waybill/domain"
)

// Operation is a route of the public API.
type Operation struct {
	Route   string // as the request log names it
	Summary string
	Scopes  []domain.Scope
	Sample  string // a body; empty: it takes none
}

// RequestLog is what a site knows about the log that it shows.
type RequestLog struct {
	Mode    monitoring.LogMode
	Keeping domain.RequestLogKeeping
}

// KeepingView tells what of all requests is in the log.
type KeepingView struct {
	Off, FailuresOnly         bool
	SuccessDays, FailureDays  int
	FailuresASecond, OneInTen int
}

// Kept is what the log keeps, as pages say it.
func (l RequestLog) Kept() KeepingView {
	const day = 24 * time.Hour
	return KeepingView{
		Off: l.Mode == monitoring.LogNothing, FailuresOnly: l.Mode == monitoring.LogFailures,
		SuccessDays: int(l.Keeping.Successes / day), FailureDays: int(l.Keeping.Failures / day),
		FailuresASecond: monitoring.FailuresPerSecond, OneInTen: monitoring.SampleEvery,
	}
}

// API is what pages about requests know of the public API.
type API struct {
	LiveBaseURL, SandboxBaseURL string // as integrators call it
	DocsURL                     string
	Operations                  func() []Operation // in the order of its description
	RequestLog                  RequestLog
}

// Document is the page of the documentation about an error code; empty: there is none.
func (a API) Document(code string) string {
	if code == "" || a.DocsURL == "" {
		return ""
	}
	return a.DocsURL + "/errors/" + code
}

// RouteField chooses a route of the API.
func (a API) RouteField() Field {
	f := Field{Name: "route", Label: "Route", Options: []Option{{Value: "", Text: "Any route"}}}
	for _, o := range a.Operations() {
		f.Options = append(f.Options, Option{Value: o.Route, Text: o.Route})
	}
	return f
}

// RequestView is the page of one request, request.html. The addresses are those of the site
// that shows it.
type RequestView struct {
	RequestRow
	Summary  string
	Document string // of the error; empty: it succeeded
	List     string // of all requests
	Alike    string // the list of all that ended so
	Fields   []string

	ManyCustomers          bool   // the site shows those of all
	Business, BusinessHref string // of which it is there; empty: of none
	ClientID               string
	AppHref                string
	KeyID, KeyHref         string
	KeyEnds                string // the last four of the key; empty: not known any more
	DeliveryID             string
	DeliveryHref           string
	DeliveryRequests       string // the list of all requests about it
	Replayed               bool
	KeyDigest              string // hexadecimal, of the Idempotency-Key
	Network, Agent         string
	Curl                   Code
	HasBody, HasID         bool
	LacksKey               bool // the Idempotency-Key that the call has to have
	KeptFor                int  // days
}

// ViewRequest is a record as a page; whose it is, and where links lead, is for the site to add.
func (a API) ViewRequest(r *domain.RequestRecord) RequestView {
	v := RequestView{
		RequestRow: ShowRequest(r, nil), Document: a.Document(r.Code), Fields: r.Fields, ClientID: r.ClientID, KeyID: string(r.KeyID),
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

// pathParameter is a part of a route that stands for an ID.
var pathParameter = regexp.MustCompile(`\{[a-z_]+\}`)

// again writes the call down as curl. Of what the log does not keep there are
// placeholders, and the body is the sample of the documentation.
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
