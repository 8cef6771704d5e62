package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/adapters/pages"
	"waybill/application/monitoring"
	"waybill/domain"
	"waybill/test/sample"
)

func init() {
	arrange = append(arrange, func(_ *testing.T, s *scene, o *console.Options) {
		o.API = pages.API{LiveBaseURL: "http://live.example/v1", SandboxBaseURL: "http://sandbox.example/v1", DocsURL: "/docs",
			Operations: func() []pages.Operation {
				return []pages.Operation{{Route: "POST /v1/deliveries", Summary: "Book a delivery", Sample: "{}"}, {Route: "GET /v1/deliveries"}}
			},
			RequestLog: pages.RequestLog{Mode: monitoring.LogAll, Keeping: domain.RequestLogKeeping{Successes: 72 * time.Hour,
				Failures: 720 * time.Hour}}}
	})
	furnish = append(furnish, func(t *testing.T, s *scene) {
		r := s.requested(t, s.delivery.Tenant, time.Second, func(r *domain.RequestRecord) {
			r.DeliveryID, r.ClientID, r.KeyID = s.delivery.ID, "their-own-name", domain.ID(s.ids[":key"])
		})
		s.ids[":request"] = string(r.ID)
		s.records = append(s.records, string(r.ID), "their-own-name")
	})
	add(map[string]row{"GET /requests": {may: everybody}, "GET /requests/:request": {may: everybody}, "GET /errors": {may: everybody}})
	states = append(states, []state{
		{name: "requests", role: domain.RoleSupport, path: "/requests", heading: "Requests", before: fails},
		{name: "requests-unreadable", role: domain.RoleViewer, path: "/requests?business=adom", heading: "Requests"},
		{name: "request", role: domain.RoleSupport, path: "/requests/:request", heading: "POST"},
		{name: "errors", role: domain.RoleSupport, path: "/errors?period=24h", heading: "Errors", before: fails},
	}...)
}

// requested keeps a request that was made so long ago.
func (s *scene) requested(t *testing.T, of domain.Tenant, ago time.Duration, with ...func(*domain.RequestRecord)) domain.RequestRecord {
	t.Helper()
	r := s.request(of, ago, with...)
	s.keep(t, r)
	return r
}

func (s *scene) keep(t *testing.T, requests ...domain.RequestRecord) {
	t.Helper()
	if _, err := s.Store.WriteRequests(t.Context(), strings.Repeat("a", 32), requests, nil); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) request(of domain.Tenant, ago time.Duration, with ...func(*domain.RequestRecord)) domain.RequestRecord {
	r := domain.RequestRecord{ID: sample.IDAt(domain.PrefixRequest, s.Clock.Now().Add(-ago)), Environment: of.Environment,
		BusinessID: of.BusinessID, ApplicationID: of.ApplicationID, Route: "POST /v1/deliveries", Status: 201,
		Took: 12 * time.Millisecond, Weight: 1, Network: "198.51.100.0/24", Agent: "shop/1.2"}
	for _, change := range with {
		change(&r)
	}
	return r
}

func failing(status int, code string) func(*domain.RequestRecord) {
	return func(r *domain.RequestRecord) { r.Status, r.Code = status, code }
}

// fails adds failures of two customers, and of callers that are none, to a scene.
func fails(t *testing.T, s *scene) {
	t.Helper()
	other := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "=Kente & Co", nil))
	foreign := domain.Tenant{BusinessID: other.ID, ApplicationID: s.app.ID, Environment: domain.Sandbox}
	var all []domain.RequestRecord
	for i := range 60 {
		all = append(all, s.request(s.delivery.Tenant, time.Duration(i)*time.Minute/2, failing(422, domain.CodeValidation)))
	}
	for i := range 3 {
		ago := time.Duration(i) * time.Hour
		all = append(all, s.request(foreign, ago+time.Minute, failing(422, domain.CodeValidation)))
		all = append(all, s.request(foreign, ago+time.Minute, failing(503, domain.CodeQuoteUnavailable)))
		all = append(all, s.request(domain.Tenant{Environment: domain.Live}, ago+time.Minute, failing(401, domain.CodeInvalidAPIKey)))
		all = append(all, s.request(s.delivery.Tenant, ago+time.Minute, func(r *domain.RequestRecord) { r.Route, r.Status = "GET /v1/deliveries", 200 }))
	}
	s.keep(t, all...)
}

var countTag = regexp.MustCompile(`<td data-label="Count" class="number"><a href="([^"]*)"[^>]*>([0-9,]+)</a>`)

func TestTheRequestsOfAllCustomersAreFilteredByWhatTheAddressSays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fails(t, s)
	r := s.signedIn(t, domain.RoleViewer)
	now := s.Clock.Now()
	for query, want := range map[string]int{
		"":                                  60 + 3*4 + 1,
		"environment=sandbox":               6,
		"class=5":                           3,
		"class=5&status=401":                0,
		"code=INVALID_API_KEY":              3,
		"business=none":                     3,
		"business=" + string(s.business.ID): 60 + 3 + 1,
		"route=" + url.QueryEscape("GET /v1/deliveries"): 3,
		"q=their-own-name":     1,
		"key=" + s.ids[":key"]: 1,
		"created_before=" + domain.FormatTime(now.Add(-time.Hour)):     2 * 4,
		"created_after=" + domain.FormatTime(now.Add(-75*time.Second)): 3 + 4 + 1,
	} {
		ids := walkList(t, r, "/requests?"+query)
		seen := map[string]bool{}
		for _, id := range ids {
			seen[id] = true
		}
		if len(ids) != want || len(seen) != want {
			t.Errorf("%s: %d requests, %d of them different, want %d", query, len(ids), len(seen), want)
		}
	}
	for _, query := range []string{"business=adom", "created_after=noon", "status=99"} {
		if p := r.get("/requests?" + query); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `role="alert"`) ||
			!strings.Contains(p.body, `<details open><summary>Filters`) {
			t.Errorf("%s: %d, or its field is folded", query, p.status)
		}
	}
}

func TestEachNumberOfTheErrorsIsTheLengthOfItsList(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fails(t, s)
	r := s.signedIn(t, domain.RoleSupport)
	for query, want := range map[string]struct{ kinds, failed int }{
		"": {4, 63}, "period=24h": {4, 69}, "period=24h&environment=sandbox": {2, 6}, "period=24h&business=none": {1, 3},
		"period=24h&business=" + string(s.business.ID): {1, 60}, "business=adom": {0, 0},
	} {
		p := r.get("/errors?" + query)
		counts, sum := countTag.FindAllStringSubmatch(p.body, -1), 0
		for _, m := range counts {
			n, _ := strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
			sum += n
			if ids := walkList(t, r, strings.TrimPrefix(html.UnescapeString(m[1]), console.Prefix)); len(ids) != n {
				t.Errorf("%s: the number is %d, and its list has %d: %s", query, n, len(ids), m[1])
			}
		}
		if len(counts) != want.kinds || sum != want.failed {
			t.Errorf("%s: %d kinds and %d failures, want %+v", query, len(counts), sum, want)
		}
	}
}

func TestOneRequestLeadsToItsCustomerItsKeyAndItsDelivery(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fails(t, s)
	r := s.signedIn(t, domain.RoleViewer)
	p := r.get("/requests/" + s.ids[":request"])
	for _, want := range []string{s.business.Name, s.app.Name, "their-own-name", "198.51.100.0/24",
		`href="/console/businesses/` + string(s.business.ID) + `"`, `href="/console/deliveries/` + s.ids[":delivery"] + `"`,
		`href="/console/businesses/` + string(s.business.ID) + `/apps/` + string(s.app.ID) + `"`,
		`href="/console/requests?delivery=` + s.ids[":delivery"] + `"`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page of a request does not have %s", want)
		}
	}
	if strings.Contains(p.body, string(s.delivery.Recipient.PhoneNumber)) {
		t.Error("a viewer reads the recipient's phone number")
	}
	if at := r.get("/deliveries/" + s.ids[":delivery"]); !strings.Contains(at.body, `href="/console/requests/`+s.ids[":request"]+`"`) {
		t.Error("the delivery does not lead to its request")
	}
	foreign := walkList(t, r, "/requests?business=none")[0]
	if p := r.get("/requests/" + foreign); p.status != http.StatusOK || !strings.Contains(p.body, "no valid key was sent") {
		t.Errorf("a request of an unknown caller: %d", p.status)
	}
	for _, id := range []string{"req_1", string(sample.IDAt(domain.PrefixRequest, s.Clock.Now()))} {
		if p := r.get("/requests/" + id); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", id, p.status)
		}
	}
}
