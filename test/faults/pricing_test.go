package faults

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestAPricingServiceThatHangsCostsNoOrder has prices that do not come for a while. Orders
// are refused meanwhile, and everything else goes on.
func TestAPricingServiceThatHangsCostsNoOrder(t *testing.T) {
	alongside(t)
	var hangs atomic.Bool
	prices := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // the end of the request is seen behind its body
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"currency":"GHS","fee":24.5,"distance_km":5.3,"distance_source":"road","requires_custom_quote":false}`)
	}))
	t.Cleanup(prices.Close)
	database := freshDatabase(t, Postgres)
	shop := serve(t, database, 1, "WAYBILL_PRICING_URL="+prices.URL)
	shop.may = append(shop.may, unpriced)
	shop.admit(t.Context())
	const some = 30
	until(t, "orders are booked", time.Minute, func() bool { return shop.booked() >= some })
	hangs.Store(true)
	until(t, "orders are refused", time.Minute, func() bool { return shop.sender.count(unpriced) >= 2*customers })
	if r, err := shop.list(t.Context()); err != nil || r.status != http.StatusOK {
		t.Errorf("a list is answered %s (error %v) while prices hang", r, err)
	}
	if status := shop.operators(t, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz answers %d while prices hang", status)
	}
	booked := shop.booked()
	hangs.Store(false)
	until(t, "orders are booked again", time.Minute, func() bool { return shop.booked() >= booked+some })
	shop.settle(t, "prices that hung for a while", openDatabase(t, database), Postgres)
}
