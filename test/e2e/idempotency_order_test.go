package e2e

import (
	"bytes"
	"strings"
	"testing"
)

// Every operation that takes an Idempotency-Key looks it up before it judges the
// fields: a used key is told as used, whatever the new body is worth.
func TestAUsedKeyIsToldBeforeAnyFieldIsJudged(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		checked := 0
		for _, r := range rules {
			if !r.keyed || !r.isThere(env) {
				continue
			}
			checked++
			before, after, _ := strings.Cut(r.path, "{")
			_, after, _ = strings.Cut(after, "}")
			target := func() string { return before + r.ownRecord(c) + after }
			path, body, key := target(), r.body(), newKeyText()
			first := c.send(r.method, path, body, idem(key)).is(r.success).replayed(false)
			if valid, ok := body.(m); ok {
				wrong := m{}
				for field := range valid {
					wrong[field] = []any{}
				}
				if a := c.send(r.method, path, wrong, idem(newKeyText())); a.status != 422 {
					t.Errorf("%s with wrong fields and a new key answered %d: the test shows nothing: %s", a.what, a.status, a.body)
				}
				c.send(r.method, path, wrong, idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
				if env == live && strings.HasPrefix(r.path, "/deliveries") {
					sandboxed := m{"sandbox": m{"scenario": "delivered"}}
					if r.path == "/deliveries/bulk" {
						sandboxed = m{"deliveries": []any{sandboxed}}
					}
					c.send(r.method, path, sandboxed, idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
				}
			} else {
				// There is no field to be wrong: the path is what differs.
				c.send(r.method, target(), nil, idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
			}
			if again := c.send(r.method, path, body, idem(key)).is(r.success).replayed(true); !bytes.Equal(again.body, first.body) {
				t.Errorf("%s replayed %s, want %s", again.what, again.body, first.body)
			}
		}
		if want := map[string]int{live: 14, sandbox: 19}[env]; checked != want {
			t.Errorf("%d operations take a key, want %d: the rules have changed", checked, want)
		}
	})
}

// ownRecord makes a record that the operation works on; empty where it needs none.
func (r rule) ownRecord(c *client) string {
	if r.owner == ownerless {
		return ""
	}
	if r.made != nil {
		return r.made(c)
	}
	switch r.kind {
	case "rcp_":
		return c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
	case "pkp_":
		return c.post("/pickup-locations", aPlace()).is(201).id()
	case "dlv_":
		return c.post("/deliveries", anOrder()).is(201).id()
	case "whd_":
		return c.post("/webhook-endpoints/"+c.newEndpoint()+"/test", nil).is(202).id()
	}
	return c.newEndpoint()
}

// What changes nothing needs no key: neither its form nor its use is looked at.
func TestWhatChangesNothingIgnoresTheKey(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		used := newKeyText()
		c.post("/recipients", m{"phone_number": newPhone()}, idem(used)).is(201)
		calls := map[string]any{"/quotes": aTrip()}
		if env == sandbox {
			calls["/webhook-listeners/"+c.newListener()+"/fetch"] = m{"wait_seconds": 0}
		}
		for path, body := range calls {
			for _, key := range []string{used, used, "short", strings.Repeat("k", 256), "na\u00efve-key-0001"} {
				c.send("POST", path, body, idem(key)).is(200).replayed(false)
			}
			c.send("POST", path, m{"x": 1}, idem(used)).refused(400, "INVALID_REQUEST")
			if env == sandbox {
				if said := c.send("POST", path, body, idem(used), force("INTERNAL_SERVER_ERROR")).refused(500, "INTERNAL_SERVER_ERROR").text(
					"message"); strings.Contains(said, "Idempotency-Key") {
					t.Errorf("%s is told to repeat a key that it ignores: %s", path, said)
				}
			}
		}
	})
}
