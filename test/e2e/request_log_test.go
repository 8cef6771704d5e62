package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// logged are the requests of an application in the request log, newest first, once
// there are as many.
func (o *operator) logged(app string, want int, more ...string) *answer {
	o.t.Helper()
	var found *answer
	eventually(o.t, fmt.Sprintf("%d requests are in the log", want), func() bool {
		found = o.get("/requests" + escaped(append([]string{"application", app, "limit", "100"}, more...)...))
		return found.count("data") >= want
	})
	if n := found.count("data"); n != want {
		o.t.Fatalf("%d requests are in the log, want %d: %s", n, want, found.body)
	}
	return found
}

func TestTheRequestLogTellsWhatWasAskedAndKeepsNoSecret(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, _ := s.operator(t, "--kind", "read-only")
		c := s.loner(t, sandbox)
		agent := func(name string) option { return func(r *http.Request) { r.Header.Set("User-Agent", name) } }
		key := newKeyText()
		order := anOrder()
		id := c.post("/deliveries", order, idem(key), agent("shop/1.2")).is(201).id()
		c.post("/deliveries", order, idem(key)).is(201).replayed(true)
		c.get("/deliveries/"+id, func(r *http.Request) { r.Header.Set("X-Request-ID", "order-7.1") }).is(200)
		refused := c.post("/deliveries", anOrder(set("vehicle_type", "rocket"))).refused(422, "VALIDATION_ERROR")
		c.get("/deliveries", agent("leaks "+c.key), func(r *http.Request) { r.Header.Set("X-Request-ID", c.key) }).is(200)
		c.get("/deliveries/dlv_1").refused(404, "NOT_FOUND")

		all := o.logged(c.app, 6)
		if strings.Contains(string(all.body), c.key) {
			t.Errorf("the key is in the log: %s", all.body)
		}
		all.has("data.5.route", "POST /v1/deliveries", "data.5.status", "201", "data.5.delivery_id", id, "data.5.user_agent", "shop/1.2",
			"data.5.environment", sandbox, "data.5.replayed", "false", "data.5.weight", "1",
			"data.4.replayed", "true", "data.4.delivery_id", id, "data.4.idempotency_key_digest", all.text("data.5.idempotency_key_digest"),
			"data.3.route", "GET /v1/deliveries/{delivery_id}", "data.3.client_request_id", "order-7.1", "data.3.delivery_id", id,
			"data.2.status", "422", "data.2.fields.0", "vehicle_type", "data.2.code", "VALIDATION_ERROR", "data.2.id",
			refused.header.Get("X-Request-ID"),
			"data.1.status", "200", "data.1.route", "GET /v1/deliveries", "data.0.status", "404", "data.0.code", "NOT_FOUND")

		for _, query := range [][]string{
			{"code", "VALIDATION_ERROR"}, {"status", "422"}, {"failed", "true", "status", "404"}, {"request_id", "order-7.1"},
			{"request_id", refused.header.Get("X-Request-ID")}, {"route", "GET /v1/deliveries"},
		} {
			o.logged(c.app, 1, query...)
		}
		o.logged(c.app, 3, "delivery", id)
		o.logged(c.app, 4, "failed", "false")
		page := o.get("/requests"+escaped("application", c.app, "limit", "4")).has("meta.has_more", "true")
		rest := o.get("/requests"+escaped("application", c.app, "limit", "4", "cursor", page.text("meta.next_cursor"))).has("meta.has_more",
			"false")
		if n := rest.count("data"); n != 2 {
			t.Errorf("%d requests are on the second page, want 2", n)
		}
		for _, wrong := range [][3]string{
			{"status", "99", "out_of_range"}, {"business", "biz_1", "invalid_format"}, {"failed", "maybe", "not_allowed"},
			{"created_after", "yesterday", "invalid_format"},
		} {
			o.send("GET", "/requests"+escaped(wrong[0], wrong[1]), nil).invalid(wrong[0] + " " + wrong[2])
		}
	})
}

func TestCallsOfWhatIsNotThereAndWithAnEndedKeyAreLoggedWithTheirCaller(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, _ := s.operator(t)
		c := s.loner(t, live)
		c.get("/nothing/0244123456").refused(404, "NOT_FOUND")
		c.send("PUT", "/deliveries", nil).refused(405, "METHOD_NOT_ALLOWED")
		all := o.logged(c.app, 2)
		if strings.Contains(string(all.body), "0244123456") {
			t.Errorf("the path that a caller made up is in the log: %s", all.body)
		}
		all.has("data.1.route", "GET none", "data.1.status", "404", "data.0.route", "PUT none", "data.0.status", "405")
		old := s.newKey(t, c.app, live, "all")
		s.command(t, "key", "revoke", old.id)
		c.withKey(old.secret).get("/deliveries").refused(401, "API_KEY_REVOKED")
		c.withKey(old.secret).get("/nothing").refused(404, "NOT_FOUND")
		o.logged(c.app, 4).has("data.1.code", "API_KEY_REVOKED", "data.1.route", "GET /v1/deliveries", "data.1.business_id",
			all.text("data.0.business_id"), "data.1.key_id", old.id, "data.0.status", "404", "data.0.key_id", old.id)
	})
}

// A caller without a good key leaves a record without a name. All unknown callers share
// one bound of failures a second, which other tests may have used up: so it calls on.
func TestAnUnknownCallerIsLoggedWithoutAName(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		o, _ := s.operator(t)
		c := s.loner(t, live).withKey(unknownKey(live))
		var calls []string
		var found *answer
		eventually(t, "one of the anonymous calls is in the log", func() bool {
			if len(calls) < 20 {
				calls = append(calls, c.get("/deliveries").refused(401, "INVALID_API_KEY").header.Get("X-Request-ID"))
			}
			for _, id := range calls {
				if found = o.get("/requests" + escaped("request_id", id)); found.count("data") == 1 {
					return true
				}
			}
			return false
		})
		found.has("data.0.code", "INVALID_API_KEY", "data.0.environment", live, "data.0.business_id", "null", "data.0.key_id", "null")
		if got := found.text("data.0.client_network"); !strings.HasSuffix(got, "/24") && !strings.Contains(got, "/56") {
			t.Errorf("the network is %s", got)
		}
	})
}
