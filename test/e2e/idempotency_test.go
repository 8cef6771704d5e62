package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheSameRequestInOtherWordsIsReplayed(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		phone, key := newPhone(), newKeyText()
		first := c.post("/deliveries", `{"recipient":{"phone_number":"`+phone+
			`","address":{"address":"Tetteh Lane","latitude":5.58,"longitude":-0.19}},
			"pickup":{"name":"Kitchen door","contact":"+233302000011","address":"8 Close","latitude":5.5571,"longitude":-0.1818},
			"payment":{"type":"cod","goods_value":12.5},"vehicle_type":"bike"}`, idem(key)).is(201).replayed(false)
		for _, same := range []string{
			`{"vehicle_type":"bike","payment":{"goods_value":1.250e1,"type":"cod"},"pickup":{"longitude":-0.18180,"latitude":55571e-4,"address":"8 Close","contact":"+233302000011","name":"Kitchen door"},"recipient":{"address":{"longitude":-19E-2,"latitude":5.580,"address":"Tetteh Lane"},"phone_number":"` + phone + `"}}`,
			`{ "recipient" : {"phone_number":"` + strings.Replace(phone, "+", `\u002b`, 1) +
				`","address":{"address":"Tetteh\u0020Lane","latitude":5.58,"longitude":-0.19}}, "pickup":{"name":"Kitchen door","contact":"+233302000011","address":"8 Close","latitude":5.5571,"longitude":-0.1818},` + "\n\t" + `"payment":{"type":"cod","goods_value":12.50},"vehicle_type":"bike"} ` + "\n",
		} {
			if replay := c.post("/deliveries", same, idem(key)).is(201).replayed(true); !bytes.Equal(replay.body, first.body) {
				t.Errorf("the replay differs: %s", replay.body)
			}
		}
		if n := len(c.get("/deliveries").ids()); n != 1 {
			t.Errorf("there are %d deliveries, want 1", n)
		}
	})
}

func TestAKeyUsedForSomethingElseConflicts(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		key, order := newKeyText(), anOrder()
		c.post("/deliveries", order, idem(key)).is(201)
		conflict := func(method, path string, body any) {
			t.Helper()
			a := c.send(method, path, body, idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
			if at, err := time.Parse(time.RFC3339, a.text("error.details.first_used_at")); err != nil || time.Since(at) > time.Minute {
				t.Errorf("first_used_at is %q", a.text("error.details.first_used_at"))
			}
			if a.header.Get("Retry-After") != "" {
				t.Error("a conflict that no waiting mends has Retry-After")
			}
		}
		order["vehicle_type"] = "car"
		conflict("POST", "/deliveries", order)
		conflict("POST", "/deliveries", m{}) // before its fields are looked at
		order["vehicle_type"] = "bike"
		order["external_id"] = nil // not the same request, though it means the same
		conflict("POST", "/deliveries", order)
		conflict("POST", "/recipients", m{"phone_number": newPhone()})
		conflict("POST", "/pickup-locations", aPlace())
		place := c.post("/pickup-locations", aPlace()).is(201).id()
		conflict("PATCH", "/pickup-locations/"+place, m{"name": "Otherwise"})
		// Syntax comes before the look-up, and so does the ID in the path.
		c.post("/deliveries", "{", idem(key)).refused(400, "INVALID_REQUEST")
		c.send("PATCH", "/pickup-locations/pkp_x", m{"name": "Otherwise"}, idem(key)).refused(404, "NOT_FOUND")
	})
}

func TestTheFormOfAnIdempotencyKey(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		for _, create := range []struct {
			path string
			body func() any
		}{
			{"/deliveries", func() any { return anOrder() }},
			{"/deliveries/bulk", func() any { return aBulk(anOrder()) }},
			{"/recipients", func() any { return m{"phone_number": newPhone()} }},
			{"/pickup-locations", func() any { return aPlace() }},
			{"/webhook-endpoints", func() any { return anEndpoint() }},
		} {
			c.send("POST", create.path, create.body()).refused(400, "IDEMPOTENCY_KEY_REQUIRED")
			c.send("POST", create.path, create.body(), idem("")).refused(400, "IDEMPOTENCY_KEY_REQUIRED")
			c.send("POST", create.path, "{", nil...).refused(400, "IDEMPOTENCY_KEY_REQUIRED") // before the body
			c.post(create.path, create.body(), idem("7chars!")).invalid("Idempotency-Key too_short")
			c.post(create.path, create.body(), idem(strings.Repeat("k", 256))).invalid("Idempotency-Key too_long")
			c.post(create.path, create.body(), idem("tab\tin the key")).invalid("Idempotency-Key invalid_format")
			c.post(create.path, create.body(), idem("schlüssel-key")).invalid("Idempotency-Key invalid_format")
			twice := func(r *http.Request) { r.Header["Idempotency-Key"] = []string{newKeyText(), newKeyText()} }
			c.post(create.path, create.body(), twice).invalid("Idempotency-Key invalid_format")
			c.post(create.path, create.body(), idem(fmt.Sprintf("%08x", rand.Uint32()))).is(201)
			c.post(create.path, create.body(), idem(fmt.Sprintf("%0255x", rand.Uint64()))).is(201)
			c.post(create.path, create.body(), idem(fmt.Sprintf("a key with ~ and %x", rand.Uint64()))).is(201)
		}
	})
}

func TestFiftyRequestsWithOneKeyMakeOneDelivery(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		key, order := newKeyText(), anOrder(set("external_id", newExternalID()))
		var wg sync.WaitGroup
		answers := make([]*answer, 50)
		for i := range answers {
			wg.Go(func() {
				var err error
				if answers[i], err = c.try("POST", "/deliveries", order, idem(key)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		created, body := 0, []byte(nil)
		for _, a := range answers {
			switch {
			case a == nil:
			case a.status == 409:
				a.refused(409, "IDEMPOTENCY_IN_PROGRESS")
			default:
				a.is(201)
				if a.header.Get("Idempotent-Replayed") == "" {
					created++
				}
				if body == nil {
					body = a.body
				}
				if !bytes.Equal(a.body, body) {
					t.Errorf("two answers: %s and %s", body, a.body)
				}
			}
		}
		if created != 1 {
			t.Errorf("%d of the answers say created, want 1", created)
		}
		if n := len(c.get("/deliveries").ids()); n != 1 {
			t.Errorf("there are %d deliveries, want 1", n)
		}
	})
}

func TestAClientThatHangsUpFindsItsDeliveryOnTheNextTry(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		begun := time.Now()
		c.post("/deliveries", anOrder()).is(201)
		took := time.Since(begun)
		const tries = 30
		cut := 0
		for range tries {
			key, order := newKeyText(), anOrder(set("external_id", newExternalID()))
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(took))
			if _, err := c.try("POST", "/deliveries", order, idem(key), within(ctx)); err != nil {
				cut++
			}
			cancel()
			eventually(t, "the retry is answered", func() bool {
				a := c.post("/deliveries", order, idem(key))
				if a.status == 409 {
					a.refused(409, "IDEMPOTENCY_IN_PROGRESS")
					return false
				}
				a.is(201)
				return true
			})
		}
		if cut == 0 {
			t.Error("no request was cut off, so this test showed nothing")
		}
		if n := len(c.get("/deliveries?limit=100").ids()); n != 1+tries {
			t.Errorf("there are %d deliveries, want %d", n, 1+tries)
		}
	})
}
