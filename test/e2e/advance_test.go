package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestADeliveryLivesThroughRetryToItsEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		booked := c.post("/deliveries", anOrder()).is(201)
		id := booked.id()
		refuse := func(status string, hint ...string) {
			t.Helper()
			out, complaint, err := s.tryCommand("delivery", "advance", id, status)
			if err == nil || len(out) > 0 {
				t.Errorf("advance to %s succeeded: %s", status, out)
			}
			for _, h := range hint {
				if !strings.Contains(string(complaint), h) {
					t.Errorf("advance to %s complains %q, want %q in it", status, complaint, h)
				}
			}
		}
		move := func(status string, more ...string) {
			t.Helper()
			if got := s.command(t, append([]string{"delivery", "advance", id, status}, more...)...)["status"]; got != status {
				t.Errorf("advance to %s shows %v", status, got)
			}
			c.get("/deliveries/"+id).is(200).has("data.status", status)
		}
		refuse("delivered", "assigned", "outsourced", "cancelled")
		refuse("booked")
		refuse("nowhere")
		move("assigned")
		refuse("assigned")
		move("picked_up")
		c.send("POST", "/deliveries/"+id+"/cancel", nil).refused(409, "DELIVERY_NOT_CANCELLABLE").has("error.details.status", "picked_up")
		move("in_transit")
		move("failed", "--reason", "recipient_unreachable")
		c.send("POST", "/deliveries/"+id+"/cancel", nil).refused(409, "DELIVERY_NOT_CANCELLABLE").has("error.details.status", "failed")
		refuse("cancelled", "assigned")
		move("assigned") // a retry
		// Pickup has happened, whatever the status says now.
		c.send("POST", "/deliveries/"+id+"/cancel", nil).refused(409, "DELIVERY_NOT_CANCELLABLE").has("error.details.status", "assigned")
		refuse("cancelled")
		move("picked_up")
		move("in_transit")
		move("delivered")
		refuse("failed", "Nothing")
		c.send("POST", "/deliveries/"+id+"/cancel", nil).refused(409, "DELIVERY_NOT_CANCELLABLE").has("error.details.status", "delivered")

		life := []string{"booked", "assigned", "picked_up", "in_transit", "failed", "assigned", "picked_up", "in_transit", "delivered"}
		events := timeline(t, c, id)
		if fmt.Sprint(events) != fmt.Sprint(life) {
			t.Errorf("the timeline is %v, want %v", events, life)
		}
		list := c.get("/deliveries/"+id+"/events").has("data.4.reason_code", "recipient_unreachable", "data.4.type", "delivery.failed").
			lacks("data.3.reason_code", "data.8.reason_code")
		c.get("/deliveries/"+id).has("data.updated_at", list.text("data.8.occurred_at"), "data.created_at", booked.text("data.created_at"))
	})
}

// timeline checks that the events of a delivery are gapless and in order, and
// returns their statuses.
func timeline(t testing.TB, c *client, id string) []string {
	t.Helper()
	list := c.get("/deliveries/" + id + "/events").is(200)
	var statuses []string
	last := time.Time{}
	for i := range list.count("data") {
		at := fmt.Sprintf("data.%d.", i)
		status := list.text(at + "status")
		kind := "delivery." + status
		if status == "booked" {
			kind = "delivery.created"
		}
		list.has(at+"sequence", fmt.Sprint(i+1), at+"type", kind)
		occurred, err := time.Parse(time.RFC3339, list.text(at+"occurred_at"))
		if err != nil || occurred.Before(last) {
			t.Errorf("event %d occurred at %s, the one before at %s", i+1, list.text(at+"occurred_at"), last)
		}
		last = occurred
		statuses = append(statuses, status)
	}
	return statuses
}

func TestOfACancelAndAPickupOneWins(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		took := 100 * time.Millisecond
		for range 8 {
			id := c.post("/deliveries", anOrder()).is(201).id()
			s.advance(t, id, "assigned")
			var wg sync.WaitGroup
			var moved error
			begun := time.Now()
			wg.Go(func() { _, _, moved = s.tryCommand("delivery", "advance", id, "picked_up") })
			// Somewhere between now and the time a command takes.
			<-time.After(rand.N(took))
			cancelled, refused := 0, 0
			for range 3 {
				switch a := c.send("POST", "/deliveries/"+id+"/cancel", nil); a.status {
				case 200:
					cancelled++
				default:
					a.refused(409, "DELIVERY_NOT_CANCELLABLE")
					refused++
				}
			}
			wg.Wait()
			took = max(took, time.Since(begun))
			want := "booked assigned cancelled"
			if moved == nil {
				want = "booked assigned picked_up"
			}
			if got := strings.Join(timeline(t, c, id), " "); got != want {
				t.Errorf("pickup: %v, cancels: %d, refused: %d, timeline: %s", moved, cancelled, refused, got)
			}
			if cancelled > 0 == (moved == nil) {
				t.Errorf("both or neither won: pickup %v, %d cancels", moved, cancelled)
			}
		}
	})
}
