package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

var errLost = errors.New("the connection is gone")

func newTenant(t testing.TB, s *gormstore.Store) domain.Tenant {
	t.Helper()
	business := sample.Business()
	application := sample.Application(business.ID)
	err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return errors.Join(tx.Tenancy.InsertBusiness(ctx, business), tx.Tenancy.InsertApplication(ctx, application))
	})
	if err != nil {
		t.Fatal(err)
	}
	return domain.Tenant{BusinessID: business.ID, ApplicationID: application.ID, Environment: domain.Sandbox}
}

// wantCommittedOnce books again what was lost, and looks at what is stored.
func wantCommittedOnce(t *testing.T, s *gormstore.Store, w ports.BookingWrite, repeat error) {
	t.Helper()
	if err := s.Book(t.Context(), w); !errors.Is(err, repeat) {
		t.Errorf("the repeated booking: %v, want %v", err, repeat)
	}
	record, err := s.Read().Idempotency.Find(t.Context(), w.Delivery.Tenant, w.Key.Key)
	if err != nil || record.ClaimID != w.Key.ClaimID {
		t.Errorf("the key record has claim %q (error %v), want ours, %q", record.ClaimID, err, w.Key.ClaimID)
	}
	list, err := s.Read().Deliveries.List(t.Context(), w.Delivery.Tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 5})
	if err != nil || len(list) != 1 || list[0].ID != w.Delivery.ID {
		t.Errorf("deliveries %v (error %v), want the one that was booked", list, err)
	}
}

func TestALostAnswerOfACommitIsAnUnknownOutcomeThatARepeatFindsOut(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres} {
		for _, c := range []struct {
			name   string
			commit func(*sql.Tx) error
			repeat error
		}{
			{"it had happened", func(tx *sql.Tx) error { return errors.Join(tx.Commit(), errLost) }, ports.ErrKeyTaken},
			{"it had not", func(tx *sql.Tx) error { return errors.Join(tx.Rollback(), errLost) }, nil},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				w := sample.BookingWrite(newTenant(t, s))
				s.CommitWith(c.commit)
				err := s.Book(t.Context(), w)
				s.CommitWith((*sql.Tx).Commit)
				if !errors.Is(err, ports.ErrOutcomeUnknown) || !errors.Is(err, errLost) {
					t.Errorf("Book: %v, want ErrOutcomeUnknown and its cause", err)
				}
				wantCommittedOnce(t, s, w, c.repeat)
			})
		}
	}
}

func TestACommitThatSQLiteRefusedIsNoUnknownOutcomeAndLeavesNoTransactionOpen(t *testing.T) {
	s := openSQLite(t)
	w := sample.BookingWrite(newTenant(t, s))
	s.CommitWith(func(tx *sql.Tx) error {
		// A foreign key that is checked at COMMIT fails it the way SQLITE_BUSY does.
		_, err := tx.Exec("PRAGMA defer_foreign_keys = 1")
		if err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE delivery_events SET delivery_id = ?", sample.ID(domain.PrefixDelivery).Hex()); err != nil {
			return err
		}
		return tx.Commit()
	})
	err := s.Book(t.Context(), w)
	s.CommitWith((*sql.Tx).Commit)
	if err == nil || errors.Is(err, ports.ErrOutcomeUnknown) {
		t.Errorf("Book: %v, want a plain failure", err)
	}
	wantCommittedOnce(t, s, w, nil)
}

func TestAFullDiskStopsACommitAndIsNoUnknownOutcome(t *testing.T) {
	s := openSQLite(t)
	w := sample.BookingWrite(newTenant(t, s))
	s.CommitWith(func(tx *sql.Tx) error {
		_, err := tx.Exec("PRAGMA max_page_count = 1")
		if err != nil {
			return err
		}
		_, full := tx.Exec("CREATE TABLE ballast AS SELECT zeroblob(1000000) AS weight")
		return errors.Join(full, tx.Rollback())
	})
	err := s.Book(t.Context(), w)
	s.CommitWith((*sql.Tx).Commit)
	if err == nil || !strings.Contains(err.Error(), "disk is full") || errors.Is(err, ports.ErrOutcomeUnknown) {
		t.Errorf("Book: %v, want the plain failure of a full disk", err)
	}
	wantCommittedOnce(t, s, w, nil)
}

func TestAFullDiskLeavesNoHalfOfABookingAndStopsNoReads(t *testing.T) {
	s := openSQLite(t)
	tenant := newTenant(t, s)
	write, _ := s.Pools()
	pages := func(most int) {
		t.Helper()
		if _, err := write.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", most)); err != nil {
			t.Fatal(err)
		}
	}
	pages(1) // SQLite takes it for the number there are now

	booked := 0
	w := sample.BookingWrite(tenant)
	err := s.Book(t.Context(), w)
	for ; err == nil && booked < 1000; err = s.Book(t.Context(), w) {
		booked++
		w = sample.BookingWrite(tenant)
	}
	if err == nil || !strings.Contains(err.Error(), "disk is full") || errors.Is(err, ports.ErrOutcomeUnknown) {
		t.Fatalf("after %d bookings: %v, want the plain failure of a full disk", booked, err)
	}
	if _, err := s.Read().Idempotency.Find(t.Context(), tenant, w.Key.Key); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the key of the refused booking: %v, want ErrNotFound", err)
	}
	if _, err := s.Read().Recipients.Get(t.Context(), tenant, w.Recipient.ID); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the recipient of the refused booking: %v, want ErrNotFound", err)
	}
	list, err := s.Read().Deliveries.List(t.Context(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 1000})
	if err != nil || len(list) != booked {
		t.Errorf("%d deliveries (error %v), want %d", len(list), err, booked)
	}

	pages(1_000_000)
	if err := s.Book(t.Context(), w); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := s.Book(t.Context(), w); !errors.Is(err, ports.ErrKeyTaken) {
		t.Errorf("once more: %v, want ErrKeyTaken", err)
	}
}

func TestACommitIsNotCancelledWithItsCaller(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *gormstore.Store{"SQLite": openSQLite, "Postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			w := sample.BookingWrite(newTenant(t, s))
			ctx, cancel := context.WithCancel(t.Context())
			s.CommitWith(func(tx *sql.Tx) error {
				cancel()
				return tx.Commit()
			})
			if err := s.Book(ctx, w); err != nil {
				t.Errorf("Book: %v", err)
			}
			wantCommittedOnce(t, s, w, ports.ErrKeyTaken)
		})
	}
}

// The same once more with a real connection that breaks: that of the program,
// or the one which a pooler has with Postgres.
func TestAConnectionThatBreaksAtCommit(t *testing.T) {
	for _, c := range []struct {
		name   string
		cut    cut
		repeat error
	}{
		{"before the server got it", cutBeforeCommit, nil},
		{"after the server committed", cutAfterCommit, ports.ErrKeyTaken},
		{"after the server committed and was shut down", shutDownAfterCommit, ports.ErrKeyTaken},
	} {
		book := func(t *testing.T, s *gormstore.Store, p *proxy) {
			w := sample.BookingWrite(newTenant(t, s))
			p.cutNext(c.cut)
			if err := s.Book(t.Context(), w); !errors.Is(err, ports.ErrOutcomeUnknown) {
				t.Errorf("Book: %v, want ErrOutcomeUnknown", err)
			}
			wantCommittedOnce(t, s, w, c.repeat)
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			direct := newDatabase(t)
			p := startProxy(t, direct)
			if behindPooler(t) {
				book(t, openPooled(t, startPgBouncer(t, p.url(t, direct)).URL(direct)), p)
			} else {
				book(t, open(t, p.url(t, direct)), p)
			}
		})
	}
}

func TestWhatPostgresSaysAboutACommit(t *testing.T) {
	for _, c := range []struct {
		err     error
		refused bool
	}{
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40001"}, true},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23505"}, true},
		{fmt.Errorf("wrapped: %w", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "57014"}), true},
		{pgx.ErrTxCommitRollback, true},
		{&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, false}, // may follow a durable commit
		{&pgconn.PgError{SeverityUnlocalized: "PANIC", Code: "58030"}, false},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "08P01"}, false}, // of a pooler that lost its server
		{&pgconn.PgError{Severity: "FATAL", Code: "08P01"}, false},            // as PgBouncer 1.18 says it
		{io.ErrUnexpectedEOF, false},
		{context.DeadlineExceeded, false},
	} {
		if got := gormstore.RefusedByPostgres(c.err); got != c.refused {
			t.Errorf("%v: refused for sure is %v, want %v", c.err, got, c.refused)
		}
	}
}

func withHost(t testing.TB, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host
	return u.String()
}
