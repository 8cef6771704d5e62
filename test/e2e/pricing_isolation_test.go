package e2e

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
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
