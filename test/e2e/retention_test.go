package e2e

import (
	"testing"
	"time"
)

func TestLongAKeyIsFreeAgainAfterItsRetention(t *testing.T) {
	t.Parallel()
	c := start(t, sqlite, "WAYBILL_IDEMPOTENCY_RETENTION=5s").loner(t, sandbox)
	key, order := newKeyText(), anOrder()
	begun := time.Now()
	first := c.post("/deliveries", order, idem(key)).is(201)
	var again *answer
	eventually(t, "the key is free again", func() bool {
		again = c.post("/deliveries", order, idem(key)).is(201)
		return again.header.Get("Idempotent-Replayed") == ""
	})
	if again.id() == first.id() {
		t.Error("another answer shows the same delivery")
	}
	if kept := time.Since(begun); kept < 5*time.Second {
		t.Errorf("the key was kept for %s, want 5s", kept)
	}
	c.post("/deliveries", anOrder(), idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
}
