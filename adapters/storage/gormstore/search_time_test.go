package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// Rows that have all parts of a text which the database compares, and not the text,
// are read by the thousand: that has an end, too.
func TestASearchThatMeetsManyNearMissesGivesUp(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a table; left out in short mode")
	}
	t.Parallel()
	s := openWith(t, newDatabase(t), gormstore.Options{ListPoolSize: 2})
	tenant, at := newTenant(t, s), sample.Now
	for range 30 {
		near := make([]domain.PickupLocation, 2000)
		for i := range near {
			at = at.Add(time.Millisecond)
			near[i] = sample.PickupLocation(func(p *domain.PickupLocation) {
				p.Name, p.CreatedAt = fmt.Sprint("cdefghijklmnopzz abcdefghijklmnop", at.UnixMilli()), at
			})
		}
		if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.PickupLocations.InsertAll(ctx, tenant, near)
		}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(search string) (int, error) {
		found, err := s.Read().PickupLocations.List(t.Context(), tenant, domain.PickupLocationFilter{Search: search},
			domain.PageRequest{Limit: 25})
		return len(found), err
	}
	began := time.Now()
	if n, err := find("abcdefghijklmnopZZ"); n != 0 || !errors.Is(err, ports.ErrTookTooLong) {
		t.Errorf("%d found (%v) after %v, want that it took too long", n, err, time.Since(began))
	}
	if n, err := find(fmt.Sprint("abcdefghijklmnop", at.UnixMilli())); n != 1 || err != nil {
		t.Errorf("%d found (%v) where one is to be", n, err)
	}
}
