package e2e

import (
	"net/http"
	"strings"
	"testing"

	"waybill/test/contract"
)

var forcedErrors = []struct {
	code   string
	status int
	wait   bool // comes with Retry-After
}{
	{"QUOTE_UNAVAILABLE", 503, true},
	{"RATE_LIMIT_EXCEEDED", 429, true},
	{"INTERNAL_SERVER_ERROR", 500, false},
	{"IDEMPOTENCY_IN_PROGRESS", 409, true},
}

// Every call that needs a key is described with the answers that can be forced on
// it, and has them: the client holds each against the description.
func TestTheDescriptionHasWhatCanBeForcedOnEveryCall(t *testing.T) {
	documented := contract.Load(t).Forced()
	if len(documented) != len(forcedErrors) {
		t.Errorf("%d answers are documented, and %d can be forced", len(documented), len(forcedErrors))
	}
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		answered := 0
		for _, e := range forcedErrors {
			if documented[e.code].Status != e.status {
				t.Errorf("%s is documented as %d, not %d", e.code, documented[e.code].Status, e.status)
			}
			for _, r := range rules {
				if r.scope == openToAll {
					continue
				}
				before, after, _ := strings.Cut(r.path, "{")
				_, after, _ = strings.Cut(after, "}")
				path := before + after
				if r.owner != ownerless {
					path = before + unknown("dlv_") + after
				}
				answered++
				a := c.send(r.method, path, nil, force(e.code)).refused(e.status, e.code)
				if (a.header.Get("Retry-After") != "") != e.wait {
					t.Errorf("%s: %s forced: Retry-After is %q", a.what, e.code, a.header.Get("Retry-After"))
				}
			}
		}
		if want := 4 * 37; answered != want { // every route but the two of the description
			t.Errorf("%d answers were forced, want %d", answered, want)
		}
	})
}

func force(code string) option { return with("X-Sandbox-Error", code) }

func TestAForcedErrorDoesNothingAndIsNotRemembered(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		for _, e := range forcedErrors {
			c := s.caller(t, sandbox)
			forced := func(a *answer) {
				t.Helper()
				if a.refused(e.status, e.code); !strings.Contains(a.text("message"), "X-Sandbox-Error") || a.header.Get("ETag") != "" {
					t.Errorf("%s forced: the message %q does not say so, or it has an ETag", e.code, a.text("message"))
				}
			}
			booked := c.post("/deliveries", anOrder()).is(201)
			at := "/deliveries/" + booked.id()
			// A call that is sound, and one that is not, before the scope is looked at.
			key, order := newKeyText(), anOrder(set("external_id", newExternalID()))
			forced(c.post("/deliveries", order, idem(key), force(e.code)))
			forced(c.post("/deliveries", "{", idem("short"), force(e.code)))
			forced(c.get(at, force(e.code), with("If-None-Match", "*")))
			forced(c.send("POST", at+"/cancel", nil, force(e.code)))
			limited := s.newClient(t, sandbox, s.newKey(t, c.app, sandbox, "quotes:read").secret)
			forced(limited.get("/deliveries", force(e.code)))
			// A caller without a key, or at an unknown path, does not get the forced error.
			c.withKey("").get("/api-key", force(e.code)).refused(401, "INVALID_API_KEY")
			c.get("/nothing", force(e.code)).refused(404, "NOT_FOUND")
			c.send("PUT", "/deliveries", nil, force(e.code)).refused(405, "METHOD_NOT_ALLOWED")

			if now := c.get(at).is(200); now.text("data") != booked.text("data") || len(c.get("/deliveries").is(200).ids()) != 1 {
				t.Errorf("%s forced: it left %s", e.code, now.body)
			}
			order["vehicle_type"] = "car"
			c.post("/deliveries", order, idem(key)).is(201).replayed(false)
			// Not even an answer that is remembered is given.
			forced(c.post("/deliveries", order, idem(key), force(e.code)))
			c.post("/deliveries", order, idem(key)).is(201).replayed(true)
			// On live nothing is forced.
			c.in(live).send("POST", "/quotes", aTrip(), force(e.code)).is(200)
		}
		// Forced errors raise no alert.
		if figures := s.ops(t, "/metrics"); strings.Contains(figures, `waybill_api_errors_total{code="INTERNAL_SERVER_ERROR"}`) {
			t.Error("a forced error is counted as one of ours")
		}
		c := s.caller(t, sandbox)
		for _, odd := range []string{"", "quote_unavailable", "QUOTE_UNAVAILABLE,RATE_LIMIT_EXCEEDED", "NOT_FOUND"} {
			c.get("/api-key", force(odd)).invalid("X-Sandbox-Error not_allowed")
		}
		twice := func(r *http.Request) {
			r.Header["X-Sandbox-Error"] = []string{"QUOTE_UNAVAILABLE", "QUOTE_UNAVAILABLE"}
		}
		c.get("/api-key", twice).invalid("X-Sandbox-Error not_allowed")
	})
}

// What the sandbox alone has counts like everything else.
func TestSandboxCallsAreCounted(t *testing.T) {
	limited(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		id := c.post("/deliveries", anOrder()).is(201).id()
		// Six in three seconds; the steps are as fast as they may be counted.
		for i, a := range []*answer{
			c.simulate(id, "delivered", 300).is(200), c.stop(id).is(200), c.move(id, "assigned").is(200),
			c.get("/api-key", force("QUOTE_UNAVAILABLE")).is(503),
		} {
			if left := a.number(t, "RateLimit-Remaining"); left < 4-i || left > 4 {
				t.Errorf("%s: %d remain of 6 after %d requests", a.what, left, i+2)
			}
		}
		// One that is asked for tells what the real one would, to a key that has hardly begun.
		a := s.loner(t, sandbox).get("/api-key", force("RATE_LIMIT_EXCEEDED")).refused(429, "RATE_LIMIT_EXCEEDED").
			has("error.details.scope", "key", "error.details.limit", "6", "error.details.window_seconds", "3")
		if !strings.Contains(a.text("message"), "6 requests in 3 s for this key are used up. Try again in 1 s. (Forced by ") {
			t.Errorf("its message is %q", a.text("message"))
		}
		if l, r, reset := a.number(t, "RateLimit-Limit"), a.number(t, "RateLimit-Remaining"), a.number(t, "RateLimit-Reset"); l != 6 || r != 0 ||
			reset != 1 {
			t.Errorf("its headers tell %d of %d until %d s", r, l, reset)
		}
		for range 20 {
			a := c.get("/api-key", force("QUOTE_UNAVAILABLE"))
			if a.status == http.StatusTooManyRequests {
				// The real one, which comes before any that is asked for.
				a.refused(429, "RATE_LIMIT_EXCEEDED").has("error.details.scope", "key", "error.details.limit", "6", "error.details.window_seconds", "3")
				c.move(id, "picked_up").refused(429, "RATE_LIMIT_EXCEEDED")
				return
			}
			a.refused(503, "QUOTE_UNAVAILABLE")
		}
		t.Error("forced errors are not counted")
	})
}
