package portal_test

import (
	"encoding/csv"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
	"waybill/ports"
)

// operations are some of the public API.
func operations() []pages.Operation {
	return []pages.Operation{
		{Route: "GET /v1/deliveries", Summary: "List deliveries"},
		{Route: "POST /v1/deliveries", Summary: "Book a delivery", Scopes: []domain.Scope{domain.ScopeDeliveriesWrite},
			Sample: "{\n  \"note\": \"Ama's gate\"\n}"},
		{Route: "GET /v1/deliveries/{delivery_id}", Summary: "Get a delivery"},
	}
}

// sandboxCall and its like change a request that succeeded on live.
func sandboxCall(r *domain.RequestRecord) { r.Environment = domain.Sandbox }
func refused(r *domain.RequestRecord) {
	r.Status, r.Code, r.Fields = 422, domain.CodeValidation, []string{"recipient.address.latitude:out_of_range", "vehicle_type", "telephone:meant:phone_number"}
}

func on(route string) func(*domain.RequestRecord) {
	return func(r *domain.RequestRecord) { r.Route = route }
}

func before(d time.Duration) func(*domain.RequestRecord) {
	return func(r *domain.RequestRecord) { r.ID = domain.ID((-d.Abs()).String()) }
}

// called puts a request of the house's program into the log, and into the usage.
func (s *scene) called(t *testing.T, h house, with ...func(*domain.RequestRecord)) domain.ID {
	t.Helper()
	return s.calledOften(t, 1, h, with...)
}

// calledOften is called for many of the same, of which the log keeps one.
func (s *scene) calledOften(t *testing.T, times int64, h house, with ...func(*domain.RequestRecord)) domain.ID {
	t.Helper()
	r := domain.RequestRecord{
		Environment: domain.Live, BusinessID: h.business.ID, ApplicationID: h.app.ID, Route: "POST /v1/deliveries", Status: 201,
		Took:      12 * time.Millisecond,
		KeyDigest: []byte{0xab, 0xcd, 1, 2, 3, 4, 5, 6}, Network: "198.51.100.0/24", Agent: "shop/1.2", Weight: 1,
	}
	for _, change := range with {
		change(&r)
	}
	at := s.Clock.Now()
	if ago, err := time.ParseDuration(string(r.ID)); err == nil {
		at = at.Add(ago)
	}
	var id [16]byte
	for i, ms := 0, at.UnixMilli(); i < 6; i++ {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(id[6:], s.IDs.ID(domain.PrefixRequest).Hex()[22:])
	r.ID, r.KeyID = domain.MakeID(domain.PrefixRequest, id), h.key[r.Environment].ID
	writer := s.IDs.ID(domain.PrefixRequest).Hex()
	_, err := s.Store.WriteRequests(t.Context(), writer, []domain.RequestRecord{r}, []domain.UsageMinute{{
		Minute: at.Truncate(time.Minute), Environment: r.Environment, BusinessID: r.BusinessID, ApplicationID: r.ApplicationID, KeyID: r.KeyID,
		Route:  r.Route,
		Status: r.Status, Code: r.Code, Calls: times, Took: time.Duration(times) * r.Took,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// busyDay is a day as a shop has it, for pages that are looked at.
func (s *scene) busyDay(t *testing.T) {
	t.Helper()
	for hour := range 24 {
		ago := before(-time.Duration(hour)*time.Hour - 7*time.Minute)
		s.calledOften(t, int64(400+300*((hour*7)%5)), s.house, ago)
		s.calledOften(t, int64(900+200*((hour*3)%4)), s.house, ago, on("GET /v1/deliveries/{delivery_id}"), func(r *domain.RequestRecord) {
			r.Status, r.Weight = 200, 10
		})
		s.calledOften(t, int64(10+(hour*11)%90), s.house, ago, sandboxCall, refused)
		if hour%6 == 0 {
			s.calledOften(t, 40, s.house, ago, on("GET /v1/deliveries"), func(r *domain.RequestRecord) {
				r.Status, r.Code = 429, "RATE_LIMIT_EXCEEDED"
			})
			s.calledOften(t, 2, s.house, ago, func(r *domain.RequestRecord) { r.Status, r.Code, r.Took = 503, "SERVICE_UNAVAILABLE", 8*time.Second })
		}
	}
}

var rowTag = regexp.MustCompile(`<tr[^>]* data-id="([^"]*)"`)

// rows are the records of the tables of a page.
func (p page) rows() (ids []string) {
	for _, m := range rowTag.FindAllStringSubmatch(p.body, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// walk is the records of a list, page by page to its end. The pattern finds the address of the next page.
func (r *reader) walk(path, next string) (ids []string, pages int) {
	r.t.Helper()
	for further := regexp.MustCompile(next); path != "" && pages < 20; pages++ {
		p := r.get(path)
		ids, path = append(ids, p.rows()...), ""
		if m := further.FindStringSubmatch(p.body); m != nil {
			path = html.UnescapeString(m[1])
		}
	}
	return ids, pages
}

func TestAFilterOfRequestsIsAnAddressAndLetsThroughWhatItSays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	old := s.called(t, s.house, on("GET /v1/deliveries"), func(r *domain.RequestRecord) { r.Status = 200 }, before(5*time.Hour))
	live := s.called(t, s.house, func(r *domain.RequestRecord) { r.ClientID, r.Weight = "order-7", 10 })
	gone := s.called(t, s.house, sandboxCall, func(r *domain.RequestRecord) { r.Status, r.Code = 503, "SERVICE_UNAVAILABLE" })
	reader, noon := s.signedIn(t, s.house, domain.RoleViewer), s.Clock.Now()
	for query, want := range map[string][]domain.ID{
		"":                                      {gone, s.house.request},
		"environment=live&failed=false":         {live, old},
		"environment=live":                      {live, old},
		"application=" + string(s.house.app.ID): {gone, s.house.request},
		"application=" + string(s.other.app.ID): {},
		"status=503":                            {gone},
		"failed=true":                           {gone, s.house.request},
		"failed=false":                          {},
		"code=validation_error":                 {s.house.request},
		"environment=live&route=" + url.QueryEscape("GET /v1/deliveries"):                    {old},
		"delivery=" + string(s.house.delivery):                                               {s.house.request},
		"delivery=" + string(s.other.delivery):                                               {},
		"key=" + string(s.house.key[domain.Live].ID):                                         {live, old},
		"request_id=order-7":                                                                 {live},
		"request_id=" + string(old):                                                          {old},
		"environment=live&created_before=" + noon.Add(-time.Hour).Format("2006-01-02T15:04"): {old},
		"created_after=" + noon.Add(-time.Hour).Format(time.RFC3339):                         {gone, s.house.request},
		"q=" + string(old):                                                                   {old},
		"q=" + string(s.other.request):                                                       {},
		"q=order-7":                                                                          {live},
		"q=503":                                                                              {gone},
		"q=SERVICE_UNAVAILABLE":                                                              {gone},
		"q=" + string(s.house.delivery):                                                      {s.house.request},
		"q=" + string(s.house.key[domain.Sandbox].ID):                                        {gone, s.house.request},
		"q=nothing+like+this":                                                                {},
		"environment=live&failed=true":                                                       {},
		"environment=nowhere":                                                                {},
	} {
		reader.get("/?environment=sandbox&application=" + string(s.house.app.ID))
		p := reader.get("/requests?" + query)
		got := p.rows()
		if p.status != http.StatusOK || len(got) != len(want) {
			t.Errorf("%s: %d with %v, want %v", query, p.status, got, want)
			continue
		}
		for i := range want {
			if got[i] != string(want[i]) {
				t.Errorf("%s: %v, want %v", query, got, want)
				break
			}
		}
		if len(want) == 0 && !strings.Contains(p.body, `<div class="empty">`) {
			t.Errorf("%s: the empty list does not say what to do", query)
		}
	}
	p := reader.get("/requests?environment=live&application=")
	for _, text := range []string{"×10", "Failures are kept for 30 days", `title="14 March 2026, `, ">201<", "Requests without a valid key are not listed"} {
		if !strings.Contains(p.body, text) {
			t.Errorf("the list does not have %q", text)
		}
	}
	for _, query := range []string{"status=abc", "status=42", "created_after=yesterday", "code=" + strings.Repeat("A", 65),
		"q=" + strings.Repeat("a", 129)} {
		p := reader.get("/requests?" + query)
		name, _, _ := strings.Cut(query, "=")
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `<a href="#`+name+`">`) || len(p.rows()) != 0 {
			t.Errorf("%s: %d, or no problem is told at its field", query, p.status)
		}
	}
}

func TestPagesOfRequestsGoOnWhereTheOneBeforeEnded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	want := map[string]bool{}
	for range 119 {
		want[string(s.called(t, s.house))] = true
	}
	ids, pages := s.signedIn(t, s.house, domain.RoleViewer).walk("/requests?environment=live", `href="([^"]*cursor=[^"]*)" rel="next"`)
	for _, id := range ids {
		if !want[id] {
			t.Errorf("%s is there twice", id)
		}
		delete(want, id)
	}
	if len(want) != 0 || pages != 3 {
		t.Errorf("%d pages leave out %d requests", pages, len(want))
	}
	if p := s.signedIn(t, s.other, domain.RoleViewer).get("/requests?cursor=" + string(s.called(t, s.house))); len(p.rows()) != 1 {
		t.Errorf("a cursor of another business leads to %v", p.rows())
	}
}

func TestARequestIsShownWithTheCallThatWouldSendItAgainAndNoKey(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	reader := s.signedIn(t, s.house, domain.RoleViewer)
	p := reader.get("/requests/" + string(s.house.request))
	for _, text := range []string{
		`curl -i -X POST &#34;http://sandbox.example/v1/deliveries&#34;`, `-H &#34;Authorization: Bearer $WAYBILL_API_KEY&#34;`,
		`-H &#34;Idempotency-Key: $IDEMPOTENCY_KEY&#34;`,
		`Ama&#39;\&#39;&#39;s gate`, "the sample of the documentation", `href="http://sandbox.example/docs/errors/VALIDATION_ERROR"`,
		"<code>recipient.address.latitude</code>: <code>out_of_range</code>, -90 to 90", "<code>vehicle_type</code></li>", "did you mean <code>phone_number</code>?",
		"abcd010203040506", "shop/1.2", "198.51.100.0/24", string(s.house.delivery), "kept for 30 days",
		"…" + s.house.key[domain.Sandbox].LastFour, "Book a delivery",
	} {
		if !strings.Contains(p.body, text) {
			t.Errorf("the page does not have %s", text)
		}
	}
	for _, key := range s.house.key {
		if strings.Contains(p.body, key.Secret) {
			t.Error("the page has the key")
		}
	}
	got := reader.get("/requests/" + string(s.called(t, s.house, on("GET /v1/deliveries/{delivery_id}"), func(r *domain.RequestRecord) {
		r.Status, r.DeliveryID, r.KeyDigest = 200, s.house.delivery, nil
	})))
	if !strings.Contains(got.body, `curl -i &#34;http://live.example/v1/deliveries/`+string(s.house.delivery)+`&#34;`) ||
		strings.Contains(got.body, "sample of the documentation") ||
		strings.Contains(got.body, "IDEMPOTENCY_KEY") || !strings.Contains(got.body, "kept for 3 days") {
		t.Errorf("the page of a read:\n%s", got.body)
	}
	unknown := reader.get("/requests/" + string(s.called(t, s.house, on("GET /v1/recipients/{recipient_id}"), func(r *domain.RequestRecord) {
		r.KeyDigest = nil
	})))
	if !strings.Contains(unknown.body, "http://live.example/v1/recipients/$ID") ||
		!strings.Contains(unknown.body, "with the ID that you called") {
		t.Error("an ID that is not kept has no placeholder")
	}
}

func TestErrorsAreCountedByCodeAndRouteAndLeadToExactlyThose(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	late := func(r *domain.RequestRecord) { r.Status, r.Code, r.Fields = 429, "RATE_LIMIT_EXCEEDED", nil }
	limited := s.calledOften(t, 7, s.house, late, on("GET /v1/deliveries"))
	s.calledOften(t, 3, s.house, on("GET /v1/deliveries"), func(r *domain.RequestRecord) { r.Status = 200 })
	s.calledOften(t, 90, s.house, late, before(3*24*time.Hour))
	s.calledOften(t, 50, s.other, late, on("GET /v1/deliveries"))
	reader := s.signedIn(t, s.house, domain.RoleViewer)
	s.called(t, s.house, refused)
	p := reader.get("/errors?environment=live")
	want := []string{"GET /v1/deliveries 429 RATE_LIMIT_EXCEEDED", "POST /v1/deliveries 422 VALIDATION_ERROR"}
	if got := p.rows(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("the groups are %v, want %v", got, want)
	}
	if !strings.Contains(p.body, ">70 %<") || !strings.Contains(p.body, `href="http://sandbox.example/docs/errors/RATE_LIMIT_EXCEEDED"`) {
		t.Error("the share of the calls of its route, or the error's page, is not told")
	}
	link := regexp.MustCompile(`href="(/requests\?[^"]*)"[^>]*>7</a>`).FindStringSubmatch(p.body)
	if link == nil {
		t.Fatalf("no link to the requests in\n%s", p.body)
	}
	if got := reader.get(html.UnescapeString(link[1])).rows(); len(got) != 1 || got[0] != string(limited) {
		t.Errorf("the number leads to %v, want %s", got, limited)
	}
	if got := reader.get("/errors?period=7d").rows(); len(got) != 3 || got[0] != "POST /v1/deliveries 429 RATE_LIMIT_EXCEEDED" {
		t.Errorf("of 7 days: %v", got)
	}
	if p := reader.get("/errors?environment=live&application=" + string(s.other.app.ID)); len(p.rows()) != 0 ||
		!strings.Contains(p.body, "No errors") {
		t.Errorf("of a foreign application: %v", p.rows())
	}
}

func TestUsageIsExactAndItsFileHasNoFormula(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	app := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, s.house.business.ID,
		`=HYPERLINK("http://evil.example")`))
	sly := s.house
	sly.app, sly.key = app, map[domain.Environment]tenancyKey{}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		sly.key[e] = must[tenancyKey](t)(s.tenants.IssueKey(t.Context(), operator, app.ID, e, domain.AllScopes(), nil))
	}
	s.calledOften(t, 300, s.house)
	s.calledOften(t, 40, sly, on("GET /v1/deliveries"), before(2*time.Hour))
	s.calledOften(t, 9, sly, refused)
	s.calledOften(t, 1000, s.other)
	reader := s.signedIn(t, s.house, domain.RoleViewer)
	p := reader.get("/usage?environment=live&application=")
	for _, text := range []string{">349</a>", ">9</a> <small>2.6 %</small>", "600 requests in a minute", "1,200 requests in a minute", "50 %",
		"Deliveries booked in this time", "<dt>Fees</dt>"} {
		if !strings.Contains(p.body, text) {
			t.Errorf("the page does not have %s", text)
		}
	}
	file := reader.get("/usage.csv")
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	if err != nil || !strings.HasPrefix(file.header.Get("Content-Type"), "text/csv") ||
		!strings.Contains(file.header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("%v, %v", err, file.header)
	}
	sum := 0
	for _, row := range rows[1:] {
		n, _ := strconv.Atoi(row[8])
		sum += n
	}
	if sum != 349 || !strings.Contains(file.body, "'=HYPERLINK") {
		t.Errorf("the file counts %d requests, want 349:\n%s", sum, file.body)
	}
	if p := reader.get("/usage?application=" + string(app.ID)); !strings.Contains(p.body, ">49</a>") {
		t.Error("the usage of an application is not its own alone")
	}
	if p := reader.get("/usage?period=1h&environment=sandbox&application="); !strings.Contains(p.body, ">1</a>") {
		t.Error("the usage of the last hour in the sandbox is not 1")
	}
}

func TestKeysTellWhatTheyCalledAndRevokingWhatStillUsesThem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.calledOften(t, 12, s.house, on("GET /v1/deliveries"), before(3*time.Hour))
	s.calledOften(t, 5, s.house)
	s.calledOften(t, 77, s.house, on("GET /v1/events"), before(25*time.Hour))
	s.calledOften(t, 88, s.other)
	reader := s.signedIn(t, s.house, domain.RoleOwner)
	key := s.house.key[domain.Live]
	for path, p := range map[string]page{
		"keys":   reader.get(s.house.keysPath(domain.Live)),
		"revoke": reader.get(s.house.keysPath(domain.Live) + "/" + string(key.ID) + "/revoke"),
	} {
		if !strings.Contains(p.body, "17 calls in") || !strings.Contains(p.body, ">GET /v1/deliveries</a>") ||
			strings.Contains(p.body, "/v1/events") {
			t.Errorf("%s does not tell what the key called in 24 hours:\n%s", path, p.body)
		}
	}
	s.wait(30 * time.Hour)
	reader = s.signedIn(t, s.house, domain.RoleOwner)
	if p := reader.get(s.house.keysPath(domain.Live)); !strings.Contains(p.body, "no call in 24 hours") {
		t.Error("a key that is not used any more looks as if it were")
	}
}

func TestHomeTellsOfErrorsThatRise(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	reader := s.signedIn(t, s.house, domain.RoleViewer)
	s.calledOften(t, 1000, s.house, before(5*time.Hour))
	s.calledOften(t, 9, s.house, refused)
	if p := reader.get("/"); strings.Contains(p.body, "Errors are rising") {
		t.Error("9 errors are told as rising")
	}
	s.calledOften(t, 92, s.house, sandboxCall, refused)
	if p := reader.get("/"); strings.Contains(p.body, "Errors are rising") {
		t.Error("errors of the sandbox, which are sought there, are told as rising")
	}
	s.calledOften(t, 92, s.house, refused, func(r *domain.RequestRecord) { r.Code = "OUTSIDE_SERVICE_AREA" })
	p := reader.get("/")
	if !strings.Contains(p.body, "Errors are rising") || !strings.Contains(p.body, `href="/errors?environment=live&amp;period=1h"`) ||
		!strings.Contains(p.body, "101 of 101 live requests") {
		t.Errorf("rising errors are not told:\n%s", p.body)
	}
	s.calledOften(t, 1000, s.house, refused, before(4*time.Hour))
	s.calledOften(t, 400, s.house)
	if p := reader.get("/"); strings.Contains(p.body, "Errors are rising") {
		t.Error("errors that were as many before are told as rising")
	}
}

func TestPagesSaySoWhenTheLogCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	reader := s.signedIn(t, s.house, domain.RoleOwner)
	for name, err := range map[string]error{"slow": ports.ErrTookTooLong, "gone": ports.ErrStorageGone,
		"locked":            &domain.Error{Kind: domain.KindUnavailable, Message: "Another change"},
		"without its table": errors.New(`relation "request_log" does not exist`)} {
		s.storage.breakLog(err)
		for _, path := range []string{"/requests", "/requests/" + string(s.house.request), "/errors", "/usage", "/usage.csv"} {
			if p := reader.get(path); p.status != http.StatusServiceUnavailable || !strings.Contains(p.body, "Your API calls are not affected") ||
				p.header.Get("Retry-After") == "" {
				t.Errorf("%s, %s: %d", name, path, p.status)
			}
		}
		for _, path := range []string{"/", s.house.keysPath(domain.Live), s.house.keysPath(domain.Live) + "/" +
			string(s.house.key[domain.Live].ID) + "/revoke"} {
			if p := reader.get(path); p.status != http.StatusOK || !strings.Contains(p.body, "The request log cannot be read right now") ||
				strings.Contains(p.body, "no call in 24 hours") {
				t.Errorf("%s, %s: %d, or it does not say that the log cannot be read", name, path, p.status)
			}
		}
	}
	s.storage.breakLog(nil)
	if p := reader.get("/requests?environment=sandbox"); len(p.rows()) != 1 {
		t.Errorf("afterwards %v", p.rows())
	}
}

func TestACallThatLackedItsIdempotencyKeyIsWrittenDownWithOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.called(t, s.house, func(r *domain.RequestRecord) {
		r.Status, r.Code, r.KeyDigest = 400, domain.CodeIdempotencyKeyRequired, nil
	})
	p := s.signedIn(t, s.house, domain.RoleViewer).get("/requests/" + string(id))
	for _, text := range []string{"Idempotency-Key: $IDEMPOTENCY_KEY", "It lacked an Idempotency-Key", "$WAYBILL_API_KEY"} {
		if !strings.Contains(html.UnescapeString(p.body), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

func TestACallOfAPathThatTheAPIDoesNotHaveIsToldInWords(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.called(t, s.house, refused, on("GET none"))
	r := s.signedIn(t, s.house, domain.RoleViewer)
	for _, path := range []string{"/errors", "/usage", "/requests"} {
		if p := r.get(path + "?environment=live"); !strings.Contains(p.body, "(unknown path)") {
			t.Errorf("%s has\n%s", path, p.body)
		}
	}
}

func TestUsageHasDeliveriesByStatusFeesAndTheDelayOfWebhooks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.followed(t)
	s.fails(t, s.house, domain.Sandbox)
	p := s.signedIn(t, s.house, domain.RoleViewer).get("/usage")
	for _, text := range []string{">booked</span> 2", ">failed</span> 1", " GHS</dd>", "median of the last 1 delivered"} {
		if !strings.Contains(p.body, text) {
			t.Errorf("usage lacks %q\n%s", text, p.body)
		}
	}
	if strings.Contains(p.body, `class="chart"`) || !strings.Contains(s.signedIn(t, s.house, domain.RoleViewer).get("/usage?period=7d").body, `class="chart"`) {
		t.Error("a day has a chart, or a week has none")
	}
}
