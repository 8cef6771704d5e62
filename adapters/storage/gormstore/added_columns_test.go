package gormstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// A statement that was prepared as SELECT * fails once on each connection when its table
// gets a column: "cached plan must not change result type". Servers go on while a later
// version migrates, so no statement may be one.
func TestAColumnThatIsAddedFailsNoRequest(t *testing.T) {
	t.Parallel()
	s := openWith(t, newDatabase(t), gormstore.Options{PoolSize: 1})
	tenant := newTenant(t, s)
	e := insertEndpoint(t, s, tenant)
	w := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	ctx, at := t.Context(), time.Now()
	all := map[string]func() error{
		"a delivery":   func() error { return errorOf(s.Read().Deliveries.Get(ctx, tenant, w.Delivery.ID)) },
		"a timeline":   func() error { return errorOf(s.Read().Deliveries.Events(ctx, tenant, w.Delivery.ID)) },
		"the feed":     func() error { return errorOf(s.Read().Feed.Events(ctx, tenant, domain.FeedFilter{}, nil, 50)) },
		"an endpoint":  func() error { return errorOf(s.Read().Webhooks.Endpoint(ctx, tenant, e.ID)) },
		"due webhooks": func() error { return errorOf(s.Outbox().Due(ctx, e.ID, at.Add(time.Hour), 1)) },
		"attempts": func() error {
			return errorOf(s.Read().Webhooks.Attempts(ctx, tenant, domain.WebhookDeliveryID(w.Event.ID, e.Slot)))
		},
		"deliveries": func() error {
			return errorOf(s.Read().Deliveries.List(ctx, tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 50}))
		},
		"customers": func() error {
			return errorOf(s.Read().Platform.Customers(ctx, domain.CustomerSearch{}, at, domain.PageRequest{Limit: 50}))
		},
		"a challenge": func() error {
			c := domain.Ceremony{ID: sample.ID(domain.PrefixCeremony), Purpose: domain.CeremonyConfirm, SessionID: sample.ID(domain.PrefixSession),
				CreatedAt: at, ExpiresAt: at.Add(time.Minute)}
			return s.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				if err := tx.Ceremonies.Insert(ctx, c); err != nil {
					return err
				}
				return errorOf(tx.Ceremonies.Take(ctx, c.ID))
			})
		},
		"cleaning": func() error { _, _, err := s.PurgeExpired(ctx, 10); return err },
		"reports":  func() error { _, _, err := s.CountReports(ctx, 10); return err },
	}
	run := func(when string) {
		for what, one := range all {
			if err := one(); err != nil {
				t.Errorf("%s, %s: %v", when, what, err)
			}
		}
	}
	run("before")
	write, _ := s.Pools()
	for table := range namedBy(t, write, "SELECT relname, '' FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"+
		" AND relnamespace = 'public'::regnamespace") {
		exec(t, s, fmt.Sprintf("ALTER TABLE %s ADD COLUMN of_a_later_version integer", table))
	}
	run("after")
}
