package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestEveryItemOfABulkIsAnotherOrder(t *testing.T) {
	t.Parallel()
	type order struct {
		ExternalID string `json:"external_id"`
		Recipient  struct {
			Phone string `json:"phone_number"`
		}
	}
	keys, seen := map[string]bool{}, map[order]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Deliveries []order }
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil || len(body.Deliveries) != bulkSize {
			t.Errorf("a bulk of %d items: %v", len(body.Deliveries), err)
		}
		keys[r.Header.Get("Idempotency-Key")] = true
		for _, o := range body.Deliveries {
			if strings.TrimPrefix(o.ExternalID, "order-") != strings.TrimPrefix(o.Recipient.Phone, phonePrefix) {
				t.Errorf("an order is %+v", o)
			}
			seen[o] = true
		}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(s.Close)
	address := strings.TrimPrefix(s.URL, "http://")
	c, err := dialWith(t.Context(), address, bulkRequest(address, "key"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.net.Close() })
	for _, first := range []int{1, 101} {
		if a, err := c.bulk(first); err != nil || a.status != http.StatusCreated {
			t.Fatalf("answered %d, %v", a.status, err)
		}
	}
	last := order{ExternalID: "order-0000200"}
	last.Recipient.Phone = phonePrefix + "0000200"
	if len(keys) != 2 || len(seen) != 2*bulkSize || !seen[last] {
		t.Errorf("%d keys and %d different orders in two bulks of %d", len(keys), len(seen), bulkSize)
	}
}
