package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/httpapi"
)

func TestTheDescriptionIsServedWithoutAKey(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.newClient(t, env, "")
		asYAML := c.get("/openapi.yaml").is(200)
		// It is the one of the sources, for the addresses of this server.
		want := strings.NewReplacer("http://127.0.0.1:8080/v1", s.base(live), "http://127.0.0.1:8081/v1", s.base(sandbox),
			"http://127.0.0.1:8081/docs", strings.TrimSuffix(s.base(sandbox), "/v1")+"/docs", " (development default)", "").
			Replace(string(httpapi.OpenAPI.YAML()))
		if string(asYAML.body) != want {
			t.Error("openapi.yaml is not the one of the sources")
		}
		asJSON := c.get("/openapi.json").is(200).has("openapi", "3.1.0", "info.version", "1.0.0",
			"servers.0.url", s.base(sandbox), "servers.0.description", "Sandbox", "servers.1.url", s.base(live), "servers.1.description", "Live")
		if !json.Valid(asJSON.body) {
			t.Error("openapi.json is not JSON")
		}
		// Not counted, neither for the address nor for a key that is sent along.
		if asYAML.header.Get("RateLimit-Remaining") != asJSON.header.Get("RateLimit-Remaining") {
			t.Error("reading the description is counted")
		}
		c.withKey("nonsense").get("/openapi.json").is(200)
	})
}

func TestARequestIDComesBack(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		if got := c.get("/api-key", with("X-Request-ID", "Az09._:-")).is(200).header.Get("X-Request-ID"); got != "Az09._:-" {
			t.Errorf("it came back as %q", got)
		}
		if got := c.get("/api-key", with("X-Request-ID", "a b")).is(200).header.Get("X-Request-ID"); !strings.HasPrefix(got, "req_") {
			t.Errorf("one that is no ID came back as %q", got)
		}
		c.withKey("").get("/api-key", with("X-Request-ID", "mine")).refused(401, "INVALID_API_KEY").has("error.details.reason", "missing")
	})
}

// Whatever is asked: the envelope, a request ID and the limits come back. That
// they have their form is for the contract to check, on each answer.
func TestEveryAddressAndMethodAnswersInTheEnvelope(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE"}
		known := map[string][]string{}
		for _, r := range httpapi.Routes() {
			if r.SandboxOnly && env == live {
				path := strings.NewReplacer("{", "", "}", "").Replace(r.Path)
				for _, method := range methods {
					if a := c.send(method, path, nil).is(404); method != "HEAD" {
						a.refused(404, "NOT_FOUND")
					}
				}
				continue
			}
			known[r.Path] = append(known[r.Path], r.Method)
			if r.Method == "GET" {
				known[r.Path] = append(known[r.Path], "HEAD")
			}
		}
		// To a GET this is an ID, and one that names nothing.
		known["/deliveries/bulk"] = append(known["/deliveries/bulk"], known["/deliveries/{delivery_id}"]...)
		c.get("/deliveries/bulk").refused(404, "NOT_FOUND")
		for path, has := range known {
			for _, method := range methods {
				if slices.Contains(has, method) {
					continue
				}
				for _, caller := range []*client{c, c.withKey("")} {
					a := caller.send(method, strings.NewReplacer("{", "", "}", "").Replace(path), nil).is(405)
					if method != "HEAD" { // of a path that has no GET
						a.refused(405, "METHOD_NOT_ALLOWED")
					}
					allowed := strings.Split(strings.ReplaceAll(a.header.Get("Allow"), " ", ""), ",")
					slices.Sort(allowed)
					slices.Sort(has)
					if !slices.Equal(allowed, has) {
						t.Errorf("%s %s: Allow is %v, want %v", method, path, allowed, has)
					}
				}
			}
		}
		for _, path := range []string{"", "/", "/nothing", "/deliveries/", "/Deliveries", "/deliveries//", "//deliveries",
			"/deliveries/bulk/", "/quotes/1", "/openapi", "/deliveries/x/cancel/", "/test-helpers",
			"/test-helpers/deliveries/x", "/test-helpers/deliveries/x/simulation/", "/deliveries/x/transition"} {
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				c.send(method, path, nil).refused(404, "NOT_FOUND")
			}
		}
	})
}

func TestHEADAnswersAsGETWithoutTheBody(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		id := c.post("/deliveries", anOrder()).is(201).id()
		for path, status := range map[string]int{"/api-key": 200, "/openapi.yaml": 200, "/deliveries": 200, "/deliveries/" + id: 200,
			"/deliveries/" + id + "/events": 200, "/deliveries/dlv_x": 404, "/deliveries?nothing=1": 400} {
			get, head := c.send("GET", path, nil).is(status), c.send("HEAD", path, nil).is(status)
			if len(head.body) > 0 {
				t.Errorf("HEAD %s has a body", path)
			}
			for name := range get.header {
				if head.header.Get(name) == "" {
					t.Errorf("HEAD %s has no %s", path, name)
				}
			}
			if tag := get.header.Get("ETag"); tag != head.header.Get("ETag") {
				t.Errorf("HEAD %s: ETag %s, want %s", path, head.header.Get("ETag"), tag)
			}
		}
	})
}

func TestAnUnknownAddressNamesTheOneThatWasMeant(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		for _, c := range []*client{s.caller(t, env), s.caller(t, env).withKey("")} {
			for path, meant := range map[string]string{"//deliveries": "trailing slash. Use /v1/deliveries.", "/deliveries/": "Use /v1/deliveries.",
				"/v1/deliveries": "/v1 twice. Use /v1/deliveries.", "/delivery": "Use /v1/deliveries.",
				"/deliveries//events":    "an empty ID. Use /v1/deliveries/{delivery_id}/events.",
				"/deliveries//cancel":    "an empty ID. Use /v1/deliveries/{delivery_id}/cancel.",
				"/recipients//addresses": "an empty ID. Use /v1/recipients/{recipient_id}/addresses."} {
				for _, method := range []string{"GET", "POST", "PUT"} {
					a := c.send(method, path, nil).refused(404, "NOT_FOUND")
					if message := a.text("message"); !strings.Contains(message, meant) || a.header.Get("Allow") != "" {
						t.Errorf("%s %s: %s %v", method, path, message, a.header)
					}
				}
			}
		}
	})
}

func TestASemicolonInAQueryIsACharacter(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		id := c.post("/deliveries", anOrder(set("external_id", "a;b"))).is(201).id()
		c.get("/deliveries?external_id=a;b").is(200).has("data.0.id", id)
	})
}

func TestAnETagSavesTheBody(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		id := c.post("/deliveries", anOrder()).is(201).id()
		for _, path := range []string{"/deliveries/" + id, "/deliveries/" + id + "/events"} {
			tag := c.get(path).is(200).header.Get("ETag")
			for _, sent := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
				a := c.get(path, with("If-None-Match", sent)).is(304)
				if len(a.body) > 0 || a.header.Get("ETag") != tag {
					t.Errorf("%s with %s: 304 with the body %q and ETag %s", path, sent, a.body, a.header.Get("ETag"))
				}
			}
			for _, sent := range []string{`"x"`, strings.Trim(tag, `"`), ""} {
				c.get(path, with("If-None-Match", sent)).is(200)
			}
		}
		before := c.get("/deliveries/" + id).header.Get("ETag")
		timeline := c.get("/deliveries/" + id + "/events").header.Get("ETag")
		c.send("POST", "/deliveries/"+id+"/cancel", nil).is(200)
		for path, old := range map[string]string{"/deliveries/" + id: before, "/deliveries/" + id + "/events": timeline} {
			if now := c.get(path, with("If-None-Match", old)).is(200).header.Get("ETag"); now == old {
				t.Errorf("%s changed and kept its ETag", path)
			}
		}
	})
}

func TestAKeyTellsWhatItIs(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		app := s.newApp(t, s.commonBusiness(t))
		k := s.newKey(t, app, env, "quotes:read,deliveries:read", "2h")
		a := s.newClient(t, env, k.secret).get("/api-key").is(200).
			has("data.key.id", k.id, "data.key.scopes", "[quotes:read deliveries:read]", "data.key.last_four", k.secret[len(k.secret)-4:],
				"data.application.id", app, "data.business.id", s.commonBusiness(t), "data.environment", env,
				"data.limits.per_business.limit", "1000000", "data.limits.per_business.window_seconds", "60")
		if strings.Contains(string(a.body), k.secret) {
			t.Error("it shows its secret")
		}
		expires, err := time.Parse(time.RFC3339, a.text("data.key.expires_at"))
		if left := time.Until(expires); err != nil || left < 119*time.Minute || left > 2*time.Hour {
			t.Errorf("expires_at is %s", a.text("data.key.expires_at"))
		}
		if prefix := a.text("data.key.prefix"); !strings.HasPrefix(k.secret, prefix) {
			t.Errorf("prefix is %s", prefix)
		}
	})
}
