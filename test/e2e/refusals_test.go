package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// The query comes before the body in the order of checks.
func TestAQueryIsRefusedBeforeTheBody(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		for query, problem := range map[string]string{
			"?limit=":                 "limit too_short",
			"?limit=1&limit=2":        "limit invalid_format",
			"?status=&created_after=": "created_after too_short status too_short",
		} {
			for _, body := range []any{"{", strings.Repeat(" ", 65<<10), m{"a": 1}} {
				a := c.send(http.MethodGet, "/deliveries"+query, body).refused(422, "VALIDATION_ERROR")
				var told []string
				for i := range a.count("error.details.fields") {
					at := "error.details.fields." + string(rune('0'+i))
					told = append(told, a.text(at+".field"), a.text(at+".code"))
				}
				if got := strings.Join(told, " "); got != problem {
					t.Errorf("%s: %q", query, got)
				}
			}
		}
		// A bad value is judged with the fields, and those come after the body.
		c.send(http.MethodGet, "/deliveries?limit=0", "{").refused(400, "INVALID_REQUEST")
		c.send(http.MethodGet, "/deliveries?page=1", strings.Repeat(" ", 65<<10)).refused(400, "INVALID_REQUEST").
			has("error.details.field", "page")
	})
}

func TestTheDescriptionTakesNoParametersAndNoBody(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live).withKey("")
		for _, path := range []string{"/openapi.json", "/openapi.yaml"} {
			c.get(path).is(200)
			c.get(path+"?v=1").refused(400, "INVALID_REQUEST").has("error.details.field", "v")
			c.send(http.MethodGet, path, m{"a": 1}).refused(400, "INVALID_REQUEST")
			c.send(http.MethodGet, path, m{}).is(200)
		}
	})
}

func TestMetricsTellOfPricesKeysAndConnections(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		c.send(http.MethodPost, "/quotes", aTrip()).is(200)
		key := newKeyText()
		c.post("/deliveries", anOrder(), idem(key)).is(201)
		c.post("/deliveries", anOrder(), idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
		figures := s.ops(t, "/metrics")
		names := []string{
			`waybill_pricing_requests_total{result="priced"}`, `waybill_pricing_requests_total{result="unavailable"}`,
			`waybill_idempotency_total{result="created"}`, `waybill_idempotency_total{result="conflict"}`,
		}
		pools := []string{"live", "live_lists", "sandbox", "sandbox_lists", "background"}
		if s.dialect == sqlite {
			pools = append(pools, "write")
		}
		for _, pool := range pools {
			for _, name := range []string{"connections_open", "connections_in_use", "connections_max", "wait_seconds_total"} {
				names = append(names, "waybill_database_"+name+`{pool="`+pool+`"}`)
			}
		}
		if s.dialect == postgres { // as the description of database_pool_size shares out 24
			for pool, most := range map[string]string{"live": "9", "live_lists": "3", "sandbox": "4", "sandbox_lists": "2",
				"background": "4", "background_lists": "2"} {
				if want := `waybill_database_connections_max{pool="` + pool + `"} ` + most + "\n"; !strings.Contains(figures, "\n"+want) {
					t.Errorf("there is no %s", want)
				}
			}
		}
		for _, name := range names {
			if !strings.Contains(figures, "\n"+name+" ") {
				t.Errorf("there is no %s", name)
			}
		}
	})
}
