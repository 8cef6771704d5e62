package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// Rows that a tenant asks for by their IDs are found by the whole key, with the business.
func TestHotQueriesNameTheBusiness(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	tenant.Environment = domain.Live // there is an index of sandbox deliveries by ID alone
	e := insertEndpoint(t, s, tenant)
	fillWebhooks(t, s, tenant, 2500, postgresID, postgresInstant, "''")
	w := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	copyDeliveries(t, s, 5000, map[string]string{ // with a few, one index is as good as another
		"id": `md5('delivery ' || i)::uuid`, "external_id": "NULL",
		"reference": "'R-' || i", "created_at": "created_at - i * interval '1 second'"})
	var statements, plans []string
	_, read := s.Pools()
	see := func(query string, values []any) {
		statements, plans = append(statements, query), append(plans, planOf(t, read, "EXPLAIN "+query, values))
	}
	if err := errors.Join(s.WatchReads(see), s.WatchWrites(see)); err != nil {
		t.Fatal(err)
	}
	ctx, token := t.Context(), sample.ID("").Hex()
	inTx := func(do func(ctx context.Context, tx ports.Stores) error) func() error {
		return func() error { return s.InTx(ctx, do) }
	}
	sent := domain.WebhookDeliveryID(w.Event.ID, e.Slot)
	for _, q := range []struct {
		what, index string
		whole       bool // a row is found by its ID and business
		run         func() error
	}{
		{"lock a delivery", "deliveries_", true, inTx(func(ctx context.Context, tx ports.Stores) error {
			return errorOf(tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID))
		})},
		{"a timeline", "delivery_events_sequence_key", false, func() error {
			return errorOf(s.Read().Deliveries.Events(ctx, tenant, w.Delivery.ID))
		}},
		{"list deliveries", "deliveries_list_idx", false, func() error {
			return errorOf(s.Read().Deliveries.List(ctx, tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 50}))
		}},
		{"a webhook", "webhook_deliveries_pkey", true, func() error { return errorOf(s.Read().Webhooks.Delivery(ctx, tenant, sent)) }},
		{"attempts", "", false, func() error { return errorOf(s.Read().Webhooks.Attempts(ctx, tenant, sent)) }},
		{"an endpoint", "", false, func() error { return errorOf(s.Read().Webhooks.Endpoint(ctx, tenant, e.ID)) }},
		{"the feed", "", false, func() error { return errorOf(s.Read().Feed.Events(ctx, tenant, domain.FeedFilter{}, nil, 50)) }},
		{"record an outcome", "webhook_deliveries_pkey", true, func() error {
			now := time.Now().Add(time.Hour)
			_, _, err := s.Outbox().Lease(ctx, e.ID, token, time.Minute)
			due, err2 := s.Outbox().Due(ctx, e.ID, now, 1)
			if err := errors.Join(err, err2); err != nil || len(due) == 0 {
				return fmt.Errorf("%d due: %w", len(due), err)
			}
			statements, plans = nil, nil // those by the endpoint alone
			return s.Outbox().Record(ctx, e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(due[0].WebhookDelivery, sample.Arrived(now),
				now)}, domain.WebhookHealth{})
		}},
	} {
		statements, plans = nil, nil
		if err := q.run(); err != nil {
			t.Fatalf("%s: %v", q.what, err)
		}
		for i, statement := range statements {
			words := strings.Join(strings.Fields(statement), " ")
			_, where, narrowed := strings.Cut(words, " WHERE ")
			if strings.HasPrefix(words, "SELECT") { // there it may be in a JOIN
				_, where, _ = strings.Cut(words, " FROM ")
			}
			if narrowed && !strings.Contains(where, "business_id") {
				t.Errorf("%s: no business in %s", q.what, statement)
			}
			if q.index != "" && strings.Contains(plans[i], "Seq Scan") {
				t.Errorf("%s reads a whole table:\n%s", q.what, plans[i])
			}
		}
		all := strings.Join(plans, "\n")
		if len(plans) == 0 || !strings.Contains(all, q.index) {
			t.Errorf("%s: %s is not used:\n%s", q.what, q.index, all)
		}
		if q.whole && !wholeKey.MatchString(all) {
			t.Errorf("%s is not found by the whole key:\n%s", q.what, all)
		}
	}
}

var wholeKey = regexp.MustCompile(`Index Cond: \(\(id = \S+\) AND \(business_id = |Index Cond: \(\(business_id = \S+\) AND \(id = `)
