package opsapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/opsapi"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/contract"
	"waybill/test/stage"
)

// scene is the operations API on a database of its own. It checks every response against the
// description.
type scene struct {
	*stage.Stage
	server  *httptest.Server
	tenants *access.Tenants
	token   string
	id      domain.ID // of the token
	logged  *stage.Log
}

// ghana accepts numbers that begin with +233.
type ghana struct{ stage.FoldCase }

func (ghana) PhonePart(string) (string, bool) { return "", false }

func (ghana) PhoneNumber(typed string) (domain.PhoneNumber, bool) {
	return domain.PhoneNumber(typed), strings.HasPrefix(typed, "+233") && len(typed) == 13
}

// windows counts what was taken. Its windows never end.
type windows map[string]int

func (w windows) Take(_ context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	b := buckets[0]
	if w[b.Name] >= b.Limit.Limit {
		return ports.Allowance{Limit: b.Limit, RetryAfter: 17 * time.Second}, nil
	}
	w[b.Name]++
	return ports.Allowance{Admitted: true, Limit: b.Limit}, nil
}
func (w windows) Peek(ctx context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	panic("not for operators")
}
func (w windows) GiveBack(_ context.Context, buckets ...ports.Bucket) error {
	w[buckets[0].Name]--
	return nil
}

var everyMinute = access.FailedOperators{Limit: 60, Window: time.Minute}

func newScene(t *testing.T) *scene {
	t.Helper()
	d := &scene{Stage: stage.New(t), logged: &stage.Log{}}
	d.tenants = access.NewTenants(d.Store, stage.Digester{}, d.Clock, d.IDs, stage.Unheard{})
	issued, err := d.tenants.IssueOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, "Dispatch", domain.OperatorAdmin, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.token, d.id = issued.Secret, issued.ID
	operated := deliveries.NewOperations(d.Store, d.Clock, d.IDs, stage.Renderer{})
	metrics := prometheus.NewRegistry()
	api := opsapi.New(opsapi.Options{
		Metrics: metrics, Log: slog.New(slog.NewTextHandler(d.logged, nil)),
		Management: &opsapi.Management{
			UseCases: opsapi.UseCases{
				Operators:       access.NewOperators(d.Store, windows{}, stage.Digester{}, d.Clock, everyMinute),
				Tenants:         d.tenants,
				PickupLocations: directory.NewPickupLocations(d.Store, d.Gate(d.Store), d.Clock, d.IDs),
				Operations:      operated,
				Moves:           bulk.NewMoves(d.Store, operated, d.Clock, d.IDs, slog.New(slog.NewTextHandler(d.logged, nil))),
				People:          people.NewDirectory(d.Store, d.Clock, d.IDs, false),
				Normalizer:      ghana{}, Identifiers: d.IDs,
			},
			CursorKeys: [][32]byte{{1}}, TrackingBaseURL: "http://127.0.0.1/track", PortalBaseURL: "https://portal.example.com",
			Metrics: opsapi.NewMetrics(metrics),
		},
	})
	d.server = httptest.NewServer(api.Handler())
	t.Cleanup(d.server.Close)
	return d
}

type reply struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
	data   map[string]any
}

// send sends a request with the token. Headers come in pairs, and an empty value removes one.
func (d *scene) send(t *testing.T, method, path, body string, headers ...string) *reply {
	t.Helper()
	req, err := http.NewRequest(method, d.server.URL+"/ops/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := d.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := &reply{t: t, what: method + " " + path, status: res.StatusCode, header: res.Header, body: string(content)}
	if err := contract.LoadOperations(t).Check(req, res, content); err != nil {
		t.Error(err)
	}
	if r.header.Get("X-Request-ID") == "" {
		t.Errorf("%s: no X-Request-ID", r.what)
	}
	_ = json.Unmarshal(content, &r.data)
	return r
}

func (r *reply) is(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s answered %d, want %d: %s", r.what, r.status, status, r.body)
	}
	return r
}

func (r *reply) refused(status int, code string) *reply {
	r.t.Helper()
	if r.status != status || r.text("error", "code") != code {
		r.t.Fatalf("%s answered %d, want %d %s: %s", r.what, r.status, status, code, r.body)
	}
	return r
}

// at finds a value by names and numbers.
func (r *reply) at(path ...any) any {
	var value any = r.data
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[fmt.Sprint(step)]
		case []any:
			if i, ok := step.(int); ok && i < len(v) {
				value = v[i]
			} else {
				return nil
			}
		default:
			return nil
		}
	}
	return value
}

func (r *reply) text(path ...any) string {
	if value := r.at(path...); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

func (r *reply) id() string { return r.text("data", "id") }

// fields returns the fields that a 422 names, each with its code.
func (r *reply) fields() string {
	list, _ := r.at("error", "details", "fields").([]any)
	var out []string
	for _, f := range list {
		field := f.(map[string]any)
		out = append(out, fmt.Sprint(field["field"], " ", field["code"]))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestTheRoutesAreThoseThatAreDescribed(t *testing.T) {
	t.Parallel()
	var described, served []string
	for _, o := range contract.LoadOperations(t).Operations() {
		described = append(described, o.Method+" "+o.Path)
	}
	for _, r := range opsapi.Routes() {
		served = append(served, r.Method+" "+r.Path)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described %q\nserved %q", described, served)
	}
}

func TestEveryRouteButTheDescriptionAsksForAToken(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	for _, r := range opsapi.Routes() {
		path := strings.NewReplacer("{environment}", "live", "{", "", "}", "").Replace(r.Path)
		got := d.send(t, r.Method, path, "", "Authorization", "")
		if r.Open != strings.HasPrefix(path, "/openapi.") || r.Open && got.status != 200 || !r.Open && got.status != 401 {
			t.Errorf("%s %s answered %d: %s", r.Method, path, got.status, got.body)
		}
	}
	for sent, reason := range map[string]string{
		"Basic abc": "malformed", "Bearer": "malformed", "Bearer  x": "malformed", "Bearer x": "malformed",
		"Bearer " + d.token[:len(d.token)-1]:                               "malformed",
		"Bearer " + domain.MakeAPIKey(domain.Live, [32]byte{}):             "malformed",
		"Bearer " + domain.MakeOperatorToken([32]byte{200, 201, 202, 203}): "unknown",
	} {
		got := d.send(t, "GET", "/audit", "", "Authorization", sent).refused(401, "INVALID_OPERATOR_TOKEN")
		if got.text("error", "details", "reason") != reason || got.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%q: %s", sent, got.body)
		}
	}
}

func TestFailuresOfAnAddressAreLimitedAndATokenThatWorksIsNotShutOut(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	newAdmin, err := d.tenants.IssueOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, "New admin", domain.OperatorAdmin, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 { // what succeeds is not counted
		d.send(t, "GET", "/audit", "").is(200)
	}
	for range everyMinute.Limit {
		d.send(t, "GET", "/audit", "", "Authorization", "").is(401)
	}
	for _, sent := range []string{"", "Bearer " + domain.MakeOperatorToken([32]byte{200, 201, 202, 203})} {
		if got := d.send(t, "GET", "/audit", "", "Authorization", sent).refused(429, "RATE_LIMIT_EXCEEDED"); got.header.Get(
			"Retry-After") != "17" {
			t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
		}
	}
	d.send(t, "GET", "/audit", "", "Authorization", "Bearer "+newAdmin.Secret).is(200) // it was never used
	d.send(t, "GET", "/audit", "").is(200)
	if _, err := d.tenants.RevokeOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, d.id); err != nil {
		t.Fatal(err)
	}
	for range 2 { // trust ends with the token
		d.send(t, "GET", "/audit", "").refused(429, "RATE_LIMIT_EXCEEDED")
	}
}

func TestARevokedOrExpiredTokenStopsAtOnce(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	d.send(t, "GET", "/audit", "").is(200)
	brief, err := d.tenants.IssueOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, "Brief", domain.OperatorAdmin, new(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	d.send(t, "GET", "/audit", "", "Authorization", "Bearer "+brief.Secret).is(200)
	d.Clock.GoOn(time.Hour)
	d.send(t, "GET", "/audit", "", "Authorization", "Bearer "+brief.Secret).refused(401, "OPERATOR_TOKEN_EXPIRED")
	if _, err := d.tenants.RevokeOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, d.id); err != nil {
		t.Fatal(err)
	}
	d.send(t, "GET", "/audit", "").refused(401, "OPERATOR_TOKEN_REVOKED")
}

func TestARequestKeepsItsIDAndIsLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	got := d.send(t, "POST", "/businesses", `{"name":"Zed Foods"}`, "X-Request-ID", "trace.1").is(201)
	if got.header.Get("X-Request-ID") != "trace.1" {
		t.Errorf("X-Request-ID %q", got.header.Get("X-Request-ID"))
	}
	entry := d.send(t, "GET", "/audit?target="+got.id(), "").is(200)
	if !strings.HasPrefix(entry.text("data", 0, "request_id"), "req_") || entry.text("data", 0, "operator", "id") != string(d.id) ||
		entry.text("data", 0, "operator", "name") != "Dispatch" {
		t.Errorf("audit %s", entry.body)
	}
	if _, line, _ := strings.Cut(d.logged.String(), "\"operations request\""); strings.HasPrefix(line, " request_id=trace.1") {
		t.Errorf("what the caller chose is logged as ours: %s", line)
	}
	for _, want := range []string{" request_id=req_", " client_request_id=trace.1", "operator_id=" + string(d.id), "route=/ops/v1/businesses",
		"status=201"} {
		if !strings.Contains(d.logged.String(), want) {
			t.Errorf("%q is not logged: %s", want, d.logged)
		}
	}
	d.send(t, "GET", "/audit", "", "Authorization", "Bearer nonsense").refused(401, "INVALID_OPERATOR_TOKEN")
	if !strings.Contains(d.logged.String(), "status=401") || !strings.Contains(d.logged.String(), " client_network=127.0.0.0/24\n") {
		t.Errorf("the network is not logged: %s", d.logged)
	}
	for _, secret := range []string{d.token, "Zed", "127.0.0.1"} {
		if strings.Contains(d.logged.String(), secret) {
			t.Errorf("%q was logged", secret)
		}
	}
}
