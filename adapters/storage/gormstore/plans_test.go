package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// fillWebhooks makes so many events for each endpoint of an application, a second
// apart, the last one now; a few of all are pending, failed or held.
func fillWebhooks(t testing.TB, s *gormstore.Store, tenant domain.Tenant, many int, id func(ms, n string) string,
	instant func(ms string) string, blob string) {
	t.Helper()
	now := time.Now().UnixMilli()
	numbers := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", many)
	ms := fmt.Sprintf("(%d - (%d - i) * 1000)", now, many)
	event := id(ms, "i * 16")
	exec(t, s, "INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, position, "+
		"payload) "+numbers+
		"SELECT "+event+", '"+tenant.BusinessID.Hex()+"', '"+tenant.ApplicationID.Hex()+"', 'sandbox', "+event+
		", 1, 'delivery.created', "+instant(ms)+", i + 10, "+blob+
		" FROM n")
	exec(t, s, "INSERT INTO webhook_deliveries (id, business_id, endpoint_id, event_id, event_type, delivery_id, sequence, status, attempts, "+
		"used, due_at, trigger, back, created_at) "+numbers+
		"SELECT "+id(ms, "i * 16 + e.slot")+", e.business_id, e.id, "+event+", 'delivery.created', "+event+", 1,"+
		" CASE WHEN i % 500 = 1 THEN 'pending' WHEN i % 500 = 2 THEN 'failed' WHEN i % 500 = 3 THEN 'held' ELSE 'succeeded' END, 1, 1,"+
		" CASE WHEN i % 500 = 1 THEN "+instant(ms)+" END, 'schedule', '', "+instant(ms)+" FROM n, webhook_endpoints e")
	exec(t, s, "INSERT INTO webhook_attempts SELECT id, business_id, id, 1, 'schedule', 200, '', 1, '', created_at, NULL"+
		" FROM webhook_deliveries")
}

// fillMoveRuns makes runs of moves, of which every thousandth is under way.
func fillMoveRuns(t testing.TB, s *gormstore.Store, many int, id func(ms, n string) string, instant func(ms string) string, blob string) {
	t.Helper()
	now := fmt.Sprint(time.Now().UnixMilli())
	exec(t, s, "INSERT INTO move_runs (id, key, fingerprint, actor_id, actor_name, request_id, created_at, finished_at) "+
		fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", many)+
		"SELECT "+id(now, "i")+", 'dispatch-' || i, "+strings.ReplaceAll(blob, "600", "32")+", '', '', '', "+instant(now)+
		", CASE WHEN i % 1000 > 0 THEN "+instant(now)+" END FROM n")
}

// A table of events grows without end: a search for the few that matter must not
// read the others.
func TestLongWebhooksAndEventsAreFoundByIndexes(t *testing.T) {
	for name, c := range map[string]struct {
		open             func(testing.TB) *gormstore.Store
		id               func(ms, n string) string
		instant          func(ms string) string
		blob             string
		explain, analyze string
		reads            *regexp.Regexp // of a whole table
		behind           string         // an index is read from a position on
		keyed            string         // the index of the keys of runs
	}{
		"SQLite": {
			openSQLite,
			func(ms, n string) string { return "printf('%012x70008000%012x', " + ms + ", " + n + ")" },
			func(ms string) string { return "strftime('%Y-%m-%dT%H:%M:%fZ', " + ms + " / 1000.0, 'unixepoch')" },
			"zeroblob(600)", "EXPLAIN QUERY PLAN ", "SELECT 'nobody analyzes it in production either'",
			regexp.MustCompile(`SCAN (d|f|webhook_deliveries|webhook_attempts|feed_events|move_runs)( |\n|$)(USING INDEX feed|[^U]|$)`),
			"feed_events_feed_idx (application_id=? AND environment=? AND position>?",
			"SEARCH move_runs USING INDEX sqlite_autoindex_move_runs_",
		},
		"Postgres": {
			openPostgres,
			postgresID, postgresInstant, "decode(repeat('ab', 600), 'hex')", "EXPLAIN ", "VACUUM ANALYZE",
			regexp.MustCompile(`Seq Scan on (webhook_deliveries|webhook_attempts|feed_events|move_runs)`),
			`("position" > `,
			"move_runs_key_key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.open(t)
			tenant := newTenant(t, s)
			var e domain.WebhookEndpoint
			for range domain.MaxWebhookEndpoints {
				e = insertEndpoint(t, s, tenant)
			}
			w := sample.BookingWrite(tenant)
			if err := s.Book(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			fillWebhooks(t, s, tenant, 2500, c.id, c.instant, c.blob)
			fillFeed(t, s, newTenant(t, s), name, 20_000)
			fillMoveRuns(t, s, 20_000, c.id, c.instant, c.blob)
			exec(t, s, c.analyze)
			var plans []string
			_, read := s.Pools()
			see := func(query string, values []any) {
				plans = append(plans, query+"\n"+planOf(t, read, c.explain+query, values))
			}
			if err := errors.Join(s.WatchReads(see), s.WatchWrites(see)); err != nil {
				t.Fatal(err)
			}

			ctx, now := t.Context(), time.Now().Add(time.Hour)
			page := domain.PageRequest{Limit: 50, After: &domain.Position{CreatedAt: now, ID: w.Event.ID}}
			list := func(f domain.WebhookDeliveryFilter) func() error {
				return func() error { return errorOf(s.Read().Webhooks.Deliveries(ctx, tenant, e.ID, f, page)) }
			}
			feed, err := s.Read().Feed.Events(ctx, tenant, domain.FeedFilter{DeliveryID: w.Delivery.ID}, nil, 1)
			if err != nil || len(feed.Events) != 1 {
				t.Fatalf("%d events of the delivery, %v", len(feed.Events), err)
			}
			position := feed.Next
			token := sample.ID("").Hex()
			for _, q := range []struct {
				what, index string // of any of its statements
				run         func() error
			}{
				{"Waiting", "webhook_deliveries_due_idx", func() error { return errorOf(s.Outbox().Waiting(ctx, now, 0, 1000)) }},
				{"WaitingFor", "webhook_deliveries_due_idx", func() error { return errorOf(s.Outbox().WaitingFor(ctx, e.ID, now, 0)) }},
				{"Due", "webhook_deliveries_due_idx", func() error { return errorOf(s.Outbox().Due(ctx, e.ID, now, 128)) }},
				{"Backlog", "webhook_deliveries_due_idx", func() error { _, _, err := s.Outbox().Backlog(ctx, now); return err }},
				{"Lease", "", func() error { _, _, err := s.Outbox().Lease(ctx, e.ID, token, time.Minute); return err }},
				{"Record", "", func() error {
					due, err := s.Outbox().Due(ctx, e.ID, now, 2)
					if err != nil || len(due) == 0 {
						return fmt.Errorf("%d due: %w", len(due), err)
					}
					return s.Outbox().Record(ctx, e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(due[0].WebhookDelivery, sample.Arrived(now),
						now)}, domain.WebhookHealth{})
				}},
				{"a page of the feed", "feed_events_feed_idx", func() error {
					return errorOf(s.Read().Feed.Events(ctx, tenant, domain.FeedFilter{}, &position, 50))
				}},
				{"the feed since a time", c.behind, func() error {
					return errorOf(s.Read().Feed.Events(ctx, tenant, domain.FeedFilter{CreatedAfter: &now}, nil, 50))
				}},
				{"a delivery in the feed", "", func() error {
					return errorOf(s.Read().Feed.Events(ctx, tenant, domain.FeedFilter{DeliveryID: w.Delivery.ID}, nil, 50))
				}},
				{"a page of the feed over all customers", "feed_events_all_idx", func() error {
					return errorOf(s.Read().Feed.OfAll(ctx, domain.PlatformFeedFilter{Environment: domain.Sandbox}, &position, 50))
				}},
				{"a type in the feed over all customers", "feed_events_all_idx", func() error {
					return errorOf(s.Read().Feed.OfAll(ctx, domain.PlatformFeedFilter{Environment: domain.Sandbox,
						Types: []domain.EventType{"delivery.failed"}}, &position, 50))
				}},
				{"a run of moves by its key", c.keyed, func() error { return errorOf(s.Read().MoveRuns.FindByKey(ctx, "dispatch-7000")) }},
				{"runs of moves that were left", "move_runs_left_idx", func() error { return errorOf(s.Read().MoveRuns.Left(ctx, 1)) }},
				{"a page of the list", "webhook_deliveries_list_idx", list(domain.WebhookDeliveryFilter{})},
				{"what is pending", "webhook_deliveries_", list(domain.WebhookDeliveryFilter{Status: domain.WebhookPending})},
				{"what failed", "webhook_deliveries_recoverable_idx", list(domain.WebhookDeliveryFilter{Status: domain.WebhookFailed})},
				{"what was sent of a delivery", "", list(domain.WebhookDeliveryFilter{DeliveryID: w.Delivery.ID})},
				{"Attempts", "", func() error {
					return errorOf(s.Read().Webhooks.Attempts(ctx, tenant, domain.WebhookDeliveryID(w.Event.ID, e.Slot)))
				}},
				{"Tests", "webhook_deliveries_list_idx", func() error { return errorOf(s.Read().Webhooks.Tests(ctx, e.ID, now.Add(-time.Minute))) }},
				{"Recover", "webhook_deliveries_recoverable_idx", func() error {
					return s.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
						_, _, err := tx.Webhooks.Recover(ctx, e.ID, domain.Recovery{Since: now.Add(-month), Until: now}, now, 1000)
						return err
					})
				}},
				{"cleaning", "", func() error { _, _, err := s.PurgeExpired(ctx, 1000); return err }},
				{"Book", "", func() error { return s.Book(ctx, sample.BookingWrite(tenant)) }},
			} {
				plans = nil
				begun := time.Now()
				if err := q.run(); err != nil {
					t.Fatalf("%s: %v", q.what, err)
				}
				t.Logf("%s: %d statements, %v with their plans", q.what, len(plans), time.Since(begun))
				all := strings.Join(plans, "\n")
				if len(plans) == 0 || q.index != "" && !strings.Contains(all, q.index) {
					t.Errorf("%s: %s is not used:\n%s", q.what, q.index, all)
				}
				for _, plan := range plans {
					if c.reads.MatchString(plan) {
						t.Errorf("%s reads a whole table:\n%s", q.what, plan)
					}
				}
			}
		})
	}
}

func postgresID(ms, n string) string {
	return "CAST(lpad(to_hex(" + ms + "), 12, '0') || '70008000' || lpad(to_hex(" + n + "), 12, '0') AS uuid)"
}

func postgresInstant(ms string) string { return "to_timestamp(" + ms + " / 1000.0)" }

// What a day of few webhooks leaves is little enough to be read as a whole where
// many outcomes are expected.
func TestOneOutcomeReadsNoTableOfAFewThousandWebhooks(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	e := insertEndpoint(t, s, tenant)
	fillWebhooks(t, s, tenant, 6000, postgresID, postgresInstant, "''")
	exec(t, s, "VACUUM ANALYZE")
	ctx, now, token := t.Context(), time.Now(), sample.ID("").Hex()
	_, _, err := s.Outbox().Lease(ctx, e.ID, token, time.Minute)
	due, err2 := s.Outbox().Due(ctx, e.ID, now, 1)
	if err := errors.Join(err, err2); err != nil || len(due) != 1 {
		t.Fatalf("%d due: %v", len(due), err)
	}
	var plans []string
	_, read := s.Pools()
	if err := s.WatchWrites(func(query string, values []any) {
		plans = append(plans, planOf(t, read, "EXPLAIN "+query, values))
	}); err != nil {
		t.Fatal(err)
	}
	outcome := sample.WebhookOutcome(due[0].WebhookDelivery, sample.Arrived(now), now)
	if err := s.Outbox().Record(ctx, e.ID, token, []ports.WebhookOutcome{outcome}, domain.WebhookHealth{}); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(plans, "\n")
	if !strings.Contains(all, "webhook_deliveries_pkey") || strings.Contains(all, "Seq Scan on webhook_deliveries") {
		t.Errorf("the table is read for one outcome:\n%s", all)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// A plan for the arrays of one call costs more to make than the statement takes.
func TestPostgresKeepsOnePlanForWhatIsAskedThousandsOfTimesASecond(t *testing.T) {
	t.Parallel()
	s := openWith(t, newDatabase(t), gormstore.Options{PoolSize: 1})
	tenant := newTenant(t, s)
	for range 12 { // Postgres compares plans from the sixth on
		w := sample.BookingWrite(tenant)
		again := sample.BookingTo(tenant, w.Recipient, sample.Address(w.Recipient.ID))
		again.NewAddress = true
		for _, each := range []ports.BookingWrite{w, again} {
			if err := s.Book(t.Context(), each); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Read().Recipients.FindByPhone(t.Context(), tenant, w.Recipient.PhoneNumber); err != nil {
			t.Fatal(err)
		}
	}
	db, _ := s.Pools()
	rows, err := db.QueryContext(t.Context(), `SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements
		WHERE (statement LIKE '%unnest(%' OR statement LIKE '%ANY ($%') AND generic_plans + custom_plans >= 12`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := 0
	for ; rows.Next(); seen++ {
		var statement string
		var generic, custom int
		if err := rows.Scan(&statement, &generic, &custom); err != nil {
			t.Fatal(err)
		}
		if custom > 5 {
			t.Errorf("planned anew %d times of %d: %.80s", custom, generic+custom, statement)
		}
	}
	if err := rows.Err(); err != nil || seen != 9 {
		t.Errorf("%d statements (%v), want the eight of bookings and the look-up",
			seen, err)
	}
}
