package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatHappensToADeliveryArrivesSignedAndIsLogged(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		r, c := newReceiver(t), s.caller(t, env)
		endpoint, secret := c.endpoint(r)
		// What encoders write in more than one way.
		booked := c.post("/deliveries", anOrder(set("delivery_instructions", "Ring & wait <2 min> at \u2028 the gate"))).is(201)
		c.send("POST", "/deliveries/"+booked.id()+"/cancel", nil).is(200)
		got := r.awaits(t, 2)

		events := c.get("/deliveries/" + booked.id() + "/events").is(200)
		var feed *answer
		eventually(t, "both are in the feed, which waits for older transactions", func() bool {
			feed = c.get("/events").is(200)
			return feed.count("data") == 2
		})
		for i, g := range got {
			at := fmt.Sprintf("data.%d.", i)
			if !slices.Equal(g.signedBy(t, secret), []bool{true}) {
				t.Errorf("webhook %d is signed %q", i, g.header.Get("webhook-signature"))
			}
			for name, want := range map[string]string{
				"webhook-id": events.text(at + "id"), "x-webhook-attempt": "1",
				"User-Agent": "Waybill-Webhooks/1.0", "Content-Type": "application/json",
			} {
				if g.header.Get(name) != want {
					t.Errorf("webhook %d has %s %q, want %q", i, name, g.header.Get(name), want)
				}
			}
			g.tree.has("id", events.text(at+"id"), "type", events.text(at+"type"), "sequence", events.text(at+"sequence"),
				"timestamp", events.text(at+"occurred_at"), "environment", env, "simulated", fmt.Sprint(env == sandbox), "api_version", "v1",
				"data.delivery.id", booked.id(), "data.delivery.status", events.text(at+"status"))
			if !bytes.Contains(feed.body, g.body) {
				t.Errorf("the feed has not the very bytes of webhook %d: %s\n%s", i, feed.body, g.body)
			}
		}
		got[0].tree.has("type", "delivery.created").lacks("data.previous_status", "data.reason_code")
		got[1].tree.has("type", "delivery.cancelled", "data.previous_status", "booked", "data.reason_code", "cancelled_by_caller")

		var log *answer
		eventually(t, "both are logged", func() bool {
			log = c.sent(endpoint, "?status=succeeded")
			return log.count("data") == 2
		})
		log.has("data.0.event_type", "delivery.cancelled", "data.0.attempts", "1", "data.0.delivery_id", booked.id(), "data.0.sequence", "2",
			"data.0.next_attempt_at", "null", "data.1.event_type", "delivery.created", "data.1.event_id", events.text("data.0.id"))
		webhook := log.text("data.0.id")
		c.get("/webhook-deliveries/"+webhook).is(200).has("data.endpoint_id", endpoint, "data.status", "succeeded")
		c.get("/webhook-deliveries/"+webhook+"/attempts").is(200).
			has("data.0.attempt", "1", "data.0.trigger", "schedule", "data.0.status_code", "200", "data.0.response_excerpt", "noted",
				"data.0.next_attempt_at", "null", "meta.limit", "1").lacks("data.0.error_class", "data.1")
		c.sent(endpoint, "?event_type=delivery.created").has("data.0.event_type", "delivery.created").lacks("data.1")
		c.sent(endpoint, "?delivery_id="+unknown("dlv_")).lacks("data.0")
		c.sent(endpoint, escaped("delivery_id", booked.id(), "created_after", log.text("data.0.created_at"))).has("data.0.id", webhook).lacks(
			"data.1")
		c.sent(endpoint, escaped("created_before", log.text("data.1.created_at"))).lacks("data.0")
		if ids := walk(t, c, "/webhook-endpoints/"+endpoint+"/deliveries", 1); !slices.Equal(ids, []string{webhook, log.text("data.1.id")}) {
			t.Errorf("page by page there are %v", ids)
		}
		c.get("/webhook-endpoints/"+endpoint+"/deliveries?status=lost&delivery_id=x&event_type=y&limit=0").
			invalid("status not_allowed", "event_type not_allowed", "delivery_id invalid_format", "limit out_of_range")
	})
}

func TestWhatFailedOrWasHeldIsSentAgainWhenAskedFor(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := start(t, dialect, "WAYBILL_WEBHOOK_RETRY_SCHEDULE=50ms,100ms", "WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s")
			r, c := newReceiver(t), s.loner(t, live)
			r.answers(503)
			endpoint, _ := c.endpoint(r)
			c.post("/deliveries", anOrder()).is(201)
			var webhook string
			eventually(t, "the schedule is used up", func() bool {
				list := c.sent(endpoint, "?status=failed")
				webhook = list.text("data.0.id")
				return list.count("data") == 1
			})
			c.get("/webhook-deliveries/"+webhook+"/attempts").is(200).has("data.2.attempt", "3", "data.2.status_code", "503",
				"data.2.error_class", "http_5xx", "data.2.next_attempt_at", "null").lacks("data.3")
			c.get("/webhook-endpoints/"+endpoint).is(200).has("data.status", "failing")

			ids := map[string]bool{}
			for _, g := range r.awaits(t, 3) {
				ids[g.header.Get("webhook-id")] = true
			}
			if len(ids) != 1 {
				t.Errorf("three attempts had the IDs %v", ids)
			}
			r.answers(200)
			c.post("/webhook-deliveries/"+webhook+"/redeliver", nil).is(202).has("data.status", "pending")
			r.awaits(t, 4)
			eventually(t, "the redelivery is logged", func() bool {
				return c.get("/webhook-deliveries/"+webhook).is(200).text("data.status") == "succeeded"
			})
			attempts := "/webhook-deliveries/" + webhook + "/attempts"
			all := c.get(attempts).is(200).has("data.3.trigger", "manual", "data.3.attempt", "4", "meta.limit", "4", "meta.has_more", "false").ids()
			if got := walk(t, c, attempts, 3); !slices.Equal(got, all) {
				t.Errorf("attempts by pages of 3: %v, want %v", got, all)
			}
			c.get("/webhook-endpoints/"+endpoint).is(200).has("data.status", "healthy")

			// Held while it is disabled, and sent by a recovery only.
			c.send("PATCH", "/webhook-endpoints/"+endpoint, m{"enabled": false}).is(200)
			c.post("/deliveries/bulk", aBulk(manyOrders(5, func(int) change { return func(m) {} })...)).is(201)
			c.sent(endpoint, "?status=held").has("data.4.attempts", "0").lacks("data.5")
			if disabled, due := s.metric(t, "waybill_webhook_endpoints_disabled"), s.metric(t, "waybill_webhook_backlog"); disabled != 1 ||
				due != 0 {
				t.Errorf("the metrics tell %v disabled endpoints and %v webhooks that are due", disabled, due)
			}
			if failed := s.metric(t, `waybill_webhook_attempts_total{result="http_5xx"}`); failed != 3 {
				t.Errorf("the metrics tell %v attempts that failed, want 3", failed)
			}
			c.post("/webhook-deliveries/"+webhook+"/redeliver", nil).refused(409, "WEBHOOK_ENDPOINT_DISABLED")
			hourAgo := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
			c.post("/webhook-endpoints/"+endpoint+"/recover", m{"since": hourAgo}).refused(409, "WEBHOOK_ENDPOINT_DISABLED")
			c.send("PATCH", "/webhook-endpoints/"+endpoint, m{"enabled": true}).is(200)
			c.post("/webhook-endpoints/"+endpoint+"/recover", m{"since": hourAgo, "only": "failed"}).is(202).has("data.queued", "0", "data.has_more",
				"false")
			key := newKeyText()
			c.post("/webhook-endpoints/"+endpoint+"/recover", m{"since": hourAgo}, idem(key)).is(202).has("data.queued", "5", "data.has_more",
				"false")
			c.post("/webhook-endpoints/"+endpoint+"/recover", m{"since": hourAgo}, idem(key)).is(202).replayed(true).has("data.queued", "5")
			r.awaits(t, 9)
			eventually(t, "all have arrived", func() bool { return c.sent(endpoint, "?status=succeeded").count("data") == 6 })
			old := time.Now().Add(-31 * 24 * time.Hour).UTC().Format(time.RFC3339)
			c.post("/webhook-endpoints/"+endpoint+"/recover", m{"since": old}).invalid("since out_of_range")

		})
	}
}

// A receiver that is gone for good disables its endpoint, and the others hear of it.
func TestAnEndpointThatIsGoneIsDisabledAndTheOthersAreTold(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		dead, alive, c := newReceiver(t), newReceiver(t), s.caller(t, live)
		dead.answers(410)
		gone, _ := c.endpoint(dead, set("event_types", []string{"delivery.*"}))
		c.endpoint(alive, set("event_types", []string{"webhook_endpoint.disabled"}))
		c.post("/deliveries", anOrder()).is(201)
		alive.awaits(t, 1)[0].tree.has("type", "webhook_endpoint.disabled", "data.webhook_endpoint.id", gone,
			"data.webhook_endpoint.host", strings.TrimPrefix(dead.URL, "http://")).
			lacks("sequence", "data.webhook_endpoint.url", "data.webhook_endpoint.description", "data.webhook_endpoint.event_types",
				"data.webhook_endpoint.status")
		c.get("/webhook-endpoints/"+gone).is(200).has("data.status", "disabled", "data.disabled_reason", "gone")
		c.post("/webhook-endpoints/"+gone+"/test", nil).refused(409, "WEBHOOK_ENDPOINT_DISABLED").has("error.details.disabled_reason", "gone")
	})
}

// A server notifies the workers of what it commits, and a worker sends it. What was committed
// while no worker ran is sent by the next one.
func TestWebhooksAreSentByAWorker(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true")
	r, c := newReceiver(t), f.loner(t, live)
	_, secret := c.endpoint(r)
	c.post("/deliveries", anOrder()).is(201)
	f.work(t)
	r.awaits(t, 1)
	c.post("/deliveries", anOrder()).is(201)
	for i, g := range r.awaits(t, 2) {
		if !g.signedBy(t, secret)[0] {
			t.Errorf("webhook %d is signed %q", i, g.header.Get("webhook-signature"))
		}
	}
}
