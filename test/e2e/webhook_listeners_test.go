package e2e

import (
	"context"
	"strconv"
	"testing"
	"time"
)

func (c *client) fetch(listener string, body m, options ...option) *answer {
	c.t.Helper()
	return c.send("POST", "/webhook-listeners/"+listener+"/fetch", body, options...)
}

func TestAListenerFetchesForwardsAndReports(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		made := c.post("/webhook-listeners", m{"event_types": []string{"delivery.*"}}).is(201).
			has("data.event_types.0", "delivery.*", "data.environment", "sandbox")
		id, secret := made.id(), made.text("data.secret")
		// A program keeps its secret over restarts; another application has another.
		c.post("/webhook-listeners", nil).is(201).has("data.secret", secret)
		if theirs := s.caller(t, sandbox).post("/webhook-listeners", nil).is(201).text("data.secret"); theirs == secret {
			t.Error("two applications have one secret")
		}
		c.get("/webhook-endpoints/"+id).refused(404, "NOT_FOUND")
		c.get("/webhook-endpoints").is(200).lacks("data.0")

		if began := time.Now(); c.fetch(id, m{"wait_seconds": 1}).is(200).lacks("data.webhooks.0") != nil &&
			time.Since(began) < 900*time.Millisecond {
			t.Error("it did not wait")
		}
		booked := make(chan string, 1)
		go func() {
			<-time.After(200 * time.Millisecond)
			a, err := c.try("POST", "/deliveries", anOrder(), idem(newKeyText()))
			if err != nil {
				t.Error(err)
				booked <- ""
				return
			}
			booked <- a.id()
		}()
		began := time.Now()
		first := c.fetch(id, m{}).is(200).has("data.webhooks.0.event_type", "delivery.created", "data.webhooks.0.attempt", "1").lacks(
			"data.webhooks.1")
		if took := time.Since(began); took > 15*time.Second { // it would wait for 20 s
			t.Errorf("it waited %v for what came after 200 ms", took)
		}
		got := received{header: map[string][]string{}, body: []byte(first.text("data.webhooks.0.body"))}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			got.header.Set(name, first.text("data.webhooks.0.headers."+name))
		}
		if !got.signedBy(t, secret)[0] {
			t.Errorf("what was fetched is signed %v", got.header)
		}
		delivery := <-booked
		(&answer{t: t, what: "the body", tree: parse(got.body)}).has("data.delivery.id", delivery, "id", first.text("data.webhooks.0.event_id"))

		// Not told yet: it comes again. Told: it does not.
		webhook := first.text("data.webhooks.0.webhook_delivery_id")
		c.fetch(id, m{"wait_seconds": 0}).is(200).has("data.webhooks.0.webhook_delivery_id", webhook)
		result := m{"webhook_delivery_id": webhook, "attempt": 1, "status_code": 204, "duration_ms": 12,
			"response_excerpt": "line one\nline two\t\u202e"}
		c.fetch(id, m{"wait_seconds": 0, "results": []m{result}}).is(200).lacks("data.webhooks.0")
		c.fetch(id, m{"wait_seconds": 0, "results": []m{result, result}}).is(200)
		c.get("/webhook-deliveries/"+webhook).is(200).has("data.status", "succeeded", "data.attempts", "1")
		c.get("/webhook-deliveries/"+webhook+"/attempts").is(200).
			has("data.0.status_code", "204", "data.0.duration_ms", "12", "data.0.response_excerpt", "line one line two")

		// What failed is due again by the schedule, and at once when asked for.
		c.post("/webhook-deliveries/"+webhook+"/redeliver", nil).is(202)
		c.fetch(id, m{"wait_seconds": 0}).is(200).has("data.webhooks.0.attempt", "2", "data.webhooks.0.headers.x-webhook-attempt", "2")
		refused := m{"webhook_delivery_id": webhook, "error_class": "refused", "duration_ms": 0}
		c.fetch(id, m{"wait_seconds": 0, "results": []m{refused}}).is(200).lacks("data.webhooks.0")
		c.get("/webhook-deliveries/"+webhook+"/attempts").is(200).has("data.1.error_class", "refused", "data.1.trigger", "manual").lacks(
			"data.1.status_code")

		c.fetch(id, m{"results": []m{{"webhook_delivery_id": webhook}}, "wait_seconds": 21}).
			invalid("wait_seconds out_of_range", "results[0].duration_ms required", "results[0] required")
		c.fetch(id, m{"results": []m{{"webhook_delivery_id": 1, "status_code": 99, "error_class": "x", "duration_ms": -1}}}).
			refused(422, "VALIDATION_ERROR")

		key := newKeyText()
		c.send("DELETE", "/webhook-listeners/"+id, nil, idem(key)).is(200).has("data.id", id)
		c.send("DELETE", "/webhook-listeners/"+id, nil, idem(key)).is(200).replayed(true)
		c.fetch(id, m{"wait_seconds": 0}).refused(404, "NOT_FOUND")
		c.fetch(c.newEndpoint(), m{"wait_seconds": 0}).refused(404, "NOT_FOUND")
	})
}

// Neither a client that has left nor a server that is to stop is waited for.
func TestLongAServerThatStopsLetsItsListenersGo(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	c := s.newClient(t, sandbox, s.Vars["WAYBILL_TEST_KEY"])
	id := c.newListener()

	s.connections.CloseIdleConnections()
	before := s.goroutines(t)
	ctx, leave := context.WithCancel(t.Context())
	for range 8 { // one listener each: a later call ends one before
		other := c.newListener()
		go func() { _, _ = c.try("POST", "/webhook-listeners/"+other+"/fetch", m{"wait_seconds": 20}, within(ctx)) }()
	}
	eventually(t, "they wait", func() bool { return s.goroutines(t) >= before+16 })
	leave()
	left := time.Now()
	eventually(t, "they have left", func() bool { s.connections.CloseIdleConnections(); return s.goroutines(t) < before+8 })
	if took := time.Since(left); took > patience {
		t.Errorf("it took the server %v to notice", took)
	}

	done := make(chan string, 1)
	go func() {
		a, err := c.try("POST", "/webhook-listeners/"+id+"/fetch", m{"wait_seconds": 20})
		if err != nil {
			done <- err.Error()
			return
		}
		done <- strconv.Itoa(a.status)
	}()
	<-time.After(300 * time.Millisecond)
	began := time.Now()
	_ = s.Terminate() // fails only where it has ended
	if got := <-done; got != "200" {
		t.Errorf("the listener was answered %s", got)
	}
	<-s.Exited
	if took := time.Since(began); took > patience {
		t.Errorf("the server took %v to stop", took)
	}
}
