package gormstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"waybill/domain"
	"waybill/ports"
)

func TestABookingStoresWhatItNeedsInOneOrder(t *testing.T) {
	t.Parallel()
	simulated := domain.RestoreDelivery(domain.Booking{}, domain.Lifecycle{Simulation: &domain.Simulation{Status: domain.SimulationRunning}})
	for _, c := range []struct {
		what string
		w    ports.BookingWrite
		want []string
	}{
		{"to a known address", ports.BookingWrite{}, []string{"idempotency key", "delivery", "event"}},
		{"in a bulk", ports.BookingWrite{Bulk: &ports.BulkItemMark{}}, []string{"lease of a bulk", "item of a bulk", "delivery", "event"}},
		{"that plays itself", ports.BookingWrite{Delivery: simulated}, []string{"idempotency key", "simulation", "delivery", "event"}},
		{"to a new recipient", ports.BookingWrite{NewRecipient: true, FillName: true, NewAddress: true},
			[]string{"idempotency key", "recipient", "address", "delivery", "event"}},
		{"to a known recipient at a new address", ports.BookingWrite{FillName: true, NewAddress: true},
			[]string{"idempotency key", "name of a recipient", "count of addresses", "address", "delivery", "event"}},
		{"that names a recipient", ports.BookingWrite{FillName: true}, []string{"idempotency key", "name of a recipient", "delivery", "event"}},
	} {
		if c.w.Delivery == nil {
			c.w.Delivery = &domain.Delivery{}
		}
		var got []string
		for _, p := range parts {
			if p.needed(&entry{BookingWrite: c.w}) {
				got = append(got, p.name)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("a booking %s (-want +got):\n%s", c.what, diff)
		}
	}
	for _, p := range parts {
		if p.alone == nil || p.together == nil || p.order == nil {
			t.Errorf("%s: only one of the two ways stores it", p.name)
		}
	}
}
