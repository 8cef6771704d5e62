package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
)

// startPrices is a pricing service that answers by what is to drive.
func startPrices(t *testing.T) (url string, answers func(status func(vehicle string) int)) {
	t.Helper()
	var status atomic.Pointer[func(vehicle string) int]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct {
			Vehicle string `json:"vehicle_type"`
		}
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			t.Error(err)
		}
		code := (*status.Load())(question.Vehicle)
		w.WriteHeader(code)
		switch code {
		case http.StatusOK:
			_, _ = io.WriteString(w, `{"currency":"GHS","fee":7.5,"distance_km":3.2,"distance_source":"road","requires_custom_quote":false}`)
		case http.StatusUnprocessableEntity:
			_, _ = io.WriteString(w, `{"code":"OUTSIDE_SERVICE_AREA","field":"dropoff"}`)
		}
	}))
	t.Cleanup(service.Close)
	return service.URL, func(by func(vehicle string) int) { status.Store(&by) }
}

func TestAnItemWithoutAPriceFailsAlone(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url, answers := startPrices(t)
			s := start(t, dialect, "WAYBILL_PRICING_URL="+url)
			for _, env := range []string{live, sandbox} {
				c := s.loner(t, env)
				answers(func(vehicle string) int {
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
				answers(func(string) int { return http.StatusOK })
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
}
