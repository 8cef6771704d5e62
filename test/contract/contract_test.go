package contract_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"waybill/test/contract"
)

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
		{"a missing field", "POST", "/deliveries", "sandbox", 201, set("data.tracking_url", nil), "tracking_url"},
		{"null in place of an absent field", "POST", "/recipients", "added", 201, func(s *sample) {
			s.body["data"].(map[string]any)["name"] = nil
		}, "name"},
		{"an ID in upper case", "POST", "/recipients", "added", 201, set("data.id", "rcp_0198F3A1552F7C60B8D7E4A1930F2C5B"), "pattern"},
		{"a time that is none", "GET", "/deliveries/{delivery_id}", "onTheWay", 200, set("data.created_at", "2025-13-29T02:22:48.910Z"),
			"date-time"},
		{"three decimals of money", "POST", "/quotes", "priced", 200, set("data.fee", 34.505), "multipleOf"},
		{"a fee beside a custom quote", "POST", "/quotes", "custom", 200, set("data.fee", 10), "not"},
		{"a goods value without cash on delivery", "GET", "/deliveries", "page", 200, set("data.0.payment.goods_value", 5), "goods_value"},
		{"a live delivery with a simulation", "GET", "/deliveries/{delivery_id}", "onTheWay", 200, set("data.simulation", map[string]any{}),
			"simulation"},
		{"a status nobody knows", "GET", "/deliveries/{delivery_id}/events", "cancelled", 200, set("data.0.status", "lost"),
			"value must be one of"},
		{"an event type nobody knows", "GET", "/deliveries/{delivery_id}/events", "cancelled", 200, set("data.0.type", "delivery.lost"),
			"value must be one of"},
		{"an unknown field in the details of an error", "POST", "/deliveries", "externalId", 409, set("error.details.hint", "x"), "hint"},
		{"a code of no field", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors.0.code", "QUOTE_UNAVAILABLE"),
			"value must be one of"},
		{"a reason on an event that needs none", "GET", "/deliveries/{delivery_id}/events", "cancelled", 200, set("data.0.reason_code", "other"),
			"not"},
		{"a cancelled delivery that is not", "POST", "/deliveries/{delivery_id}/cancel", "cancelled", 200, set("data.status", "booked"),
			"cancelled"},
		{"complete without a contact", "GET", "/pickup-locations/{pickup_location_id}", "incomplete", 200, set("data.complete", true),
			"complete"},
		{"more pages without a cursor", "GET", "/deliveries", "none", 200, set("meta.has_more", true), "next_cursor"},
		{"statusCode of another status", "POST", "/recipients", "added", 201, set("statusCode", 200), "statusCode"},
		{"an error code of another status", "GET", "/api-key", "missing", 401, set("error.code", "NOT_FOUND"), "code"},
		{"an error code of another call", "POST", "/recipients", "noKey", 400, set("error.code", "SANDBOX_ONLY_FIELD"), "code"},
		{"details of another code", "POST", "/deliveries", "externalId", 409, set("error.code", "IDEMPOTENCY_CONFLICT"), "details"},
		{"a bulk item that is booked and failed", "POST", "/deliveries/bulk", "oneFailed", 207,
			set("data.results.1.error", map[string]any{"code": "NOT_FOUND", "message": "x"}), "error"},
		{"a bulk item whose request is at fault", "POST", "/deliveries/bulk", "oneFailed", 207,
			set("data.results.0.error.code", "SANDBOX_ONLY_FIELD"), "value must be one of"},
		{"201 for a bulk with a failure", "POST", "/deliveries/bulk", "allBooked", 201, set("data.failed", 1), "failed"},
		{"207 for a bulk without a failure", "POST", "/deliveries/bulk", "oneFailed", 207, set("data.failed", 0), "minimum"},
		{"a problem of no item", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors.0.index", nil), "index"},
		{"a problem of the 101st item", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors.0.index", 100), "maximum"},
		{"a duplicate at the first item", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors.2.index", 0), "minimum"},
		{"a bulk that failed for nothing", "POST", "/deliveries/bulk", "items", 422, set("error.details.errors", []any{}), "minItems"},
		{"no Retry-After for an unfinished bulk", "POST", "/deliveries/bulk", "inProgress", 409, without("Retry-After"),
			"IDEMPOTENCY_IN_PROGRESS needs"},
		{"a running simulation without its next step", "POST", "/deliveries", "scenario", 201, func(s *sample) {
			s.body["data"].(map[string]any)["simulation"].(map[string]any)["next_step_at"] = nil
		}, "next_step_at"},
		{"a stopped simulation with a next step", "DELETE", "/test-helpers/deliveries/{delivery_id}/simulation", "stopped", 200,
			set("data.simulation.next_step_at", "2025-08-29T02:27:38.880Z"), "next_step_at"},
		{"a scenario of another length", "POST", "/deliveries", "scenario", 201, set("data.simulation.steps_total", 4), "oneOf"},
		{"a scenario that is complete before its last step", "GET", "/deliveries/{delivery_id}", "simulated", 200, func(s *sample) {
			s.set("data.simulation.status", "completed")
			s.body["data"].(map[string]any)["simulation"].(map[string]any)["next_step_at"] = nil
		}, "oneOf"},
		{"a cancelled delivery whose simulation runs", "POST", "/deliveries/{delivery_id}/cancel", "simulated", 200, func(s *sample) {
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
		{"another limit of simulations", "POST", "/deliveries", "simulations", 429, set("error.details.limit", 50), "limit"},
		{"a limit of simulations without Retry-After", "POST", "/deliveries", "simulations", 429, without("Retry-After"),
			"Retry-After is missing"},
		{"a limit of simulations for a bulk", "POST", "/deliveries/bulk", "key", 429, func(s *sample) {
			s.set("error", map[string]any{"code": "SIMULATION_LIMIT", "details": map[string]any{"limit": 100, "running": 100}})
		}, "RATE_LIMIT_EXCEEDED"},
		{"a status that is not documented", "GET", "/recipients", "page", 200, func(s *sample) { s.status = 404 }, "not documented"},
		{"a missing price where nothing is priced", "GET", "/recipients", "noData", 503, set("error.code", "QUOTE_UNAVAILABLE"),
			"SERVICE_UNAVAILABLE"},
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
