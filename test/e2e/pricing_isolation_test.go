package e2e

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// together sends many requests at a time and returns their answers.
func together(n int, send func(i int) *answer) []*answer {
	answers := make([]*answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { answers[i] = send(i) })
	}
	wg.Wait()
	return answers
}

// Five bad answers in a row used to refuse the prices of all customers for five
// seconds.
func TestBadAnswersToOneCustomerRefuseNoOtherOne(t *testing.T) {
	priced(t, func(t *testing.T, s *server, p *prices) {
		greedy, other := s.loner(t, sandbox), s.loner(t, live)
		greedy2 := s.loner(t, live)
		p.answers(func(vehicle string) int {
			if vehicle == "truck" {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		for range 8 {
			greedy.send("POST", "/quotes", aTrip(set("vehicle_type", "truck"))).refused(503, "QUOTE_UNAVAILABLE")
			greedy2.send("POST", "/quotes", aTrip(set("vehicle_type", "truck"))).refused(503, "QUOTE_UNAVAILABLE")
		}
		refused := 0
		for _, a := range together(48, func(int) *answer { return other.post("/deliveries", anOrder()) }) {
			if a.status != http.StatusCreated {
				refused++
			}
		}
		if refused > 0 {
			t.Errorf("%d of 48 live creates of another business were refused, want none", refused)
		}
		greedy.post("/deliveries", anOrder()).is(201)
	})
}

func TestABulkIsPricedItemByItem(t *testing.T) {
	priced(t, func(t *testing.T, s *server, p *prices) {
		c := s.loner(t, live)
		p.answers(func(vehicle string) int {
			if vehicle == "car" {
				return http.StatusBadGateway
			}
			return http.StatusOK
		})
		want := append(append(times("created", 5), times("QUOTE_UNAVAILABLE", 8)...), times("created", 20)...)
		orders := manyOrders(len(want), func(i int) change {
			if want[i] == "created" {
				return drop()
			}
			return set("vehicle_type", "car")
		})
		c.post("/deliveries/bulk", aBulk(orders...)).outcomes(want...)
		if n := len(walk(t, c, "/deliveries", 100)); n != 25 {
			t.Errorf("%d deliveries, want 25", n)
		}
	})
}

// The routing engine answers here as a Valhalla with its own limit of 500 km does.
func TestTripsThatAreTooLongNeedACustomQuoteAndRefuseNoOther(t *testing.T) {
	t.Parallel()
	dialect := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct {
			Locations []struct{ Lat, Lon float64 } `json:"locations"`
		}
		_ = json.NewDecoder(r.Body).Decode(&question)
		if r.URL.Path != "/route" || len(question.Locations) != 2 {
			_, _ = io.WriteString(w, `{"version":"3.6.1"}`)
			return
		}
		from, to := question.Locations[0], question.Locations[1]
		if math.Hypot(from.Lat-to.Lat, from.Lon-to.Lon)*111 > 500 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error_code":154,"error":"Path distance exceeds the max distance limit: 500000 meters","status_code":400}`)
			return
		}
		_, _ = io.WriteString(w, `{"trip":{"status":0,"units":"kilometers","summary":{"length":9.5}}}`)
	}))
	t.Cleanup(dialect.Close)
	s := start(t, sqlite, "WAYBILL_ROUTING_URL="+dialect.URL)
	far, near := s.loner(t, live), s.loner(t, live)
	order := func(latitude float64) m {
		return anOrder(inner("recipient", inner("address", set("latitude", latitude))))
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 16 {
			far.send("POST", "/quotes", aTrip(inner("dropoff", set("latitude", 10.5+float64(i)/1000)))).
				is(200).has("data.requires_custom_quote", "true", "data.distance_source", "straight_line").lacks("data.fee")
		}
	})
	for i := range 16 {
		near.post("/deliveries", order(hereLatitude+0.03+float64(i)/10000)).is(201).has("data.requires_custom_quote", "false")
	}
	wg.Wait()
	far.post("/deliveries", order(10.7)).is(201).has("data.requires_custom_quote", "true").lacks("data.delivery_fee")
}

// fourAtWork sends four bulks whose prices do not come, and returns their keys once
// they are at work. wait ends with the last of them.
func fourAtWork(t *testing.T, c *client, p *prices) (keys []string, wait func()) {
	t.Helper()
	before := p.asked.Load()
	p.delay.Store(int64(time.Minute)) // until the time-out of a price, seven times one after the other
	var wg sync.WaitGroup
	for range 4 {
		key := newKeyText()
		keys = append(keys, key)
		wg.Go(func() {
			if _, err := c.try("POST", "/deliveries/bulk", aBulk(manyOrders(100)...), idem(key)); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "four bulks wait for their prices", func() bool { return p.asked.Load() >= before+4*16 })
	return keys, wg.Wait
}

func TestLongSixteenBulksWaitBehindFourThatAreAtWork(t *testing.T) {
	priced(t, func(t *testing.T, s *server, p *prices) {
		c, other := s.loner(t, sandbox), s.loner(t, sandbox)
		keys, wait := fourAtWork(t, c, p)
		defer wait()
		var waited atomic.Bool // longer than a bulk does, where the machine is busy
		answers := make(chan *answer, 17)
		for range cap(answers) {
			key, sent := newKeyText(), time.Now()
			keys = append(keys, key)
			go func() {
				a, err := c.try("POST", "/deliveries/bulk", aBulk(anOrder()), idem(key))
				if err != nil {
					t.Error(err)
				}
				if time.Since(sent) > 10*time.Second {
					waited.Store(true)
				}
				answers <- a
			}()
		}
		refusal := (<-answers).refused(429, "RATE_LIMIT_EXCEEDED").has("error.details.scope", "concurrency", "error.details.limit", "20")
		if refusal.number(t, "Retry-After") != 1 {
			t.Errorf("Retry-After is %d", refusal.number(t, "Retry-After"))
		}
		eventually(t, "the keys of twenty bulks are in progress", func() bool {
			busy := 0
			for _, key := range keys {
				if a := c.post("/deliveries/bulk", "no bulk at all", idem(key)); a.status == 409 {
					a.refused(409, "IDEMPOTENCY_IN_PROGRESS")
					busy++
				}
			}
			return busy == 20 || waited.Load()
		})
		c.get("/deliveries").is(200) // other requests of the application go on
		c.in(live).post("/deliveries/bulk", m{"deliveries": []m{}}).refused(422, "VALIDATION_ERROR")
		other.post("/deliveries/bulk", aBulk(manyOrders(0)...)).refused(422, "VALIDATION_ERROR")
		p.delay.Store(0)
		for range 16 {
			if a := <-answers; a.status != 429 || !waited.Load() {
				a.outcomes("created").replayed(false)
			}
		}
	}, "WAYBILL_PRICING_TIMEOUT=2400ms")
}

func TestLongABulkThatWaitsEndsWithItsCallerAndWithItsServer(t *testing.T) {
	priced(t, func(t *testing.T, s *server, p *prices) {
		c := s.loner(t, sandbox)
		_, wait := fourAtWork(t, c, p)
		key := newKeyText()
		empty := m{"deliveries": []m{}} // is refused at once, unless its key is in progress
		inProgress := func() bool { return c.post("/deliveries/bulk", empty, idem(key)).status == 409 }
		request := c.request("POST", "/deliveries/bulk", aBulk(anOrder()), idem(key))
		ctx, leave := context.WithCancel(request.Context())
		left := make(chan error, 1)
		go func() {
			for { // again where it met inProgress, which takes the same key for a moment
				answer, err := c.http.Do(request.WithContext(ctx))
				if err != nil {
					left <- err
					return
				}
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusConflict {
					left <- nil
					return
				}
				request = c.request("POST", "/deliveries/bulk", aBulk(anOrder()), idem(key))
			}
		}()
		eventually(t, "a fifth bulk waits", inProgress)
		leave()
		if err := <-left; err == nil {
			t.Error("the fifth bulk was answered before its caller left")
		}
		eventually(t, "it gave up", func() bool { return !inProgress() })
		p.delay.Store(0)
		wait()

		_, wait = fourAtWork(t, c, p)
		defer wait()
		told := make(chan *answer, 1)
		go func() {
			for {
				a, err := c.try("POST", "/deliveries/bulk", aBulk(anOrder()), idem(key))
				if err != nil {
					t.Error(err)
				}
				if err != nil || a.status != http.StatusConflict {
					told <- a
					return
				}
			}
		}()
		eventually(t, "another one waits", inProgress)
		s.askToStop(t)
		if after := (<-told).refused(503, "SERVICE_UNAVAILABLE").number(t, "Retry-After"); after != 1 {
			t.Errorf("Retry-After is %d", after)
		}
		s.terminate(t)
	}, "WAYBILL_PRICING_TIMEOUT=2400ms")
}
