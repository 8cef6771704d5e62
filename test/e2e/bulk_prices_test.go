package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// prices is a pricing service that a test has in its hands.
type prices struct {
	*httptest.Server
	asked atomic.Int32
	delay atomic.Int64 // before each answer
	mu    atomic.Pointer[func(vehicle string) int]
}

// startPrices answers every question with a price, unless told otherwise.
func startPrices(t testing.TB) *prices {
	t.Helper()
	p := &prices{}
	p.answers(func(string) int { return http.StatusOK })
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		var question struct {
			Vehicle string `json:"vehicle_type"`
		}
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			t.Error(err)
		}
		select {
		case <-time.After(time.Duration(p.delay.Load())):
		case <-r.Context().Done():
		}
		status := (*p.mu.Load())(question.Vehicle)
		w.WriteHeader(status)
		switch status {
		case http.StatusOK:
			_, _ = io.WriteString(w, `{"currency":"GHS","fee":7.5,"distance_km":3.2,"distance_source":"road","requires_custom_quote":false}`)
		case http.StatusUnprocessableEntity:
			_, _ = io.WriteString(w, `{"code":"OUTSIDE_SERVICE_AREA","field":"dropoff"}`)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// answers decides on the status by what is to drive.
func (p *prices) answers(status func(vehicle string) int) { p.mu.Store(&status) }

// sharedPrices is a server whose prices one test after the other has in its hands.
type sharedPrices struct {
	mu sync.Mutex
	*prices
	life lifetime
}

var pricedServers = map[string]*sharedPrices{sqlite: {}, postgres: {}}

// priced runs a test on each database with a server and its prices. Tests with settings
// of their own have both for themselves.
func priced(t *testing.T, test func(t *testing.T, s *server, p *prices), settings ...string) {
	t.Helper()
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			// A test that waits for items to be booked asks more often than customers
			// may.
			with := func(p *prices) []string {
				return append(settings, "WAYBILL_PRICING_URL="+p.URL, "WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s")
			}
			if len(settings) > 0 {
				p := startPrices(t)
				test(t, start(t, dialect, with(p)...), p)
				return
			}
			h := pricedServers[dialect]
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.prices == nil {
				h.prices = startPrices(&h.life)
			}
			h.delay.Store(0)
			h.answers(func(string) int { return http.StatusOK })
			test(t, shared(t, dialect, with(h.prices)...), h.prices)
		})
	}
}

func TestAnItemWithoutAPriceFailsAlone(t *testing.T) {
	priced(t, func(t *testing.T, s *server, p *prices) {
		for _, env := range []string{live, sandbox} {
			c := s.loner(t, env)
			p.answers(func(vehicle string) int {
				return map[string]int{"bike": 200, "car": 500, "van": 422}[vehicle]
			})
			orders := manyOrders(5, func(i int) change {
				return set("vehicle_type", []string{"bike", "car", "bike", "van", "bike"}[i])
			})
			key := newKeyText()
			partly := c.post("/deliveries/bulk", aBulk(orders...), idem(key)).
				outcomes("created", "QUOTE_UNAVAILABLE", "created", "VALIDATION_ERROR", "created").
				has("data.results.0.delivery.delivery_fee", "7.5", "data.results.1.error.message",
					"No price for this trip can be had right now; this item was not booked. Send it again under a new Idempotency-Key.",
					"data.results.3.error.message", "recipient.address: this point is outside the area we serve; check that latitude and longitude are "+
						"not swapped")
			if partly.header.Get("Retry-After") != "" {
				t.Error("an answer that nothing changes any more has Retry-After")
			}
			if listed := c.get("/deliveries").ids(); !slices.Equal(listed, partly.booked()) {
				t.Errorf("%d deliveries are listed, want the 3 that were booked", len(listed))
			}
			for _, i := range []int{1, 3} {
				c.get("/recipients" + escaped("phone_number", orders[i]["recipient"].(m)["phone_number"].(string))).is(200).lacks("data.0")
			}
			c.post("/deliveries/bulk", aBulk(orders[1]), idem(newKeyText())).outcomes("QUOTE_UNAVAILABLE")

			// The prices are back: what failed is booked under a key of its own,
			// and the old answer stays what it was.
			p.answers(func(string) int { return http.StatusOK })
			c.post("/deliveries/bulk", aBulk(orders[1], orders[3])).outcomes("created", "created").replayed(false)
			if again := c.post("/deliveries/bulk", aBulk(orders...), idem(key)).replayed(true); !bytes.Equal(again.body, partly.body) {
				t.Errorf("the replay is %s, the answer was %s", again.body, partly.body)
			}
			if n := len(c.get("/deliveries").ids()); n != 5 {
				t.Errorf("there are %d deliveries, want 5", n)
			}
		}
	})
}

func TestAClientThatHangsUpFindsItsBulkOnTheNextTry(t *testing.T) {
	priced(t, func(t *testing.T, s *server, p *prices) {
		c := s.loner(t, sandbox)
		p.delay.Store(int64(500 * time.Millisecond))
		key, body := newKeyText(), aBulk(manyOrders(40)...)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := c.try("POST", "/deliveries/bulk", body, idem(key), within(ctx))
			gone <- err
		}()
		eventually(t, "some items are booked", func() bool { return len(c.get("/deliveries").ids()) >= 3 })
		cancel()
		if <-gone == nil {
			t.Fatal("the answer came before the client hung up")
		}
		var final *answer
		waited := 0
		eventually(t, "the retry is answered", func() bool {
			if final = c.post("/deliveries/bulk", body, idem(key)); final.status == 409 {
				waited++
				if wait := final.refused(409, "IDEMPOTENCY_IN_PROGRESS").number(t, "Retry-After"); wait < 1 || wait > 5 {
					t.Errorf("Retry-After is %d beside a bulk that runs, want what is left of its lease of 5 s", wait)
				}
				return false
			}
			return true
		})
		// The first request went on without its client, and the retry found its answer.
		final.outcomes(times("created", 40)...).replayed(true)
		if waited == 0 {
			t.Error("no retry met the first request, so this test showed little")
		}
		if listed := walk(t, c, "/deliveries", 100); !slices.Equal(listed, final.booked()) {
			t.Errorf("%d deliveries are listed, want the 40 of the answer", len(listed))
		}
	})
}
