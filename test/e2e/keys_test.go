package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/test/stage"
)

// unknownKey has the right form and opens nothing.
func unknownKey(env string) string {
	var random [32]byte
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	return domain.MakeAPIKey(domain.Environment(env), random)
}

func TestAKeyMustBeWholeAndKnown(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		c.get("/api-key").is(200)
		for reason, bearer := range map[string]string{
			"missing": "", "malformed": "Bearer " + c.key[:len(c.key)-1], "unknown": "Bearer " + unknownKey(env),
		} {
			a := c.get("/api-key", with("Authorization", bearer)).refused(401, "INVALID_API_KEY").has("error.details.reason", reason)
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Error("a 401 has to name the scheme")
			}
			if strings.Contains(string(a.body), c.key) {
				t.Errorf("the key is repeated: %s", a.body)
			}
		}
	})
}

func TestAKeyOpensItsOwnEnvironmentOnly(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		for host, other := range map[string]string{live: sandbox, sandbox: live} {
			c := s.newClient(t, host, s.caller(t, other).key)
			c.get("/api-key").refused(401, "ENVIRONMENT_MISMATCH").
				has("error.details.key_environment", other, "error.details.host_environment", host)
			// The environment is told before whether the key exists.
			c.withKey(unknownKey(other)).get("/api-key").refused(401, "ENVIRONMENT_MISMATCH")
		}
	})
}

// soon polls until a call answers as wanted.
func (c *client) soon(t testing.TB, status int, code string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the key is answered %d %s", status, code), func() bool {
		c.address = newAddress()
		a := c.get("/api-key")
		return a.status == status && a.text("error.code") == code
	})
}

func TestARevokedKeyStops(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		app := s.newApp(t, s.commonBusiness(t))
		old := s.newKey(t, app, env, "deliveries:read")
		c := s.newClient(t, env, old.secret)
		c.get("/api-key").is(200)
		rotated := s.command(t, "key", "rotate", old.id)
		s.hide(rotated["key"].(string))
		next := c.withKey(rotated["key"].(string))
		next.get("/api-key").is(200).has("data.key.scopes", "[deliveries:read]", "data.application.id", app)
		c.get("/api-key").is(200) // until it is revoked
		s.command(t, "key", "revoke", old.id)
		c.soon(t, 401, "API_KEY_REVOKED")
		next.get("/api-key").is(200)
		s.command(t, "key", "revoke", old.id) // again: nothing new
		c.get("/api-key").refused(401, "API_KEY_REVOKED")
	})
}

func TestABodyThatEndsAfterItsKeyWasRevokedChangesNothing(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		app := s.newApp(t, s.commonBusiness(t))
		other := s.newClient(t, sandbox, s.newKey(t, app, sandbox, "all").secret)
		revoked := s.newKey(t, app, sandbox, "all")
		c := other.withKey(revoked.secret)
		req := c.request("POST", "/webhook-endpoints", map[string]any{"url": "http://127.0.0.1:9/late"}, idem("a-late-endpoint"))
		req.Header.Set("Expect", "100-continue")
		req.Body = io.NopCloser(&stage.LateBody{Reader: req.Body, Before: func() {
			s.command(t, "key", "revoke", revoked.id)
			other.withKey(revoked.secret).soon(t, 401, "API_KEY_REVOKED")
		}})
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != 401 {
			t.Errorf("a webhook endpoint with a revoked key: %d", res.StatusCode)
		}
		if a := other.get("/webhook-endpoints").is(200); strings.Contains(string(a.body), "/late") {
			t.Errorf("it was made: %s", a.body)
		}
	})
}

func TestADisabledApplicationsKeysAreUnknown(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		c.get("/api-key").is(200)
		revoked := s.newKey(t, c.app, env, "all")
		s.command(t, "key", "revoke", revoked.id)
		if s.command(t, "app", "disable", c.app)["disabled"] != true {
			t.Error("the application does not say that it is disabled")
		}
		c.soon(t, 401, "INVALID_API_KEY")
		c.withKey(revoked.secret).get("/api-key").refused(401, "INVALID_API_KEY").has("error.details.reason", "unknown")
		s.command(t, "app", "enable", c.app)
		c.soon(t, 200, "")
		c.withKey(revoked.secret).soon(t, 401, "API_KEY_REVOKED")
	})
}

func TestTheOrderOfTheFirstChecks(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		app := s.newApp(t, s.commonBusiness(t))
		c := s.newClient(t, sandbox, s.newKey(t, app, sandbox, "quotes:read").secret)
		// Scope before the ID, the query, the key and the body.
		c.send("PATCH", "/pickup-locations/x?y=1", "{", idem("short")).refused(403, "INSUFFICIENT_SCOPE").
			has("error.details.required_scope", "deliveries:write", "error.details.granted_scopes", "[quotes:read]")
		// The bearer before all of it.
		c.withKey("").send("PATCH", "/pickup-locations/x?y=1", "{", idem("short")).refused(401, "INVALID_API_KEY")
		all := s.newClient(t, sandbox, s.newKey(t, app, sandbox, "all").secret)
		place := all.post("/pickup-locations", aPlace()).is(201).id()
		all.send("PATCH", "/pickup-locations/x?y=1", "{", idem("short")).refused(404, "NOT_FOUND")
		all.send("PATCH", "/pickup-locations/"+place+"?y=1", "{", idem("short")).refused(400, "INVALID_REQUEST").
			has("error.details.field", "y")
		all.send("PATCH", "/pickup-locations/"+place, "{", idem("short")).invalid("Idempotency-Key too_short")
		all.send("PATCH", "/pickup-locations/"+place, "{", with("Content-Type", "text/plain")).refused(415, "UNSUPPORTED_MEDIA_TYPE")
		all.send("PATCH", "/pickup-locations/"+place, "{").refused(400, "INVALID_REQUEST")
	})
}
