package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waybill/adapters/httpapi"
	"waybill/test/contract"
)

const dlv = "/deliveries/dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847"

func TestEveryDocumentedExampleIsAGoodAnswer(t *testing.T) {
	t.Parallel()
	d, doc := contract.Load(t), description(t)
	checked := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for text, ref := range op.Responses.Map() {
				status, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				for mediaType, content := range ref.Value.Content {
					if !strings.HasPrefix(path, "/openapi.") {
						if len(content.Examples) == 0 {
							t.Fatalf("%s %s %s %s has no example", method, path, text, mediaType)
						}
					}
					for name := range content.Examples {
						s := example(t, doc, method, path, status, name)
						if err := s.check(d); err != nil {
							t.Fatalf("example %s: %v", name, err)
						}
						checked++
					}
				}
			}
		}
	}
	if checked <= 150 {
		t.Fatalf("checked: %v, want more than 150", checked)
	}
}

func TestAnswersWithoutAnExampleAreAcceptedToo(t *testing.T) {
	t.Parallel()
	d, doc := contract.Load(t), description(t)

	notModified := example(t, doc, "GET", "/deliveries/{delivery_id}", 304, "")
	notModified.passes(t, d)
	notModified.text = "{}"
	notModified.fails(t, d, "a body where none is documented")

	asJSON := example(t, doc, "GET", "/openapi.json", 200, "")
	asJSON.text = string(httpapi.OpenAPI.JSON())
	asJSON.passes(t, d)

	asYAML := example(t, doc, "GET", "/openapi.yaml", 200, "")
	asYAML.text = string(httpapi.OpenAPI.YAML())
	asYAML.passes(t, d)

	malformedID := example(t, doc, "GET", "/deliveries/{delivery_id}", 404, "notFound")
	malformedID.path = "/deliveries/rubbish"
	malformedID.passes(t, d)

	replay := example(t, doc, "POST", "/deliveries", 201, "sandbox")
	replay.header.Set("Idempotent-Replayed", "true")
	replay.header.Set("Content-Type", "application/json; charset=utf-8")
	replay.request = http.Header{"X-Request-Id": {replay.header.Get("X-Request-ID")}}
	replay.passes(t, d)
}

func TestViolationsAreRefused(t *testing.T) {
	t.Parallel()
	d, doc := contract.Load(t), description(t)
	set := func(where string, value any) func(*sample) { return func(s *sample) { s.set(where, value) } }
	header := func(name, value string) func(*sample) { return func(s *sample) { s.header.Set(name, value) } }
	without := func(name string) func(*sample) { return func(s *sample) { s.header.Del(name) } }
	for _, c := range []struct {
		flaw                  string
		method, path, example string
		status                int
		damage                func(*sample)
		want                  string
	}{
		{"an unknown field in a delivery", "GET", "/deliveries/{delivery_id}", "onTheWay", 200, set("data.rider", "Kofi"), "rider"},
		{"an unknown field in a nested object", "POST", "/deliveries", "sandbox", 201, set("data.recipient.email", "a@b.c"), "email"},
		{"an unknown field beside data", "POST", "/quotes", "priced", 200, set("extra", 1), "extra"},
		{"an unknown field in a list", "GET", "/recipients", "page", 200, set("data.0.notes", "x"), "notes"},
		{"an unknown field beside error", "GET", "/deliveries/{delivery_id}", "notFound", 404, set("data", map[string]any{}), "data"},
		{"details where none are allowed", "GET", "/deliveries/{delivery_id}", "notFound", 404, set("error.details", map[string]any{"id": "x"}),
			"details"},
		{"a missing field", "POST", "/deliveries", "sandbox", 201, set("data.tracking_url", nil), "tracking_url"},
		{"null in place of an absent field", "POST", "/recipients", "added", 201, func(s *sample) {
			s.body["data"].(map[string]any)["name"] = nil
		}, "name"},
		{"an ID in upper case", "POST", "/recipients", "added", 201, set("data.id", "rcp_0198F3A1552F7C60B8D7E4A1930F2C5B"), "pattern"},
		{"an ID of another kind", "GET", "/pickup-locations", "page", 200, set("data.0.id", "dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847"), "pattern"},
		{"a reference with an I", "GET", "/deliveries", "page", 200, set("data.0.reference", "IK3M-Q9XT-2WHB"), "pattern"},
		{"a time without milliseconds", "GET", "/deliveries/{delivery_id}", "onTheWay", 200, set("data.created_at", "2025-08-29T02:22:48Z"),
			"pattern"},
		{"a time that is none", "GET", "/deliveries/{delivery_id}", "onTheWay", 200, set("data.created_at", "2025-13-29T02:22:48.910Z"),
			"date-time"},
		{"a phone number in national form", "GET", "/recipients/{recipient_id}", "nameless", 200, set("data.phone_number", "0241234567"),
			"pattern"},
		{"three decimals of money", "POST", "/quotes", "priced", 200, set("data.fee", 34.505), "multipleOf"},
		{"a fee beside a custom quote", "POST", "/quotes", "custom", 200, set("data.fee", 10), "not"},
		{"no fee and no custom quote", "POST", "/quotes", "priced", 200, set("data.fee", nil), "fee"},
		{"a goods value without cash on delivery", "GET", "/deliveries", "page", 200, set("data.0.payment.goods_value", 5), "oneOf"},
		{"a live delivery with a simulation", "GET", "/deliveries/{delivery_id}", "onTheWay", 200, set("data.simulation", map[string]any{}),
			"simulation"},
		{"a sandbox delivery without one", "POST", "/deliveries", "sandbox", 201, set("data.simulation", nil), "simulation"},
		{"a status nobody knows", "GET", "/deliveries/{delivery_id}/events", "cancelled", 200, set("data.0.status", "lost"),
			"value must be one of"},
		{"a reason on an event that needs none", "GET", "/deliveries/{delivery_id}/events", "cancelled", 200, set("data.0.reason_code", "other"),
			"not"},
		{"a cancelled delivery that is not", "POST", "/deliveries/{delivery_id}/cancel", "cancelled", 200, set("data.status", "booked"),
			"cancelled"},
		{"complete without a contact", "GET", "/pickup-locations/{pickup_location_id}", "incomplete", 200, set("data.complete", true),
			"complete"},
		{"more pages without a cursor", "GET", "/deliveries", "none", 200, set("meta.has_more", true), "next_cursor"},
		{"statusCode of another status", "POST", "/recipients", "added", 201, set("statusCode", 200), "statusCode"},
		{"success in a failure", "GET", "/api-key", "missing", 401, set("success", true), "success"},
		{"an error code of another status", "GET", "/api-key", "missing", 401, set("error.code", "NOT_FOUND"), "code"},
		{"an error code of another call", "POST", "/recipients", "noKey", 400, set("error.code", "SANDBOX_ONLY_FIELD"), "code"},
		{"details of another code", "POST", "/deliveries", "externalId", 409, set("error.code", "IDEMPOTENCY_CONFLICT"), "details"},
		{"an unknown field code", "POST", "/deliveries", "fields", 422, set("error.details.fields.0.code", "bad"), "value must be one of"},
		{"an unknown limit scope", "GET", "/deliveries", "key", 429, set("error.details.scope", "planet"), "scope"},
		{"a bulk item that is booked and failed", "POST", "/deliveries/bulk", "oneFailed", 207,
			set("data.results.1.error", map[string]any{"code": "NOT_FOUND", "message": "x"}), "error"},
		{"a bulk item without its delivery", "POST", "/deliveries/bulk", "allBooked", 201, set("data.results.0.delivery", nil), "delivery"},
		{"an unknown field in a delivery of a bulk", "POST", "/deliveries/bulk", "oneFailed", 207, set("data.results.1.delivery.rider", "Kofi"),
			"rider"},
		{"details in a bulk item", "POST", "/deliveries/bulk", "oneFailed", 207, set("data.results.0.error.details", map[string]any{}),
			"details"},
		{"a bulk item whose request is at fault", "POST", "/deliveries/bulk", "oneFailed", 207,
			set("data.results.0.error.code", "SANDBOX_ONLY_FIELD"), "value must be one of"},
		{"201 for a bulk with a failure", "POST", "/deliveries/bulk", "allBooked", 201, set("data.failed", 1), "failed"},
		{"201 for a bulk with a failed item", "POST", "/deliveries/bulk", "allBooked", 201,
			set("data.results.1", map[string]any{"index": 1, "status": "failed", "error": map[string]any{"code": "NOT_FOUND", "message": "x"}}),
			"created"},
		{"207 for a bulk without a failure", "POST", "/deliveries/bulk", "oneFailed", 207, set("data.failed", 0), "minimum"},
		{"207 for a bulk without a failed item", "POST", "/deliveries/bulk", "noneBooked", 207, set("data.results", []any{}), "minItems"},
		{"the status 200 in a bulk", "POST", "/deliveries/bulk", "oneFailed", 207, set("statusCode", 200), "statusCode"},
		{"a problem of no item", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors.0.index", nil), "index"},
		{"a problem of the 101st item", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors.0.index", 100), "maximum"},
		{"a problem that is none of an item", "POST", "/deliveries/bulk", "items", 422,
			set("error.details.errors.0.code", "EXTERNAL_ID_CONFLICT"), "value must be one of"},
		{"a duplicate at the first item", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors.2.index", 0), "minimum"},
		{"a bulk that failed for nothing", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors", []any{}), "minItems"},
		{"no Retry-After for an unfinished bulk", "POST", "/deliveries/bulk", "inProgress", 409, without("Retry-After"),
			"IDEMPOTENCY_IN_PROGRESS needs"},
		{"a running simulation without its next step", "POST", "/deliveries", "scenario", 201, func(s *sample) {
			s.body["data"].(map[string]any)["simulation"].(map[string]any)["next_step_at"] = nil
		}, "next_step_at"},
		{"a stopped simulation with a next step", "DELETE", "/test-helpers/deliveries/{delivery_id}/simulation", "stopped", 200,
			set("data.simulation.next_step_at", "2025-08-29T02:27:38.880Z"), "next_step_at"},
		{"a manual simulation that runs", "POST", "/deliveries", "sandbox", 201, set("data.simulation.status", "stopped"), "oneOf"},
		{"a scenario of another length", "POST", "/deliveries", "scenario", 201, set("data.simulation.steps_total", 4), "oneOf"},
		{"a scenario of another length that is one of others", "DELETE", "/test-helpers/deliveries/{delivery_id}/simulation", "stopped", 200,
			set("data.simulation.steps_total", 8), "oneOf"},
		{"a scenario that is complete before its last step", "GET", "/deliveries/{delivery_id}", "simulated", 200, func(s *sample) {
			s.set("data.simulation.status", "completed")
			s.body["data"].(map[string]any)["simulation"].(map[string]any)["next_step_at"] = nil
		}, "oneOf"},
		{"a scenario that runs past its last step", "GET", "/deliveries/{delivery_id}", "simulated", 200, set("data.simulation.step", 8),
			"oneOf"},
		{"a scenario nobody knows", "POST", "/deliveries", "scenario", 201, set("data.simulation.scenario", "lost_at_sea"), "scenario"},
		{"a cancelled delivery whose simulation runs", "POST", "/deliveries/{delivery_id}/cancel", "simulated", 200, func(s *sample) {
			s.set("data.simulation.status", "running")
			s.set("data.simulation.next_step_at", "2025-08-29T02:27:38.880Z")
		}, "running"},
		{"a stop that stopped nothing", "DELETE", "/test-helpers/deliveries/{delivery_id}/simulation", "stopped", 200, func(s *sample) {
			s.set("data.simulation.status", "running")
			s.set("data.simulation.next_step_at", "2025-08-29T02:27:38.880Z")
		}, "running"},
		{"a start from another status", "POST", "/test-helpers/deliveries/{delivery_id}/simulation", "running", 200,
			set("data.status", "assigned"), "booked"},
		{"a live delivery from a helper", "POST", "/test-helpers/deliveries/{delivery_id}/transition", "assigned", 200, func(s *sample) {
			s.set("data.environment", "live")
			s.set("data.simulated", false)
			s.set("data.simulation", nil)
		}, "environment"},
		{"a move to booked", "POST", "/test-helpers/deliveries/{delivery_id}/transition", "assigned", 200, set("data.status", "booked"),
			"value must be one of"},
		{"a refused move without what is allowed", "POST", "/test-helpers/deliveries/{delivery_id}/transition", "skipped", 409,
			set("error.details.allowed_statuses", nil), "allowed_statuses"},
		{"a running simulation told without its next step", "POST", "/test-helpers/deliveries/{delivery_id}/transition", "running", 409,
			set("error.details.next_step_at", nil), "next_step_at"},
		{"a move refused for a payment", "POST", "/test-helpers/deliveries/{delivery_id}/transition", "skipped", 409,
			set("error.code", "SIMULATION_NOT_APPLICABLE"), "oneOf"},
		{"no scenario to a delivery that is booked", "POST", "/deliveries", "unfit", 409, set("error.details.applicable_scenarios", []any{}),
			"minItems"},
		{"a scenario to a delivery that has moved on", "POST", "/test-helpers/deliveries/{delivery_id}/simulation", "movedOn", 409,
			set("error.details.applicable_scenarios", []any{"manual"}), "maxItems"},
		{"another limit of simulations", "POST", "/deliveries", "simulations", 429, set("error.details.limit", 50), "limit"},
		{"a limit of simulations without Retry-After", "POST", "/deliveries", "simulations", 429, without("Retry-After"),
			"Retry-After is missing"},
		{"a limit of simulations for a bulk", "POST", "/deliveries/bulk", "key", 429, func(s *sample) {
			s.set("error", map[string]any{"code": "SIMULATION_LIMIT", "details": map[string]any{"limit": 100, "running": 100}})
		}, "RATE_LIMIT_EXCEEDED"},
		{"a missing price for a whole bulk", "POST", "/deliveries/bulk", "noData", 503, set("error.code", "QUOTE_UNAVAILABLE"),
			"SERVICE_UNAVAILABLE"},
		{"a status that is not documented", "GET", "/recipients", "page", 200, func(s *sample) { s.status = 404 }, "not documented"},
		{"a missing price where nothing is priced", "GET", "/recipients", "noData", 503, set("error.code", "QUOTE_UNAVAILABLE"),
			"SERVICE_UNAVAILABLE"},
		{"no Retry-After where there is no data", "GET", "/recipients", "noData", 503, without("Retry-After"), "Retry-After is missing"},
		{"no request ID", "GET", "/api-key", "testKey", 200, without("X-Request-ID"), "X-Request-ID is missing"},
		{"no limit", "GET", "/deliveries", "page", 200, without("RateLimit-Limit"), "RateLimit-Limit is missing"},
		{"no remaining", "POST", "/deliveries", "externalId", 409, without("RateLimit-Remaining"), "RateLimit-Remaining is missing"},
		{"no reset on a 304", "GET", "/deliveries/{delivery_id}", "", 304, without("RateLimit-Reset"), "RateLimit-Reset is missing"},
		{"a reset that is a time", "GET", "/deliveries", "page", 200, header("RateLimit-Reset", "2025-08-29T02:22:48Z"), "RateLimit-Reset"},
		{"more remaining than the limit", "GET", "/deliveries", "page", 200, header("RateLimit-Remaining", "601"), "over RateLimit-Limit"},
		{"no Retry-After on 429", "GET", "/deliveries", "key", 429, without("Retry-After"), "Retry-After is missing"},
		{"no Retry-After on 503", "POST", "/quotes", "noPrice", 503, without("Retry-After"), "Retry-After is missing"},
		{"no Retry-After while in progress", "POST", "/deliveries", "inProgress", 409, without("Retry-After"), "IDEMPOTENCY_IN_PROGRESS needs"},
		{"no Location", "POST", "/deliveries", "sandbox", 201, without("Location"), "Location is missing"},
		{"a Location of something else", "POST", "/deliveries", "sandbox", 201,
			header("Location", "/v1/deliveries/dlv_00000000000000000000000000000000"), "does not lead to"},
		{"no ETag", "GET", "/deliveries/{delivery_id}/events", "cancelled", 200, without("ETag"), "ETag is missing"},
		{"an ETag without quotes", "GET", "/deliveries/{delivery_id}", "onTheWay", 200, header("ETag", "abc"), "ETag"},
		{"an answer whose type may be guessed", "GET", "/deliveries", "page", 200, without("X-Content-Type-Options"),
			"X-Content-Type-Options is"},
		{"an answer that a cache may keep", "GET", "/deliveries", "page", 200, without("Cache-Control"), "Cache-Control is"},
		{"an error that a cache may keep", "POST", "/deliveries", "externalId", 409, header("Cache-Control", "public, max-age=60"),
			"Cache-Control is"},
		{"a tagged answer that the client may not keep", "GET", "/deliveries/{delivery_id}", "onTheWay", 200,
			header("Cache-Control", "private, no-store"), "Cache-Control is"},
		{"a 304 that the client may not keep", "GET", "/deliveries/{delivery_id}", "", 304, header("Cache-Control", "private, no-store"),
			"Cache-Control is"},
		{"a replay that says false", "POST", "/recipients", "known", 200, header("Idempotent-Replayed", "false"), "Idempotent-Replayed"},
		{"HTML", "GET", "/deliveries", "page", 200, header("Content-Type", "text/html"), "text/html"},
		{"no content type", "GET", "/deliveries", "page", 200, without("Content-Type"), "Content-Type"},
		{"no body", "GET", "/deliveries", "page", 200, func(s *sample) { s.body = nil }, "not JSON"},
		{"trailing content", "GET", "/deliveries", "page", 200, func(s *sample) { s.body, s.text = nil, "{} {}" }, "not JSON"},
		{"another request ID than was sent", "GET", "/api-key", "testKey", 200, func(s *sample) {
			s.request = http.Header{"X-Request-Id": {"mine"}}
		}, "came back as"},
	} {
		t.Run(c.flaw, func(t *testing.T) {
			t.Parallel()
			s := example(t, doc, c.method, c.path, c.status, c.example)
			s.passes(t, d)
			c.damage(s)
			s.fails(t, d, c.want)
		})
	}
}

func TestCallsThatAreNotDocumentedMustBeRefusedProperly(t *testing.T) {
	t.Parallel()
	d, doc := contract.Load(t), description(t)
	shared := func(component string, status int, method, path, name string) *sample {
		s := &sample{method: method, path: path, status: status, header: http.Header{}}
		fill(t, s, doc.Components.Responses[component].Value, name)
		return s
	}

	for _, path := range []string{"/nothing", "/recipients/", "/deliveries//events", "/deliveries/bulk/more/still", "/"} {
		s := shared("NotFound", 404, "GET", path, "notFound")
		s.passes(t, d)
		s.status = 200
		s.fails(t, d, "not documented")
	}

	// One address of two paths: the method tells which is meant.
	oddID := shared("NotFound", 404, "GET", "/deliveries/bulk", "notFound")
	oddID.passes(t, d)
	oddID.method = "POST"
	oddID.fails(t, d, "not documented")
	neither := shared("MethodNotAllowed", 405, "DELETE", "/deliveries/bulk", "wrongMethod")
	neither.passes(t, d)
	neither.header.Set("Allow", "GET")
	neither.fails(t, d, "lacks POST")

	wrong := shared("MethodNotAllowed", 405, "DELETE", "/deliveries", "wrongMethod")
	wrong.passes(t, d)
	wrong.header.Set("Allow", "GET")
	wrong.fails(t, d, "lacks POST")
	wrong.header.Set("Allow", "DELETE, GET, POST")
	wrong.fails(t, d, "was refused")
	wrong.header.Del("Allow")
	wrong.fails(t, d, "Allow is missing")
	wrong.status = 404
	wrong.fails(t, d, "not documented")

	head := shared("MethodNotAllowed", 405, "HEAD", "/deliveries", "")
	head.header.Del("Content-Type")
	head.passes(t, d)

	form := shared("UnsupportedMediaType", 415, "GET", "/deliveries", "notJson")
	form.fails(t, d, "not documented")
	form.requestBody = "a=b"
	form.passes(t, d)
	large := shared("PayloadTooLarge", 413, "POST", dlv+"/cancel", "tooLarge")
	large.passes(t, d)

	// What only the sandbox has is no address on live, whatever the method.
	for _, method := range []string{"GET", "POST", "DELETE"} {
		onLive := shared("NotFound", 404, method, "/test-helpers"+dlv+"/simulation", "notFound")
		onLive.passes(t, d)
	}
	inSandbox := shared("MethodNotAllowed", 405, "GET", "/test-helpers"+dlv+"/simulation", "wrongMethod")
	inSandbox.header.Set("Allow", "DELETE, POST")
	inSandbox.passes(t, d)
	elsewhere := shared("NotFound", 404, "DELETE", "/deliveries", "notFound")
	elsewhere.fails(t, d, "not documented")
}

func TestAForcedErrorIsAnAnswerToEveryCall(t *testing.T) {
	t.Parallel()
	d, doc := contract.Load(t), description(t)
	for _, c := range []struct {
		component, example, code string
		status                   int
	}{
		{"QuoteUnavailable", "noPrice", "QUOTE_UNAVAILABLE", 503},
		{"IdempotencyConflict", "inProgress", "IDEMPOTENCY_IN_PROGRESS", 409},
		{"RateLimited", "key", "RATE_LIMIT_EXCEEDED", 429},
		{"InternalServerError", "internal", "INTERNAL_SERVER_ERROR", 500},
		{"ValidationFailed", "sandboxError", "nonsense", 422},
	} {
		documented := c.status == 429 || c.status == 500
		for _, call := range []string{"GET /api-key", "GET " + dlv, "POST " + dlv + "/cancel"} {
			method, path, _ := strings.Cut(call, " ")
			s := &sample{method: method, path: path, status: c.status, header: http.Header{}}
			fill(t, s, doc.Components.Responses[c.component].Value, c.example)
			if !documented && method == "GET" {
				s.fails(t, d, "")
			}
			s.request = http.Header{"X-Sandbox-Error": {c.code}}
			s.passes(t, d)
			s.set("error.code", "NOT_FOUND")
			s.fails(t, d, "")
		}
	}
}

func TestOperationsAreTheOnesOfThisVersion(t *testing.T) {
	t.Parallel()
	var got []string
	for _, op := range contract.Load(t).Operations() {
		call := op.Method + " " + op.Path
		if op.SandboxOnly {
			call += ", sandbox only"
		}
		got = append(got, call)
	}
	if diff := cmp.Diff([]string{
		"GET /api-key",
		"GET /deliveries", "POST /deliveries",
		"POST /deliveries/bulk",
		"GET /deliveries/{delivery_id}",
		"POST /deliveries/{delivery_id}/cancel",
		"GET /deliveries/{delivery_id}/events",
		"GET /events",
		"GET /openapi.json", "GET /openapi.yaml",
		"GET /pickup-locations", "POST /pickup-locations",
		"GET /pickup-locations/{pickup_location_id}", "PATCH /pickup-locations/{pickup_location_id}",
		"POST /quotes",
		"GET /recipient-addresses/{address_id}",
		"GET /recipients", "POST /recipients",
		"GET /recipients/{recipient_id}",
		"GET /recipients/{recipient_id}/addresses", "POST /recipients/{recipient_id}/addresses",
		"DELETE /test-helpers/deliveries/{delivery_id}/simulation, sandbox only",
		"POST /test-helpers/deliveries/{delivery_id}/simulation, sandbox only",
		"POST /test-helpers/deliveries/{delivery_id}/transition, sandbox only",
		"GET /webhook-deliveries/{webhook_delivery_id}",
		"GET /webhook-deliveries/{webhook_delivery_id}/attempts",
		"POST /webhook-deliveries/{webhook_delivery_id}/redeliver",
		"GET /webhook-endpoints", "POST /webhook-endpoints",
		"DELETE /webhook-endpoints/{webhook_endpoint_id}", "GET /webhook-endpoints/{webhook_endpoint_id}",
		"PATCH /webhook-endpoints/{webhook_endpoint_id}",
		"GET /webhook-endpoints/{webhook_endpoint_id}/deliveries",
		"POST /webhook-endpoints/{webhook_endpoint_id}/recover",
		"POST /webhook-endpoints/{webhook_endpoint_id}/rotate-secret",
		"POST /webhook-endpoints/{webhook_endpoint_id}/test",
		"POST /webhook-listeners, sandbox only",
		"DELETE /webhook-listeners/{webhook_listener_id}, sandbox only",
		"POST /webhook-listeners/{webhook_listener_id}/fetch, sandbox only",
	}, got); diff != "" {
		t.Fatalf("got (-want +got):\n%s", diff)
	}
}

func TestTransportReportsWhatIsWrongAndRestoresTheBody(t *testing.T) {
	t.Parallel()
	d, doc := contract.Load(t), description(t)
	answer := example(t, doc, "GET", "/deliveries", 200, "none")
	text, err := json.Marshal(answer.body)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("connection lost")
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		res := &http.Response{StatusCode: 200, Header: answer.header.Clone(), Body: io.NopCloser(bytes.NewReader(text))}
		switch req.URL.Query().Get("flaw") {
		case "status":
			res.StatusCode = 201
		case "network":
			return nil, broken
		}
		return res, nil
	})
	var reported []error
	client := http.Client{Transport: d.Transport(base, func(err error) { reported = append(reported, err) })}
	get := func(path, flaw string) string {
		res, err := client.Get("http://127.0.0.1:8080" + path + "?flaw=" + url.QueryEscape(flaw))
		if err != nil {
			if !errors.Is(err, broken) {
				t.Fatalf("err: %v, want %v", err, broken)
			}
			return ""
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}

	if got := get("/v1/deliveries", ""); got != string(text) {
		t.Fatalf("an answer as documented: %q, want %q", got, string(text))
	}
	if got := get("/docs", ""); got != string(text) {
		t.Fatalf("an answer outside /v1: %q, want %q", got, string(text))
	}
	if got := get("/v1/deliveries", "network"); got != "" {
		t.Fatalf("a lost connection: %q, want none", got)
	}
	if len(reported) != 0 {
		t.Fatalf("reported: %v, want none", reported)
	}
	if got := get("/v1/deliveries", "status"); got != string(text) {
		t.Fatalf("an answer with another status: %q, want %q", got, string(text))
	}
	if len(reported) != 1 {
		t.Fatalf("reported: %v, want 1 of them", reported)
	}
	if err := reported[0]; err == nil || !strings.Contains(err.Error(), "GET /v1/deliveries answered 201") {
		t.Fatalf("reported[0]: %v, want GET /v1/deliveries answered 201 in it", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
