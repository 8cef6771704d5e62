package gormstore_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
)

// change is what any request does that changes something.
func change(ctx context.Context, s *gormstore.Store) error {
	return s.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.InsertBusiness(ctx, sample.Business())
	})
}

func TestSessionsThatMayOnlyReadAreLeftAsSoonAsOthersCanBeHad(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, address string, o gormstore.Options) {
		conn := connect(t, direct)
		u, err := url.Parse(direct)
		if err != nil {
			t.Fatal(err)
		}
		readOnly := func(value string) {
			do(t, conn, `ALTER DATABASE "`+strings.TrimPrefix(u.Path, "/")+`" SET default_transaction_read_only = `+value)
		}
		readOnly("on")
		defer readOnly("off")
		o.PoolSize = 4
		if s, err := gormstore.Open(t.Context(), address, o); err == nil {
			_ = s.Close()
			t.Fatal("a pool was opened that may only read, and its URL did not ask for one")
		} else if !errors.Is(err, gormstore.ErrReadOnly) {
			t.Errorf("the error does not say why: %v", err)
		}
		s := openWith(t, address+separator(address)+"target_session_attrs=any", o)
		fill(t, s)
		if err := s.Ping(t.Context()); !errors.Is(err, ports.ErrStorageGone) {
			t.Errorf("Ping on a database that may only be read: %v", err)
		}
		fill(t, s)
		if err := change(t.Context(), s); !errors.Is(err, ports.ErrStorageGone) {
			t.Errorf("a change of a database that may only be read: %v", err)
		}
		fill(t, s)
		readOnly("off")
		if address != direct { // the pooler keeps sessions of its own, with what they began with
			do(t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
		for n := range 8 { // more than there are connections
			if err := change(t.Context(), s); err != nil {
				t.Fatalf("change %d after the database may be written again: %v", n+1, err)
			}
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("Ping after the database may be written again: %v", err)
		}
	})
}

func separator(address string) string {
	if strings.Contains(address, "?") {
		return "&"
	}
	return "?"
}

func TestLongTheSecondHostOfAnAddressServesWhereTheFirstIsSilent(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	link := backend.NewLink(t, direct)
	first, err := url.Parse(link.URL(t, direct))
	if err != nil {
		t.Fatal(err)
	}
	second, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	both := strings.Replace(direct, "@"+second.Host, "@"+first.Host+","+second.Host, 1)
	link.Cut(backend.BothWays)
	s := openWith(t, both+"&connect_timeout=15", gormstore.Options{PoolSize: 6})
	begun := time.Now()
	fill(t, s) // more connections, each of which would wait 15 seconds for the first host
	if took := time.Since(begun); took > 14*time.Second {
		t.Errorf("more connections by way of the second host took %s: they waited for the first", took)
	}
	if err := change(t.Context(), s); err != nil {
		t.Error(err)
	}
}

func TestADeadlineThatPassesWhileATransactionBeginsIsNoDisconnect(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	link := backend.NewLink(t, direct)
	s := openWith(t, link.URL(t, direct), gormstore.Options{PoolSize: 2})
	if err := change(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	link.Cut(backend.BothWays) // the connection was heard of a moment ago: it is not asked before BEGIN
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := change(ctx, s); !ports.StorageUnavailable(err) || errors.Is(err, context.Canceled) {
		t.Errorf("a deadline: %v, want that the database is not available", err)
	}
	if err := change(t.Context(), openWith(t, direct, gormstore.Options{PoolSize: 2})); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := change(gone, s); !errors.Is(err, context.Canceled) || ports.StorageUnavailable(err) {
		t.Errorf("a caller who has gone: %v, want that alone", err)
	}
}

func TestADeadlineHoldsWhileAnotherProcessWritesIntoTheFile(t *testing.T) {
	t.Parallel()
	url := migratedSQLite(t)
	s, other := openWith(t, url, gormstore.Options{}), openWith(t, url, gormstore.Options{})
	writes, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- other.InTx(t.Context(), func(context.Context, ports.Stores) error {
			close(writes)
			<-release
			return nil
		})
	}()
	<-writes
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := change(ctx, s); !ports.StorageUnavailable(err) || errors.Is(err, context.Canceled) {
		t.Errorf("a deadline: %v, want that the database is not available", err)
	}
	if took := time.Since(begun); took > 4*time.Second { // SQLite waits for 5
		t.Errorf("the caller waited for %v", took)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := change(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func TestCleaningThatWaitsForAnotherProcessKeepsNoCallBeyondItsDeadline(t *testing.T) {
	t.Parallel()
	url := migratedSQLite(t)
	s, other := openWith(t, url, gormstore.Options{}), openWith(t, url, gormstore.Options{})
	tenant := newTenant(t, s)
	writes, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- other.InTx(t.Context(), func(context.Context, ports.Stores) error {
			close(writes)
			<-release
			return nil
		})
	}()
	<-writes
	cleaned := make(chan error, 1)
	go func() {
		_, _, err := s.PurgeExpired(t.Context(), 100)
		cleaned <- err
	}()
	write, _ := s.Pools()
	await(t, func() bool { return write.Stats().InUse == 1 })
	for what, call := range map[string]func(context.Context) error{
		"a change":  func(ctx context.Context) error { return change(ctx, s) },
		"a booking": func(ctx context.Context) error { return s.Book(ctx, sample.BookingWrite(tenant)) },
	} {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := call(ctx)
		cancel()
		if !ports.StorageUnavailable(err) && !errors.Is(err, ports.ErrOutcomeUnknown) {
			t.Errorf("%s: %v, want that the database is not available", what, err)
		}
		if took := time.Since(begun); took > 3*time.Second { // SQLite waits for 5
			t.Errorf("%s waited for %v, beyond its deadline", what, took)
		}
	}
	begun := time.Now()
	if _, err := s.Read().Tenancy.Business(t.Context(), tenant.BusinessID); err != nil || time.Since(begun) > 3*time.Second {
		t.Errorf("a read took %v: %v", time.Since(begun), err)
	}
	close(release)
	if err := errors.Join(<-done, ignoreBusy(<-cleaned)); err != nil {
		t.Error(err)
	}
	if err := change(t.Context(), s); err != nil {
		t.Errorf("a change when the file is free again: %v", err)
	}
}

// ignoreBusy passes over what cleaning says that waited for too long; it comes again.
func ignoreBusy(err error) error {
	if err != nil && strings.Contains(err.Error(), "locked") {
		return nil
	}
	return err
}

// sessionsGone waits until no other session of a database is in a transaction.
func sessionsGone(t testing.TB, url string) {
	t.Helper()
	conn := connect(t, url)
	await(t, func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"+
			" AND xact_start IS NOT NULL AND pid <> pg_backend_pid()").Scan(&n)
		return err == nil && n == 0
	})
}

func TestASessionThatWasEndedForBeingIdleInATransactionIsUnavailable(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s := openWith(t, url, gormstore.Options{PoolSize: 2, IdleInTransactionTimeout: 100 * time.Millisecond})
	err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, sample.Business()); err != nil {
			return err
		}
		sessionsGone(t, url)
		return tx.Tenancy.InsertBusiness(ctx, sample.Business())
	})
	if sqlState(err) != "25P03" || !ports.StorageUnavailable(err) {
		t.Errorf("%v, want 25P03, and that the database is not available", err)
	}
}

func TestAServerThatLetsARunningProgramInNoMoreIsUnavailableAndOneThatStartsIsTold(t *testing.T) {
	t.Parallel()
	direct := newDatabase(t)
	conn := connect(t, direct)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	role := "clerk_of_" + strings.TrimPrefix(u.Path, "/")
	do(t, conn, `CREATE ROLE "`+role+`" LOGIN SUPERUSER`)
	t.Cleanup(func() { _, _ = conn.Exec(context.Background(), `DROP ROLE "`+role+`"`) })
	u.User = url.User(role)
	s := openWith(t, u.String(), gormstore.Options{PoolSize: 2})
	if err := change(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	do(t, conn, `ALTER ROLE "`+role+`" NOLOGIN`)
	do(t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+role+"'")
	if err := change(t.Context(), s); sqlState(err) != "28000" || !ports.StorageUnavailable(err) {
		t.Errorf("a change: %v, want 28000, and that the database is not available", err)
	}
	if _, err := gormstore.Open(t.Context(), u.String(), gormstore.Options{}); err == nil || ports.StorageUnavailable(err) {
		t.Errorf("a start: %v, want an error that no waiting helps against", err)
	}
}

// addTrigger has Postgres do something before each row of a table.
func addTrigger(t testing.TB, url, table, body string) {
	t.Helper()
	conn := connect(t, url)
	do(t, conn, "CREATE FUNCTION injected() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+body+"; RETURN NEW; END $$")
	do(t, conn, "CREATE TRIGGER injected BEFORE INSERT ON "+table+" FOR EACH ROW EXECUTE FUNCTION injected()")
}

func TestATransactionThatOthersAlwaysForestallFindsTheDatabaseBusy(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"40001", "40P01"} {
		url := newDatabase(t)
		s := open(t, url)
		tenant := newTenant(t, s)
		addTrigger(t, url, "businesses", "RAISE EXCEPTION 'forestalled' USING ERRCODE = '"+code+"'")
		do(t, connect(t, url), "CREATE TRIGGER injected BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION injected()")
		for what, err := range map[string]error{"a change": change(t.Context(), s),
			"a booking": s.Book(t.Context(), sample.BookingWrite(tenant))} {
			var e *domain.Error
			if !errors.As(err, &e) || e.Kind != domain.KindUnavailable || sqlState(err) != code {
				t.Errorf("%s: %v, want that the database is busy", what, err)
			}
		}
	}
}

func TestABookingThatTakesTooLongIsUnavailable(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s := openWith(t, url, gormstore.Options{StatementTimeout: 500 * time.Millisecond})
	tenant := newTenant(t, s)
	addTrigger(t, url, "deliveries", "PERFORM pg_sleep(60)")
	if err := s.Book(t.Context(), sample.BookingWrite(tenant)); !errors.Is(err, ports.ErrTookTooLong) {
		t.Errorf("%v, want that it took too long", err)
	}
}
