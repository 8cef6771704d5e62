package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
)

const (
	// goneWithin is how long an answer may take while the database refuses
	// connections, and until all is well when it is back.
	goneWithin = 30 * time.Second
	// silentWithin is the same while the database takes connections and says
	// nothing. The promises are 3 s for what only reads and 8 s for the rest; a
	// machine that is busy with other tests may take somewhat longer.
	silentWithin     = 40 * time.Second
	silentReadWithin = 30 * time.Second
	// backWithin is how long after a crash of the database every server books
	// again.
	backWithin = time.Minute
)

func TestADatabaseThatIsGoneAndComesBackCostsNoOrder(t *testing.T) {
	database := ownPostgres(t)
	t.Parallel()
	shop := serve(t, database.URL, 1)
	shop.admit(t.Context())
	shop.outage(t, goneWithin, database.Kill, func() error { return database.Restart(t.Context()) })
	shop.settle(t, "Postgres gone for a while", openDatabase(t, database.URL), Postgres)
}

func TestADatabaseThatFallsSilentCostsNoOrder(t *testing.T) {
	t.Parallel()
	direct := freshDatabase(t, Postgres)
	w := newWire(t, direct)
	shop := serve(t, w.url, 1)
	shop.admit(t.Context())
	shop.outage(t, silentWithin, func() error { w.held.Lock(); return nil }, func() error { w.held.Unlock(); return nil })
	shop.settle(t, "Postgres silent for a while", openDatabase(t, direct), Postgres)
}

// bookAgain tells how long after a moment each server had booked a new order.
func (s *shop) bookAgain(t *testing.T, since time.Time) (took []time.Duration) {
	t.Helper()
	clerk := newClerk(0, 0)
	for _, target := range s.sender.targets {
		j := clerk.single()
		s.remember(j)
		until(t, "a server books again", 2*backWithin, func() bool { return s.sender.try(t.Context(), j, target) })
		took = append(took, time.Since(since))
	}
	return took
}

// ownPostgres is a migrated server that only this test uses. Where tests are run on Citus
// it is the coordinator of a cluster, unless it has to have settings of its own.
func ownPostgres(t *testing.T, with ...string) *backend.Postgres {
	t.Helper()
	start := func() (*backend.Postgres, func() error, error) {
		s, err := backend.StartPostgres(t.Context(), with...)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Stop, nil
	}
	if os.Getenv(backend.CitusWorkersEnv) != "" && len(with) == 0 {
		start = func() (*backend.Postgres, func() error, error) { return ownCluster(t.Context()) }
	}
	server, stop, err := start()
	if errors.Is(err, backend.ErrNoPostgres) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	if err := gormstore.Migrate(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	return server
}

// ownCluster is a coordinator of Citus, beside its workers.
func ownCluster(ctx context.Context) (coordinator *backend.Postgres, stop func() error, err error) {
	cluster, err := backend.StartCitus(ctx, 2)
	if err != nil {
		return nil, nil, err
	}
	var databases []string
	for _, s := range cluster.Servers() {
		databases = append(databases, s.URL)
	}
	if err := backend.FormCitus(ctx, databases); err != nil {
		return nil, nil, errors.Join(err, cluster.Stop())
	}
	return cluster.Coordinator, cluster.Stop, nil
}

// outage takes the database away and gives it back, under the eyes of
// customers and operators.
func (s *shop) outage(t *testing.T, within time.Duration, cut, back func() error) {
	t.Helper()
	s.may = append(s.may, away)
	const some = 30
	until(t, "orders are booked", goneWithin, func() bool { return s.booked() >= some })
	if err := cut(); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- s.fails(t.Context(), min(within, silentReadWithin)) }()
	until(t, "the server is not ready", goneWithin, func() bool { return s.operators(t, "/readyz") == http.StatusServiceUnavailable })
	if status := s.operators(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz answers %d; starting the process anew would not help", status)
	}
	if err := <-told; err != nil {
		t.Error(err)
	}
	if err := back(); err != nil {
		t.Fatal(err)
	}
	until(t, "the server is ready", goneWithin, func() bool { return s.operators(t, "/readyz") == http.StatusOK })
	booked := s.booked()
	until(t, "orders are booked again", goneWithin, func() bool { return s.booked() >= booked+some })
	if slowest := s.watch.slowest(); slowest > within {
		t.Errorf("an answer took %s, want at most %s", slowest, within)
	}
}

// fails asks for what only the database knows, and is to be told that in time.
func (s *shop) fails(ctx context.Context, within time.Duration) error {
	begun := time.Now()
	r, err := s.list(ctx)
	if took := time.Since(begun); err != nil || took > within || r.String() != away || r.retryAfter == 0 {
		return fmt.Errorf("after %s: %s, Retry-After %d (error %v), want %s within %s", took, r, r.retryAfter, err, away, within)
	}
	return nil
}
