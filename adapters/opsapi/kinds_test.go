package opsapi_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/opsapi"
	"waybill/domain"
	"waybill/test/stage"
)

// opens states a second time what a kind may call, by a rule of its own.
func opens(kind domain.OperatorKind, r opsapi.Route) bool {
	switch kind {
	case domain.OperatorAdmin:
		return true
	case domain.OperatorReadOnly:
		return r.Method == "GET"
	case domain.OperatorDispatcher:
		return slices.Contains([]string{"GET /deliveries", "GET /deliveries/{delivery_id}", "POST /deliveries/{delivery_id}/advance",
			"POST /deliveries/advance", "GET /events"},
			r.Method+" "+r.Path)
	}
	return false
}

func TestEachKindOfTokenOpensItsRoutesAndNoOther(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	kept := func() int { return len(d.send(t, "GET", "/audit", "").is(200).at("data").([]any)) }
	before, made := kept(), 0
	for _, kind := range domain.OperatorKinds() {
		issued, err := d.tenants.IssueOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, "One of "+string(kind), kind, new(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		made++
		for _, r := range opsapi.Routes() {
			if r.Open {
				continue
			}
			path := strings.NewReplacer("{environment}", "live", "{business_id}", "biz_"+strings.Repeat("0", 32), "{application_id}",
				"app_"+strings.Repeat("0", 32),
				"{key_id}", "key_"+strings.Repeat("0", 32), "{delivery_id}", "dlv_"+strings.Repeat("0", 32), "{pickup_location_id}",
				"pkp_"+strings.Repeat("0", 32)).Replace(r.Path)
			got := d.send(t, r.Method, path, "", "Authorization", "Bearer "+issued.Secret)
			if got.status == 401 || (got.status == 403) == opens(kind, r) {
				t.Errorf("%s: %s %s answered %d: %s", kind, r.Method, r.Path, got.status, got.body)
			}
			if got.status == 403 {
				got.refused(403, "OPERATOR_KIND_REFUSED")
				if got.text("error", "details", "kind") != string(kind) {
					t.Errorf("%s: %s", kind, got.body)
				}
			}
		}
	}
	if after := kept(); after != before+made {
		t.Errorf("%d entries of the audit log became %d by making %d tokens", before, after, made)
	}
}

func TestABodyThatEndsAfterItsTokenWasRevokedChangesNothing(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	const body = `{"name":"Late"}`
	req, err := http.NewRequest("POST", d.server.URL+"/ops/v1/businesses", &stage.LateBody{Reader: strings.NewReader(body), Before: func() {
		if _, err := d.tenants.RevokeOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, d.id); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(body))
	req.Header = http.Header{"Expect": {"100-continue"}, "Content-Type": {"application/json"}, "Authorization": {"Bearer " + d.token}}
	res, err := d.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	made, err := d.Store.Read().Tenancy.Businesses(t.Context())
	if res.StatusCode != http.StatusUnauthorized || err != nil || len(made) > 0 {
		t.Errorf("%d, and there are %d businesses (%v)", res.StatusCode, len(made), err)
	}
}

// A dispatch system whose token is too weak does not lock its address out.
func TestATokenOfAnotherKindIsNoFailedAuthentication(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	issued, err := d.tenants.IssueOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, "Dispatch", domain.OperatorDispatcher,
		new(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for range everyMinute.Limit + 10 {
		d.send(t, "GET", "/audit", "", "Authorization", "Bearer "+issued.Secret).refused(403, "OPERATOR_KIND_REFUSED")
	}
	if logged := "operator_id=" + string(issued.ID); !strings.Contains(d.logged.String(), logged) {
		t.Errorf("no %s in the log: %s", logged, d.logged)
	}
}

func TestEachRefusedTokenIsCountedAndLoggedWithItsOperator(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	by := domain.AuditActor{Name: "test"}
	issue := func(kind domain.OperatorKind, lifetime *time.Duration) (id domain.ID, authorization string) {
		issued, err := d.tenants.IssueOperatorToken(t.Context(), by, "Dispatch", kind, lifetime)
		if err != nil {
			t.Fatal(err)
		}
		return issued.ID, "Bearer " + issued.Secret
	}
	revoked, revokedToken := issue(domain.OperatorAdmin, nil)
	if _, err := d.tenants.RevokeOperatorToken(t.Context(), by, revoked); err != nil {
		t.Fatal(err)
	}
	expired, expiredToken := issue(domain.OperatorAdmin, new(time.Nanosecond))
	reader, readerToken := issue(domain.OperatorReadOnly, nil)
	for authorization, want := range map[string]struct {
		status  int
		outcome string
		logged  domain.ID
	}{
		"":                      {401, "missing", ""},
		"Bearer svc_ops_" + "a": {401, "malformed", ""},
		"Bearer " + domain.MakeOperatorToken([32]byte{}): {401, "unknown", ""},
		revokedToken: {401, "revoked", revoked},
		expiredToken: {401, "expired", expired},
		readerToken:  {403, "kind", reader},
	} {
		count := func() bool {
			res, err := http.Get(d.server.URL + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			return strings.Contains(string(text), `waybill_operators_refused_total{outcome="`+want.outcome+`"} 1`)
		}
		before := count()
		got := d.send(t, "POST", "/businesses", `{"name":"x"}`, "Authorization", authorization)
		if got.status != want.status || before || !count() {
			t.Errorf("%s: %d, counted before %t, after %t", want.outcome, got.status, before, count())
		}
		lines := strings.Split(strings.TrimSpace(d.logged.String()), "\n")
		if last := lines[len(lines)-1]; want.logged != "" && !strings.Contains(last, "operator_id="+string(want.logged)) {
			t.Errorf("%s: logged %s", want.outcome, last)
		}
	}
}

func TestTheDescriptionNamesTheKindsOfEachRoute(t *testing.T) {
	t.Parallel()
	described := newScene(t).send(t, "GET", "/openapi.json", "").is(200)
	for _, r := range opsapi.Routes() {
		want := ""
		if len(r.Kinds) > 0 {
			want = fmt.Sprint(r.Kinds)
		}
		if got := described.text("paths", r.Path, strings.ToLower(r.Method), "x-operator-kinds"); got != want {
			t.Errorf("%s %s: described for %s, served for %s", r.Method, r.Path, got, want)
		}
	}
}

func TestAnOperatorsTokenOpensProfiles(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	profile := func(token string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+"/debug/pprof/heap?debug=1", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for kind, want := range map[domain.OperatorKind]int{domain.OperatorAdmin: 200, domain.OperatorReadOnly: 200,
		domain.OperatorDispatcher: 403} {
		issued, err := d.tenants.IssueOperatorToken(t.Context(), domain.AuditActor{Name: "test"}, string(kind), kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := profile(issued.Secret); status != want || strings.Contains(body, "heap profile") != (want == 200) {
			t.Errorf("%s: status %d, want %d: %.200s", kind, status, want, body)
		}
	}
	for _, token := range []string{"", "nonsense", d.token + "x"} {
		if status, body := profile(token); status != 401 || strings.Contains(body, "heap profile") {
			t.Errorf("token %q: status %d: %.200s", token, status, body)
		}
	}
}
