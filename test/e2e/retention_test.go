package e2e

import (
	"testing"
	"time"
)

func TestLongAKeyIsFreeAgainAfterItsRetention(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			c := start(t, dialect, "WAYBILL_IDEMPOTENCY_RETENTION=5s").loner(t, sandbox)
			key, order := newKeyText(), anOrder()
			begun := time.Now()
			first := c.post("/deliveries", order, idem(key)).is(201)
			for {
				again := c.post("/deliveries", order, idem(key)).is(201)
				if again.header.Get("Idempotent-Replayed") == "" {
					if again.id() == first.id() {
						t.Error("another answer shows the same delivery")
					}
					if kept := time.Since(begun); kept < 5*time.Second {
						t.Errorf("the key was kept for %s, want 5s", kept)
					}
					break
				}
				if time.Since(begun) > patience {
					t.Fatal("the key is never free again")
				}
				<-time.After(100 * time.Millisecond)
			}
			c.post("/deliveries", anOrder(), idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
		})
	}
}
