package gormstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
)

func TestATransactionRunsAgainWhenTheDatabaseAsksForIt(t *testing.T) {
	s := openPostgres(t)
	for _, c := range []struct {
		code           string
		failures, runs int
		ok             bool
	}{
		{"40001", 1, 2, true}, {"40P01", 3, 4, true}, {"40001", 100, 4, false},
		{"23505", 100, 1, false},
		{"55P03", 1, 2, true}, {"55P03", 100, 3, false}, // briefly, briefly in the queue for the row, and long
	} {
		runs := 0
		err := s.InTx(t.Context(), func(context.Context, ports.Stores) error {
			if runs++; runs <= c.failures {
				return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: c.code})
			}
			return nil
		})
		if runs != c.runs || (err == nil) != c.ok {
			t.Errorf("%s, %d times: ran %d times, error %v; want %d times", c.code, c.failures, runs, err, c.runs)
		}
	}
}

func TestAFailedStatementCannotBeIgnoredOnPostgres(t *testing.T) {
	s := openPostgres(t)
	business := sample.Business()
	err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return err
		}
		_ = tx.Tenancy.InsertBusiness(ctx, business)
		return nil
	})
	if err == nil || errors.Is(err, ports.ErrOutcomeUnknown) {
		t.Errorf("error %v, want a plain failure", err)
	}
}

func TestTwoProcessesShareASQLiteFile(t *testing.T) {
	url := sqliteURL(t)
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	one, two := open(t, url), open(t, url)
	tenant := newTenant(t, one)
	inside, done := make(chan struct{}), make(chan error, 1)
	err := one.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		go func() {
			close(inside)
			done <- two.Book(t.Context(), sample.BookingWrite(tenant))
		}()
		<-inside
		waiting, _ := two.Pools()
		await(t, func() bool { return waiting.Stats().InUse == 1 }) // it finds the file locked
		_, _, err := tx.Recipients.Add(ctx, tenant, sample.Recipient())
		return err
	})
	if err := errors.Join(err, <-done); err != nil {
		t.Error(err)
	}
}

func TestWhatIsInsertedBesideNothingIsNotFound(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Tenancy.InsertApplication(ctx, sample.Application(sample.ID(domain.PrefixBusiness)))
			})
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("an application of no business: %v", err)
			}
		})
	}
}

func TestAnIDThatIsTakenIsToldApartFromAFailure(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			one, other := newTenant(t, s), newTenant(t, s)
			app, place, e := sample.Application(one.BusinessID), sample.PickupLocation(), sample.WebhookEndpoint(one)
			for _, tenant := range []domain.Tenant{one, one, other} {
				var want error
				if tenant == other || count(t, s, "pickup_locations") > 0 {
					want = ports.ErrIDTaken
				}
				app.BusinessID, e.Tenant = tenant.BusinessID, tenant
				for what, insert := range map[string]func(context.Context, ports.Stores) error{
					"application": func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.InsertApplication(ctx, app) },
					"pickup":      func(ctx context.Context, tx ports.Stores) error { return tx.PickupLocations.Insert(ctx, tenant, place) },
					"endpoint": func(ctx context.Context, tx ports.Stores) error {
						_, err := tx.Webhooks.InsertEndpoint(ctx, e)
						return err
					},
				} {
					if err := s.InTx(t.Context(), insert); !errors.Is(err, want) {
						t.Errorf("the %s: %v, want %v", what, err, want)
					}
				}
			}
		})
	}
}

func TestSessionsAreBounded(t *testing.T) {
	url := backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	for _, c := range []struct {
		url     string
		options gormstore.Options
		want    string
	}{
		{url, gormstore.Options{}, "5s 2s 10s waybill read committed"},
		{url + "&statement_timeout=7s&application_name=doctor", gormstore.Options{LockTimeout: 1500 * time.Millisecond},
			"7s 1500ms 10s doctor read committed"},
	} {
		s, err := gormstore.Open(t.Context(), c.url, c.options)
		if err != nil {
			t.Fatal(err)
		}
		write, _ := s.Pools()
		var parts []string
		for _, name := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "application_name",
			"transaction_isolation"} {
			var value string
			if err := write.QueryRowContext(t.Context(), "SHOW "+name).Scan(&value); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, value)
		}
		if got := strings.Join(parts, " "); got != c.want {
			t.Errorf("sessions have %q, want %q", got, c.want)
		}
		if n := write.Stats().MaxOpenConnections; n != 16 {
			t.Errorf("the pool has %d connections, want 16", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestASQLiteFileIsDurablePrivateAndReadByReadersOnly(t *testing.T) {
	url := sqliteURL(t)
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	s := open(t, url)
	newTenant(t, s)
	write, read := s.Pools()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		if err := write.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("the writer's %s is %q (%v), want %q", pragma, got, err, want)
		}
		if err := read.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("a reader's %s is %q (%v), want %q", pragma, got, err, want)
		}
	}
	if _, err := read.Exec("DELETE FROM applications"); err == nil {
		t.Error("a reader could write")
	}
	files, err := filepath.Glob(filepath.Dir(strings.TrimPrefix(url, "sqlite://")) + "/*")
	if err != nil || len(files) != 3 {
		t.Fatalf("files %v (%v), want the database and its two side files", files, err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v), want 0600", name, info.Mode(), err)
		}
	}
}

func TestOpenSaysWhatIsWrongAndNoPassword(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{
		"", "mysql://user:hunter2@host/db", "postgres://user:hunter2@127.0.0.1:1/db?connect_timeout=1",
		"postgres://user:hunter2@[/db", "sqlite://", "sqlite://:memory:", "sqlite://" + dir, "sqlite://" + dir + "/no/such/dir.db",
	} {
		s, err := gormstore.Open(t.Context(), url, gormstore.Options{})
		if err == nil {
			t.Errorf("%q could be opened", url)
			s.Close()
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error tells the password: %v", url, err)
		}
		if err := gormstore.Migrate(t.Context(), url); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: Migrate: %v", url, err)
		}
	}
}

func TestPingNoticesThatTheDatabaseIsGone(t *testing.T) {
	s := openSQLite(t)
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("a closed store answers")
	}
}

func TestTheLogHasStatementsWithoutValuesAndNoExpectedErrors(t *testing.T) {
	for name, c := range map[string]struct {
		statements int // of a booking
		url        func(testing.TB) string
	}{
		"SQLite": {7, func(t testing.TB) string {
			url := sqliteURL(t)
			if err := gormstore.Migrate(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			return url
		}},
		"Postgres": {8, func(t testing.TB) string { // with the parameters of the transaction
			return backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s, err := gormstore.Open(t.Context(), c.url(t), gormstore.Options{
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), SlowStatement: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			tenant := newTenant(t, s)
			log.Reset()
			w := sample.BookingWrite(tenant)
			if err := s.Book(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(log.String(), "msg=statement"); n != c.statements {
				t.Errorf("a booking takes %d statements, want %d:\n%s", n, c.statements, &log)
			}
			_ = s.Book(t.Context(), w)
			hold := abandonBulk(t, s, tenant, 1, time.Hour, time.Hour)
			_, _ = s.Read().Deliveries.Get(t.Context(), tenant, sample.ID(domain.PrefixDelivery))
			_, _ = s.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: "Owusu"}, domain.PageRequest{Limit: 1})
			for _, secret := range []string{
				"Owusu", "owusu", "Oxford", "oxford", w.Key.Key, hold.Key, hold.ClaimID, string(w.Recipient.PhoneNumber), w.Delivery.ExternalID,
				w.Delivery.ID.Hex(), tenant.BusinessID.Hex(), "Keep upright", "not found", "level=WARN", "level=ERROR",
			} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("the log has %q:\n%s", secret, &log)
				}
			}
		})
	}
}

func TestSlowStatementsAreWarnings(t *testing.T) {
	url := sqliteURL(t)
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := gormstore.Open(t.Context(), url, gormstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
		SlowStatement: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	newTenant(t, s)
	if !strings.Contains(log.String(), `level=WARN msg="slow statement"`) {
		t.Errorf("the log has %q", &log)
	}
}

func TestADeliveryInTwoCurrenciesIsRefused(t *testing.T) {
	for _, d := range []*domain.Delivery{
		sample.Delivery(func(b *domain.Booking) { b.Quote.Fee.Currency = "NGN" }),
		sample.Delivery(func(b *domain.Booking) { b.Payment.GoodsValue.Currency = "NGN" }),
	} {
		if gormstore.CanStore(d) == nil {
			t.Error("one of the currencies would be lost")
		}
	}
	if err := gormstore.CanStore(sample.Delivery()); err != nil {
		t.Error(err)
	}
}

func TestWhatHasExpiredIsPurgedInBatches(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			tenant := newTenant(t, s)
			kept := sample.KeyRecord()
			if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				for range 5 {
					if err := tx.Idempotency.Claim(ctx, tenant, sample.KeyRecord(), -time.Second); err != nil {
						return err
					}
				}
				return tx.Idempotency.Claim(ctx, tenant, kept, time.Hour)
			}); err != nil {
				t.Fatal(err)
			}
			left := abandonBulk(t, s, tenant, 3, -time.Second, -2*time.Hour)
			atWork := abandonBulk(t, s, tenant, 0, time.Hour, -time.Second)
			for _, want := range []struct {
				removed int
				more    bool
			}{{4, true}, {3, true}, {2, true}, {0, false}} {
				if got, more, err := s.PurgeExpired(t.Context(), 2); err != nil || got != want.removed || more != want.more {
					t.Errorf("purged %d, more %t (%v), want %+v", got, more, err, want)
				}
			}
			if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				if err := tx.Bulks.Extend(ctx, tenant, left); !errors.Is(err, ports.ErrLeaseLost) {
					t.Errorf("the bulk that was left: %v", err)
				}
				return tx.Bulks.Extend(ctx, tenant, atWork)
			}); err != nil {
				t.Errorf("the bulk that somebody works on: %v", err)
			}
			if _, err := s.Read().Idempotency.Find(t.Context(), tenant, kept.Key); err != nil {
				t.Errorf("the key that lives: %v", err)
			}
		})
	}
}

// abandonBulk leaves a bulk with so many items done.
func abandonBulk(t *testing.T, s *gormstore.Store, tenant domain.Tenant, items int, lease, retention time.Duration) (hold ports.BulkHold) {
	t.Helper()
	record := sample.KeyRecord(func(r *domain.KeyRecord) { r.Answer = domain.Answer{} })
	if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		if hold, err = tx.Bulks.Claim(ctx, tenant, record, record.ClaimID, lease, retention); err != nil {
			return err
		}
		for i := range items {
			if err := tx.Bulks.AddItem(ctx, tenant, hold, domain.BulkItem{Index: i, Result: []byte("{}")}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return hold
}
