package storage

import (
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testDeliveryLists(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	list := func(t testing.TB, limit int, f domain.DeliveryFilter) []domain.ID {
		t.Helper()
		got := pages(t, limit, func(p domain.PageRequest) ([]*domain.Delivery, error) {
			return b.Read().Deliveries.List(t.Context(), tenant, f, p)
		}, func(d *domain.Delivery) domain.Position { return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID} })
		return ids(got)
	}

	t.Run("a list of nothing is empty", func(t *testing.T) {
		if got := list(t, 5, domain.DeliveryFilter{}); len(got) != 0 {
			t.Errorf("%d deliveries", len(got))
		}
	})

	// Ten, some in the same millisecond; the even ones are assigned.
	recipient, address := newRecipient(t, b, tenant)
	at := func(i int) time.Time { return sample.Now.Add(time.Duration(i/4) * time.Millisecond) }
	deliveries := make([]*domain.Delivery, 10)
	for i := range deliveries {
		w := sample.BookingTo(tenant, recipient, address, func(b *domain.Booking) { b.CreatedAt = at(i) })
		deliveries[i] = book(t, b, w)
		if i%2 == 0 {
			d, _, err := moveLocked(t.Context(), b, tenant, w.Delivery.ID, domain.Assigned)
			if err != nil {
				t.Fatal(err)
			}
			deliveries[i] = d
		}
	}
	where := func(keep func(i int) bool) []domain.ID {
		var found []domain.ID
		for i, d := range deliveries {
			if keep(i) {
				found = append(found, d.ID)
			}
		}
		return found
	}
	everything := where(func(int) bool { return true })

	t.Run("a list is complete and in order, whatever the page", func(t *testing.T) {
		for _, limit := range []int{1, 2, 3, 4, 10, 100} {
			wantEqual(t, "List", list(t, limit, domain.DeliveryFilter{}), everything)
			backwards := slices.Clone(everything)
			slices.Reverse(backwards)
			wantEqual(t, "List newest first", list(t, limit, domain.DeliveryFilter{NewestFirst: true}), backwards)
		}
		got := must(b.Read().Deliveries.List(t.Context(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 100}))(t)
		for i, d := range got {
			wantDelivery(t, "a listed delivery", d, deliveries[i])
		}
	})

	t.Run("filters narrow a list", func(t *testing.T) {
		even := func(i int) bool { return i%2 == 0 }
		ptr := func(t time.Time) *time.Time { return &t }
		for _, c := range []struct {
			name   string
			filter domain.DeliveryFilter
			want   []domain.ID
		}{
			{"status", domain.DeliveryFilter{Status: domain.Assigned}, where(even)},
			{"the other status", domain.DeliveryFilter{Status: domain.Booked}, where(func(i int) bool { return !even(i) })},
			{"a status nobody has", domain.DeliveryFilter{Status: domain.Delivered}, nil},
			{"external_id", domain.DeliveryFilter{ExternalID: deliveries[3].ExternalID}, everything[3:4]},
			{"external_id and another status", domain.DeliveryFilter{ExternalID: deliveries[3].ExternalID, Status: domain.Assigned}, nil},
			{"created_after is inclusive", domain.DeliveryFilter{CreatedAfter: ptr(at(4))}, everything[4:]},
			{"created_before is exclusive", domain.DeliveryFilter{CreatedBefore: ptr(at(4))}, everything[:4]},
			{"after between two milliseconds", domain.DeliveryFilter{CreatedAfter: ptr(at(4).Add(time.Nanosecond))}, everything[8:]},
			{"before between two milliseconds", domain.DeliveryFilter{CreatedBefore: ptr(at(4).Add(time.Nanosecond))}, everything[:8]},
			{"another zone", domain.DeliveryFilter{CreatedAfter: ptr(at(4).In(time.FixedZone("", -9*3600)))}, everything[4:]},
			{"both", domain.DeliveryFilter{CreatedAfter: ptr(at(4)), CreatedBefore: ptr(at(8))}, everything[4:8]},
			{"all", domain.DeliveryFilter{CreatedAfter: ptr(at(4)), CreatedBefore: ptr(at(8)), Status: domain.Assigned},
				[]domain.ID{everything[4], everything[6]}},
			{"the far past", domain.DeliveryFilter{CreatedAfter: ptr(time.Time{}), CreatedBefore: ptr(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))},
				nil},
			{"since the far past", domain.DeliveryFilter{CreatedAfter: ptr(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))}, everything},
			{"until the far future", domain.DeliveryFilter{CreatedBefore: ptr(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC))},
				everything},
			{"since the far future", domain.DeliveryFilter{CreatedAfter: ptr(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC))}, nil},
		} {
			for _, limit := range []int{2, 100} {
				wantEqual(t, c.name, list(t, limit, c.filter), c.want)
			}
		}
		for _, odd := range oddTexts {
			if got := list(t, 5, domain.DeliveryFilter{ExternalID: odd}); len(got) != 0 {
				t.Errorf("external_id %q finds %d", odd, len(got))
			}
			if got := list(t, 5, domain.DeliveryFilter{Status: domain.Status(odd)}); len(got) != 0 {
				t.Errorf("status %q finds %d", odd, len(got))
			}
		}
	})
}

func ids(deliveries []*domain.Delivery) []domain.ID {
	var found []domain.ID
	for _, d := range deliveries {
		found = append(found, d.ID)
	}
	return found
}
