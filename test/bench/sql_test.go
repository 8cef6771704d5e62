package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
)

// scene is a database of the program's own with a delivery, of whose webhooks one is due and
// one was sent.
type scene struct {
	store *gormstore.Store
	db    *pgx.Conn
}

func newScene(t *testing.T) *scene {
	t.Helper()
	url := backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	store, err := gormstore.Open(t.Context(), url, gormstore.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(context.WithoutCancel(t.Context())) })
	s := &scene{store: store, db: db}

	business := sample.Business()
	application := sample.Application(business.ID)
	tenant := domain.Tenant{BusinessID: business.ID, ApplicationID: application.ID, Environment: domain.Live}
	var endpoint domain.ID
	err = store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		err := errors.Join(tx.Tenancy.InsertBusiness(ctx, business), tx.Tenancy.InsertApplication(ctx, application))
		for range 2 {
			e, insertErr := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant))
			endpoint, err = e.ID, errors.Join(err, insertErr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
		t.Fatal(err)
	}
	s.deliver(t, endpoint)
	return s
}

// deliver records that the webhook of an endpoint was sent.
func (s *scene) deliver(t *testing.T, endpoint domain.ID) {
	t.Helper()
	out, token := s.store.Outbox(), sample.ID("").Hex()
	due, err := out.Due(t.Context(), endpoint, time.Now(), 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d webhooks are due, %v", len(due), err)
	}
	if _, leased, err := out.Lease(t.Context(), endpoint, token, time.Minute); err != nil || !leased {
		t.Fatalf("leased %t, %v", leased, err)
	}
	o := sample.WebhookOutcome(due[0].WebhookDelivery, sample.Arrived(time.Now()), time.Now())
	if err := out.Record(t.Context(), endpoint, token, []ports.WebhookOutcome{o}, domain.WebhookHealth{}); err != nil {
		t.Fatal(err)
	}
}

// count is how many rows there are, by what follows FROM.
func (s *scene) count(t *testing.T, from string) (n int) {
	t.Helper()
	if err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	return n
}

func TestFWritesAsManyRowsAsABookingOfTheProgram(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := prepareBooking(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	tables := []string{"idempotency_keys", "recipients", "recipient_addresses", "deliveries", "delivery_events", "feed_events"}
	rows := func() (all []int) {
		for _, name := range tables {
			all = append(all, s.count(t, name))
		}
		return all
	}
	before := rows()
	const call = "SELECT bench_book($1::uuid, $2::uuid, 1::bigint, 1::bigint, decode(repeat('5a', 32), 'hex'), '\\x5a', '\\x5a')"
	if _, err := s.db.Exec(t.Context(), call, pgbenchApplication, pgbenchBusiness); err != nil {
		t.Fatal(err)
	}
	for i, n := range rows() {
		if n != before[i]+1 {
			t.Errorf("%s has %d rows more, want 1", tables[i], n-before[i])
		}
	}
}

func TestAYearOfDeliveriesLeavesWhatIsKeptOfIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	// As the program's create does.
	const key = "INSERT INTO idempotency_keys (application_id, business_id, environment, key, fingerprint, claim_id, status, location, " +
		"created_at, expires_at) SELECT application_id, business_id, environment, 'bench-order-0000000', decode(repeat('ab', 32), 'hex'), id, " +
		"201, '', now(), now() FROM deliveries"
	if _, err := s.db.Exec(t.Context(), "DELETE FROM webhook_attempts; DELETE FROM webhook_deliveries WHERE status = 'succeeded'; "+key); err != nil {
		t.Fatal(err)
	}
	before := s.schema(t)
	f := yearOf(36_500) // a hundred a day, the last 52 of which are open
	if err := f.fill(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	after := slices.DeleteFunc(s.schema(t), func(line string) bool { return strings.Contains(line, "request_successes_2") })
	if !slices.Equal(after, before) {
		t.Errorf("indexes and keys are\n%s\nand were\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	const open, month = 52, 3000*5 - 4*52
	for question, want := range map[string]int{
		"deliveries WHERE status = 'booked'": open + 1,
		"deliveries WHERE last_sequence <> (SELECT count(*) FROM delivery_events e WHERE e.delivery_id = deliveries.id)": 0,
		"delivery_events": 36_500*5 - 4*open + 1,
		"delivery_events WHERE occurred_at > now() + interval '1 day'": 0,
		"feed_events": month + 1,
		"webhook_deliveries WHERE status = 'succeeded'":                            month,
		"webhook_attempts JOIN webhook_deliveries w ON w.id = webhook_delivery_id": month,
		"idempotency_keys WHERE expires_at > now()":                                100,
		"(SELECT DISTINCT tableoid FROM request_successes) AS parts":               3,
	} {
		if n := s.count(t, question); max(n-want, want-n) > want/1000 {
			t.Errorf("%s: %d, want %d", question, n, want)
		}
	}
}

// schema is all indexes and constraints.
func (s *scene) schema(t *testing.T) []string {
	t.Helper()
	rows, err := s.db.Query(context.WithoutCancel(t.Context()), `SELECT indexdef AS line FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || convalidated || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		ORDER BY line`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestWhatIsMadeOldIsCleanedAway(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	sizes := func() string {
		return fmt.Sprint(s.count(t, "feed_events"), s.count(t, "webhook_deliveries"), s.count(t, "webhook_attempts"))
	}
	before := sizes()
	const n = 40
	for batch := range 2 {
		if tag, err := s.db.Exec(t.Context(), agedSQL, n, batch*n, aged); err != nil || tag.RowsAffected() != n {
			t.Fatalf("%d were made, %v", tag.RowsAffected(), err)
		}
	}
	var w watch
	if err := w.begin(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	removed, _, err := s.store.PurgeExpired(t.Context(), 1000)
	ended := time.Now()
	if err != nil || removed != 2*2*n {
		t.Errorf("%d records were cleaned away, want %d events and their webhooks, %v", removed, 2*n, err)
	}
	if after := sizes(); after != before {
		t.Errorf("there were %s rows, and in the end %s", before, after)
	}
	if err := w.end(t.Context(), s.db); err != nil || len(w.spans) == 0 || !w.during(span{begun, ended}) {
		t.Errorf("the cleaning was at %v, want it between %v and %v, %v", w.spans, begun, ended, err)
	}
}
