package httppricing_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/adapters/circuitbreaker"
	"waybill/adapters/pricing/httppricing"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/conformance"
)

// marketService returns a pricing service that knows the trips of a market.
func marketService(m conformance.Market) http.HandlerFunc {
	plain := &conformance.Plain{Market: m}
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			VehicleType     domain.VehicleType `json:"vehicle_type"`
			Pickup, Dropoff domain.Coordinates
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		q, err := plain.Price(r.Context(), domain.Trip{VehicleType: asked.VehicleType, Pickup: asked.Pickup, Dropoff: asked.Dropoff})
		var outside *ports.OutsideServiceAreaError
		status, answer := http.StatusOK, map[string]any{
			"currency": q.Currency, "distance_km": q.Distance.Kilometres, "distance_source": q.Distance.Source,
			"requires_custom_quote": q.RequiresCustomQuote,
		}
		switch {
		case errors.As(err, &outside):
			status, answer = http.StatusUnprocessableEntity, map[string]any{"code": "OUTSIDE_SERVICE_AREA", "field": outside.End}
		case err != nil:
			status = http.StatusServiceUnavailable
		case q.Fee != nil:
			answer["fee"] = json.RawMessage(q.Fee.Decimal())
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// line connects to services, or refuses every connection.
type line struct{ down atomic.Bool }

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.down.Load() {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestPricingConformance(t *testing.T) {
	t.Parallel()
	market := conformance.Accra()
	url := serve(t, marketService(market))
	t.Run("at a service that works", func(t *testing.T) {
		t.Parallel()
		conformance.ExaminePricing(t, market, func(t *testing.T) ports.Pricing { return ask(t, httppricing.Options{URL: url}) })
	})
	t.Run("after the breaker opened and closed", func(t *testing.T) {
		t.Parallel()
		conformance.ExaminePricing(t, market, func(t *testing.T) ports.Pricing {
			l := &line{}
			l.down.Store(true)
			c := ask(t, httppricing.Options{URL: url, HTTPClient: &http.Client{Transport: l}})
			if err := outage(t, c, domain.Live); !errors.Is(err, circuitbreaker.ErrOpen) {
				t.Fatalf("during the outage: %v, want an open breaker", err)
			}
			l.down.Store(false)
			again := market.Priced[0]
			again.BusinessID = "biz_0" // one of those whose calls failed
			for limit := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				_, err := c.Price(t.Context(), again)
				if err == nil {
					return c
				}
				if time.Now().After(limit) {
					t.Fatalf("the breaker is open still: %v", err)
				}
			}
		})
	})
}
