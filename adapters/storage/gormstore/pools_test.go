package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// shares is a database as a server opens it.
type shares struct{ live, sandbox, background *gormstore.Store }

func openShares(t testing.TB, url string, o gormstore.Options) shares {
	t.Helper()
	root := openWith(t, url, o)
	share := func(name string) *gormstore.Store {
		o := o
		o.Name, o.ListPoolSize = name, 2
		s, err := root.Share(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	return shares{live: share("live"), sandbox: share("sandbox"), background: root}
}

func migratedSQLite(t testing.TB) string {
	t.Helper()
	url := sqliteURL(t)
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

// everyWay runs a test on all databases there are, and through a pooler.
func everyWay(t *testing.T, test func(t *testing.T, url string, o gormstore.Options)) {
	if !behindPooler(t) {
		t.Run("SQLite", func(t *testing.T) { t.Parallel(); test(t, migratedSQLite(t), gormstore.Options{}) })
	}
	bothWays(t, func(t *testing.T, _, url string, o gormstore.Options) { test(t, url, o) })
}

// hold takes connections of a pool until it has no more, for as long as the test lasts.
func hold(t testing.TB, db *sql.DB) {
	t.Helper()
	for range db.Stats().MaxOpenConnections {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// A request that has to wait for a connection that is held waits for longer than
// this; on a busy machine all others are done in it.
const holdPatience = 20 * time.Second

// served creates, reads and lists, and looks a key up.
func served(t *testing.T, s *gormstore.Store, tenant domain.Tenant, lists bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), holdPatience)
	defer cancel()
	w := sample.BookingWrite(tenant)
	if err := s.Book(ctx, w); err != nil {
		t.Errorf("book: %v", err)
	}
	if _, err := s.Read().Deliveries.Get(ctx, tenant, w.Delivery.ID); err != nil {
		t.Errorf("read: %v", err)
	}
	if _, err := s.Read().Idempotency.Find(ctx, tenant, w.Key.Key); err != nil {
		t.Errorf("find the key: %v", err)
	}
	if _, err := s.Read().Tenancy.Credential(ctx, [32]byte{1}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("look a key up: %v", err)
	}
	if err := s.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		_, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
		return err
	}); err != nil {
		t.Errorf("a transaction: %v", err)
	}
	if !lists {
		return
	}
	if found, err := s.Read().Deliveries.List(ctx, tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 1}); err != nil ||
		len(found) == 0 {
		t.Errorf("list: %d, %v", len(found), err)
	}
}

func TestAnEnvironmentIsServedWhileTheOtherOneHoldsAllItsConnections(t *testing.T) {
	everyWay(t, func(t *testing.T, url string, o gormstore.Options) {
		s := openShares(t, url, o)
		tenant := newTenant(t, s.background)
		write, read := s.sandbox.Pools()
		hold(t, read)
		hold(t, s.sandbox.ListPool())
		if own, _ := s.live.Pools(); own == write && write != read {
			t.Log("the one connection that writes is common to both") // on SQLite
		}
		served(t, s.live, tenant, true)
		served(t, s.background, tenant, true)
	})
}

func TestNothingButListsWaitsForListsThatHoldTheirConnections(t *testing.T) {
	everyWay(t, func(t *testing.T, url string, o gormstore.Options) {
		o.ListTimeout = 50 * time.Millisecond
		s := openShares(t, url, o)
		tenant := newTenant(t, s.background)
		hold(t, s.live.ListPool())
		served(t, s.live, tenant, false)
		served(t, s.sandbox, tenant, false)
		for what, list := range listsOf(tenant) {
			ctx, cancel := context.WithTimeout(t.Context(), holdPatience)
			err := list(ctx, s.live.Read())
			cancel()
			if !errors.Is(err, ports.ErrTookTooLong) {
				t.Errorf("%s: %v, want that it took too long", what, err)
			}
		}
	})
}

// A business that holds as many places as one may have makes itself wait, and nobody else.
func TestOneBusinessLeavesConnectionsOfListsToTheOthers(t *testing.T) {
	everyWay(t, func(t *testing.T, url string, o gormstore.Options) {
		s := openShares(t, url, o)
		mine, other := newTenant(t, s.background), newTenant(t, s.background)
		defer s.live.TakeListTurn(mine.BusinessID)()
		for what, list := range listsOf(mine) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			if err := list(ctx, s.live.Read()); err == nil {
				t.Errorf("%s: a business has all connections", what)
			}
			cancel()
		}
		for range 2 { // each gives its turn back
			for what, list := range listsOf(other) {
				ctx, cancel := context.WithTimeout(t.Context(), holdPatience)
				if err := list(ctx, s.live.Read()); err != nil {
					t.Errorf("%s of another business: %v", what, err)
				}
				cancel()
			}
		}
	})
}

// listsOf are all pages that wait for connections of lists.
func listsOf(tenant domain.Tenant) map[string]func(context.Context, ports.Readers) error {
	p := domain.PageRequest{Limit: 1}
	return map[string]func(context.Context, ports.Readers) error{
		"deliveries": func(ctx context.Context, r ports.Readers) error {
			_, err := r.Deliveries.List(ctx, tenant, domain.DeliveryFilter{}, p)
			return err
		},
		"recipients": func(ctx context.Context, r ports.Readers) error {
			_, err := r.Recipients.List(ctx, tenant, domain.RecipientFilter{}, p)
			return err
		},
		"pickup locations": func(ctx context.Context, r ports.Readers) error {
			_, err := r.PickupLocations.List(ctx, tenant, domain.PickupLocationFilter{Search: "ama"}, p)
			return err
		},
		"feed": func(ctx context.Context, r ports.Readers) error {
			_, err := r.Feed.Events(ctx, tenant, domain.FeedFilter{}, nil, 1)
			return err
		},
		"webhook endpoints": func(ctx context.Context, r ports.Readers) error {
			_, err := r.Webhooks.Endpoints(ctx, tenant, p)
			return err
		},
		"audit log": func(ctx context.Context, r ports.Readers) error {
			_, err := r.Audit.ListOfBusiness(ctx, tenant.BusinessID, domain.AuditFilter{}, p)
			return err
		},
		"requests": func(ctx context.Context, r ports.Readers) error {
			_, err := r.Requests.List(ctx, domain.RequestFilter{BusinessID: tenant.BusinessID, ApplicationID: tenant.ApplicationID}, p)
			return err
		},
		"webhook deliveries": func(ctx context.Context, r ports.Readers) error {
			_, err := r.Webhooks.Deliveries(ctx, tenant, sample.WebhookEndpoint(tenant).ID, domain.WebhookDeliveryFilter{}, p)
			return err
		},
	}
}

// Another session holds the table for as long as the test lasts. The URL allows a
// statement more than a list may take.
func TestThePageOfAListIsCutOffInItsTime(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
		o.ListTimeout, o.StatementTimeout, o.LockTimeout = 300*time.Millisecond, time.Minute, time.Minute
		s := openShares(t, url, o)
		tenant := newTenant(t, s.background)
		holder := connect(t, direct)
		do(t, holder, "BEGIN")
		do(t, holder, "LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE")
		list := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), holdPatience)
			defer cancel()
			return listsOf(tenant)["deliveries"](ctx, s.live.Read())
		}
		// Where the database is too busy to end it, the program does, somewhat later.
		endedByDatabase := false
		for tries := 0; tries < 3 && !endedByDatabase; tries++ {
			begun := time.Now()
			err := list()
			if took := time.Since(begun); !errors.Is(err, ports.ErrTookTooLong) || took < o.ListTimeout || took > o.ListTimeout+10*time.Second {
				t.Errorf("%v after %v, want that it took too long after %v", err, took, o.ListTimeout)
			}
			endedByDatabase = err != nil && strings.Contains(err.Error(), "statement timeout")
		}
		if !endedByDatabase {
			t.Errorf("the database goes on with a page for longer than %v", o.ListTimeout)
		}
		do(t, holder, "ROLLBACK")
		if err := list(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
