package faults

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestAFailoverToAStandbyCostsNoOrder ends the primary under load and promotes its
// standby; the address names both.
func TestAFailoverToAStandbyCostsNoOrder(t *testing.T) {
	primary := ownPostgres(t)
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	// The standby first: a client that takes any session would find that it only
	// reads.
	both := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable", standby.Port, primary.Port)
	shop := serve(t, both, 1)
	shop.may = append(shop.may, away, "409 IDEMPOTENCY_IN_PROGRESS")
	shop.admit(t.Context())
	const some = 30
	until(t, "orders are booked", time.Minute, func() bool { return shop.booked() >= some })
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the server says that it is not ready", backWithin, func() bool {
		return shop.operators(t, "/readyz") == http.StatusServiceUnavailable
	})
	promoted := time.Now()
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, took := range shop.bookAgain(t, promoted) {
		t.Logf("the server books again %.2f s after the promotion began", took.Seconds())
		if took > healedWithin() {
			t.Errorf("that is more than %s", healedWithin())
		}
	}
	until(t, "the server is ready", goneWithin, func() bool { return shop.operators(t, "/readyz") == http.StatusOK })
	booked := shop.booked()
	until(t, "orders are booked again", goneWithin, func() bool { return shop.booked() >= booked+some })
	shop.settle(t, "a standby that was promoted", openDatabase(t, standby.URL), Postgres)
}
