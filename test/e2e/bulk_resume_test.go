package e2e

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// halfDone sends a bulk, waits until some of its items are booked, and ends the
// server. It answers what came back, or nil, and what is booked once the
// server is there again.
func halfDone(t *testing.T, s *server, c *client, p *prices, body m, key string, end func(testing.TB)) (told *answer, booked []string) {
	t.Helper()
	p.delay.Store(int64(1300 * time.Millisecond)) // sixteen prices at a time: longer than a server that stops lets a bulk go on
	answered := make(chan *answer, 1)
	go func() {
		a, _ := c.try("POST", "/deliveries/bulk", body, idem(key))
		answered <- a
	}()
	eventually(t, "some items are booked", func() bool { return len(c.get("/deliveries").is(200).ids()) >= 4 })
	end(t)
	told = <-answered
	p.delay.Store(0)
	s.connections.CloseIdleConnections()
	s.launch(t)
	booked = walk(t, c, "/deliveries", 100)
	if most := len(body["deliveries"].([]any)); len(booked) < 4 || len(booked) >= most {
		t.Fatalf("%d of %d items are booked, so this test shows nothing", len(booked), most)
	}
	return told, booked
}

// keyStays checks that the key of a bulk that is half done takes nothing else.
func keyStays(c *client, body m, key string) {
	c.t.Helper()
	items := body["deliveries"].([]any)
	c.post("/deliveries", items[0], idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
	c.post("/deliveries/bulk", m{"deliveries": items[1:]}, idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
}

// A server that is told to stop answers a bulk after five seconds without the rest, and
// a repetition of the request goes on at once.
func TestLongABulkThatAStopCutsShortIsResumed(t *testing.T) {
	priced(t, func(t *testing.T, s *server, p *prices) {
		c := s.loner(t, live)
		const items = 100
		place := c.post("/pickup-locations", aPlace()).is(201).id()
		key, body := newKeyText(), aBulk(manyOrders(items, func(i int) change {
			if i%2 == 0 {
				return drop()
			}
			return func(o m) { apply(o, []change{drop("pickup"), set("pickup_location_id", place)}) }
		})...)
		begun := time.Time{}
		told, booked := halfDone(t, s, c, p, body, key, func(t testing.TB) {
			begun = time.Now()
			s.terminate(t) // and the exit code is 0
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("the server took %s to stop", took)
			}
		})
		if told == nil {
			t.Fatal("the bulk under way was cut off without an answer")
		}
		if wait := told.refused(409, "IDEMPOTENCY_IN_PROGRESS").number(t, "Retry-After"); wait != 1 {
			t.Errorf("Retry-After is %d, and nobody holds the bulk any more", wait)
		}
		keyStays(c, body, key)

		// The bulk stays unfinished until the request is repeated; meanwhile the
		// world has changed.
		c.send("PATCH", "/pickup-locations/"+place, m{"active": false}).is(200)
		if now := walk(t, c, "/deliveries", 100); !slices.Equal(now, booked) {
			t.Errorf("%d deliveries were booked behind the caller's back", len(now)-len(booked))
		}
		want := times("created", items)
		for i := len(booked); i < items; i++ {
			if i%2 == 1 {
				want[i] = "PICKUP_LOCATION_INACTIVE"
			}
		}
		final := c.post("/deliveries/bulk", body, idem(key)).outcomes(want...).replayed(false)
		if !slices.Equal(final.booked()[:len(booked)], booked) {
			t.Errorf("what was booked before the stop is %v in the answer, was %v", final.booked()[:len(booked)], booked)
		}
		replay := c.post("/deliveries/bulk", body, idem(key)).outcomes(want...).replayed(true)
		if !bytes.Equal(replay.body, final.body) {
			t.Errorf("the replay is %s, the answer was %s", replay.body, final.body)
		}
		if listed := walk(t, c, "/deliveries", 100); !slices.Equal(listed, final.booked()) {
			t.Errorf("%d deliveries are listed, want the %d of the answer", len(listed), len(final.booked()))
		}
	}, "WAYBILL_PRICING_TIMEOUT=2s") // a server of its own
}
