package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
)

func TestAWebhookEndpointIsMadeChangedAndDeleted(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		made := c.post("/webhook-endpoints", m{"url": " https://127.0.0.1:9/hooks ", "description": "Order service"}).is(201).
			has("data.url", "https://127.0.0.1:9/hooks", "data.event_types.0", "*", "data.enabled", "true", "data.status", "healthy",
				"data.failing_since", "null", "data.environment", env, "data.description", "Order service")
		if !strings.HasPrefix(made.text("data.secret"), "whsec_") {
			t.Errorf("the secret is %q", made.text("data.secret"))
		}
		id := made.id()
		at := "/webhook-endpoints/" + id
		c.get(at).is(200).has("data.id", id).lacks("data.secret")
		c.get("/webhook-endpoints").is(200).has("data.0.id", id, "meta.next_cursor", "null").lacks("data.0.secret", "data.1")

		patch := func(body m) *answer { t.Helper(); return c.send("PATCH", at, body) }
		patch(m{"url": "https://１２７。０.０.１:9/hooks"}).is(200).has("data.url", "https://127.0.0.1:9/hooks")
		same := patch(m{"enabled": true}).is(200).has("data.updated_at", made.text("data.updated_at"))
		patch(m{"url": "http://127.0.0.1:9/other", "event_types": []string{"delivery.*", "webhook_endpoint.disabled"}, "description": ""}).is(
			200).
			has("data.url", "http://127.0.0.1:9/other", "data.event_types.1", "webhook_endpoint.disabled").lacks("data.description", "data.secret")
		patch(m{"enabled": false}).is(200).has("data.status", "disabled", "data.disabled_reason", "by_caller", "data.created_at",
			same.text("data.created_at"))
		c.post(at+"/test", nil).refused(409, "WEBHOOK_ENDPOINT_DISABLED").has("error.details.endpoint_id", id, "error.details.disabled_reason",
			"by_caller")
		c.post(at+"/recover", m{"since": "2026-01-01T00:00:00Z"}).refused(422, "VALIDATION_ERROR")
		again := patch(m{"enabled": true}).is(200).has("data.status", "healthy").lacks("data.disabled_reason")
		if told := again.text("message"); !strings.Contains(told, at+`/recover with {"since"`) {
			t.Errorf("enabled with %q, want how to have what was held sent", told)
		}
		patch(m{"enabled": true}).is(200).has("message", "Webhook endpoint updated.") // nothing was held

		patch(m{}).invalid("body required")
		patch(m{"url": nil, "enabled": nil}).invalid("body required")
		patch(m{"event_types": []string{}, "description": strings.Repeat("d", 257), "enabled": "yes"}).
			invalid("event_types too_short", "description too_long", "enabled invalid_type")
		patch(m{"event_types": []string{"delivery.*", "delivery.lost", "delivery.*"}}).
			invalid("event_types[1] not_allowed", "event_types[2] not_allowed")
		patch(m{"events": "*"}).refused(400, "INVALID_REQUEST")
		c.post("/webhook-endpoints", m{"event_types": "*"}).invalid("event_types invalid_type", "url required")
		c.post("/webhook-endpoints", m{"url": "  "}).invalid("url too_short")
		unknownType := c.post("/webhook-endpoints", m{"url": "https://127.0.0.1:9", "event_types": []string{"order.paid"}}).invalid(
			"event_types[0] not_allowed")
		if text := unknownType.text("error.details.fields.0.message"); !strings.Contains(text, "delivery.*") ||
			!strings.Contains(text, "delivery.outsourced") {
			t.Errorf("the valid types are not named: %s", text)
		}
		c.post(at+"/rotate-secret", m{"overlap_seconds": 604801}).invalid("overlap_seconds out_of_range")
		c.post(at+"/recover", nil).refused(400, "INVALID_REQUEST")
		c.post(at+"/recover", m{"since": "yesterday", "only": "pending"}).invalid("since invalid_format", "only not_allowed")

		key := newKeyText()
		gone := c.send("DELETE", at, nil, idem(key)).is(200).replayed(false).has("data.id", id, "data.status", "healthy")
		if again := c.send("DELETE", at, nil, idem(key)).is(200).replayed(true); !bytes.Equal(again.body, gone.body) {
			t.Errorf("deleting it was answered %s, and then %s", gone.body, again.body)
		}
		c.send("DELETE", at, nil).refused(404, "NOT_FOUND")
		c.get(at).refused(404, "NOT_FOUND")
		c.send("PATCH", at, m{"enabled": true}).refused(404, "NOT_FOUND")
		c.get(at+"/deliveries?status=x").refused(404, "NOT_FOUND")
		c.get("/webhook-endpoints").is(200).lacks("data.0")
	})
}

// strict are settings of a server that believes nobody.
var strict = []string{"WAYBILL_WEBHOOK_ALLOW_PRIVATE=false", "WAYBILL_TRUSTED_PROXIES="}

func TestAWebhookAddressMustBePublicUnlessItIsForDevelopment(t *testing.T) {
	t.Parallel()
	s := shared(t, sqlite, strict...)
	for _, env := range []string{live, sandbox} {
		c := s.caller(t, env)
		for _, url := range []string{
			"http://shop.example.com:81/", "https://10.0.0.1/", "https://[::1]/", "https://localhost/", "https://shop/", "https://shop.local/",
			"https://user@shop.example.com/", "https://shop.example.com/#x", "https://shop.example.com:444/", "ftp://shop.example.com/",
			"//shop.example.com", "https://shop.example.com:65536/", "https://nowhere.invalid/",
		} {
			c.post("/webhook-endpoints", m{"url": url}).refused(422, "WEBHOOK_URL_NOT_ALLOWED").
				has("error.details.fields.0.field", "url", "error.details.fields.0.code", "not_allowed")
		}
		c.post("/webhook-endpoints", m{"url": "https://" + strings.Repeat("a", 2048) + ".example.com/"}).invalid("url too_long")
		// What is wrong with the fields comes before.
		c.post("/webhook-endpoints", m{"url": "https://10.0.0.1/", "enabled": 1}).invalid("enabled invalid_type")
	}
}

// What is stored under an Idempotency-Key has a secret in it, and a reader of the
// database must not learn it.
func TestAReplayShowsTheSecretAndTheDatabaseDoesNot(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		twice := func(path string, body any) (key, secret string) {
			t.Helper()
			key = newKeyText()
			first := c.post(path, body, idem(key)).replayed(false)
			again := c.post(path, body, idem(key)).replayed(true)
			if first.status/100 != 2 || !bytes.Equal(first.body, again.body) || first.header.Get("Location") != again.header.Get("Location") {
				t.Errorf("%s was answered %d %s, and then %s", path, first.status, first.body, again.body)
			}
			c.post(path, m{"enabled": false}, idem(key)).is(map[bool]int{true: 409, false: 400}[path == "/webhook-endpoints"])
			return key, first.text("data.secret")
		}
		created, one := twice("/webhook-endpoints", anEndpoint())
		id := c.get("/webhook-endpoints").is(200).text("data.0.id")
		rotated, two := twice("/webhook-endpoints/"+id+"/rotate-secret", m{"overlap_seconds": 5})
		if one == two {
			t.Error("the secret stayed")
		}
		secrets := map[string]string{created: one, rotated: two}
		if env == sandbox {
			key, secret := twice("/webhook-listeners", m{})
			secrets[key] = secret
		}

		store, err := gormstore.Open(t.Context(), s.database(),
			gormstore.Options{TransactionPooler: s.Vars["WAYBILL_DATABASE_POOLER"] == "transaction"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		tenant := domain.Tenant{BusinessID: domain.ID(s.commonBusiness(t)), ApplicationID: domain.ID(c.app), Environment: domain.Environment(env)}
		for key, secret := range secrets {
			record, err := store.Read().Idempotency.Find(context.Background(), tenant, key)
			if err != nil || len(record.Answer.Body) == 0 {
				t.Fatalf("the record of %s: %v", key, err)
			}
			for _, clear := range []string{secret, "whsec_", "success", "127.0.0.1"} {
				if bytes.Contains(record.Answer.Body, []byte(clear)) {
					t.Errorf("the record holds %q in clear", clear)
				}
			}
		}
	})
}

func TestThereAreSixteenEndpointsHoweverManyAreMadeAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		counts := manyAtOnce(40, func(int) string {
			key := newKeyText()
			for tries := 1; ; tries++ { // one waits for the other, and may be told to come again
				a, err := c.try("POST", "/webhook-endpoints", anEndpoint(), idem(key))
				if err != nil {
					return err.Error()
				}
				if a.status != 503 || tries == 10 {
					return strconv.Itoa(a.status) + a.text("error.code")
				}
			}
		})
		if counts["201"] != 16 || counts["422WEBHOOK_ENDPOINT_LIMIT"] != 24 {
			t.Errorf("40 at once were answered %v", counts)
		}
		if n := len(walk(t, c, "/webhook-endpoints", 5, 3)); n != 16 {
			t.Errorf("there are %d", n)
		}
		c.in(map[string]string{live: sandbox, sandbox: live}[env]).post("/webhook-endpoints", anEndpoint()).is(201)
	})
}

// manyAtOnce does something many times and counts the outcomes.
func manyAtOnce(n int, do func(i int) string) map[string]int {
	var (
		mu     sync.Mutex
		all    sync.WaitGroup
		counts = map[string]int{}
	)
	for i := range n {
		all.Go(func() {
			outcome := do(i)
			mu.Lock()
			defer mu.Unlock()
			counts[outcome]++
		})
	}
	all.Wait()
	return counts
}

// Changes, rotations and one deletion at once: each is whole or not there.
func TestAnEndpointThatIsChangedAndDeletedAtOnceIsGone(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		for round := range 5 {
			id := c.newEndpoint()
			at := "/webhook-endpoints/" + id
			counts := manyAtOnce(20, func(i int) string {
				var (
					a   *answer
					err error
				)
				switch {
				case i == 10:
					a, err = c.try("DELETE", at, nil, idem(newKeyText()))
				case i%3 == 0:
					a, err = c.try("POST", at+"/rotate-secret", nil)
				case i%3 == 1:
					a, err = c.try("POST", at+"/test", nil)
				default:
					a, err = c.try("PATCH", at, m{"description": fmt.Sprint("round ", round, i), "enabled": i%2 == 0})
				}
				if err != nil {
					return err.Error()
				}
				return strconv.Itoa(a.status)
			})
			for outcome := range counts {
				if !strings.Contains("200 202 404 409 429", outcome) {
					t.Errorf("answered %v", counts)
				}
			}
			c.get(at).refused(404, "NOT_FOUND")
			c.get("/webhook-endpoints").is(200).lacks("data.0")
		}
	})
}

// Payloads are deliveries: a key that may not read them chooses no address for them.
func TestOnlyAKeyThatMayReadDeliveriesHasThemSentSomewhere(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		all := s.caller(t, env)
		c := s.newClient(t, env, s.newKey(t, all.app, env, "webhooks:read,webhooks:write").secret)
		id := all.newEndpoint()
		refused := func(a *answer) {
			t.Helper()
			a.refused(403, "INSUFFICIENT_SCOPE").has("error.details.required_scope", "deliveries:read", "error.details.granted_scopes",
				"[webhooks:read webhooks:write]")
			if said := a.text("message"); !strings.HasSuffix(said, "needs deliveries:read; the key has webhooks:read, webhooks:write.") {
				t.Errorf("%s says %q", a.what, said)
			}
		}
		refused(c.post("/webhook-endpoints", anEndpoint()))
		patch := func(body m, o ...option) *answer { return c.send("PATCH", "/webhook-endpoints/"+id, body, o...) }
		refused(patch(m{"url": "http://127.0.0.1:9/mine"}))
		refused(patch(m{"url": "http://127.0.0.1:9/mine", "description": "Mine"}, idem(newKeyText())))
		refused(patch(m{"url": 5}))
		patch(m{"url": nil, "description": "Theirs"}).is(200).has("data.url", "http://127.0.0.1:9/hooks", "data.description", "Theirs")
		patch(m{"enabled": false, "event_types": []string{"delivery.*"}}).is(200).has("data.url", "http://127.0.0.1:9/hooks")
		// The path says first that there is nothing, and the body that it cannot be read.
		c.send("PATCH", "/webhook-endpoints/"+unknown("whe_"), m{"url": "http://127.0.0.1:9/mine"}).refused(404, "NOT_FOUND")
		c.send("PATCH", "/webhook-endpoints/"+id, `{"url": "http://127.0.0.1:9/mine"`).refused(400, "INVALID_REQUEST")
		if env == sandbox {
			refused(c.post("/webhook-listeners", nil))
			refused(c.send("POST", "/webhook-listeners/"+all.newListener()+"/fetch", m{"wait_seconds": 0}))
		}
		s.newClient(t, env, s.newKey(t, all.app, env, "deliveries:read").secret).post("/webhook-endpoints", anEndpoint()).
			refused(403, "INSUFFICIENT_SCOPE").has("error.details.required_scope", "webhooks:write")
		all.send("PATCH", "/webhook-endpoints/"+id, m{"url": "http://127.0.0.1:9/ours"}).is(200).has("data.url", "http://127.0.0.1:9/ours")
	})
}
