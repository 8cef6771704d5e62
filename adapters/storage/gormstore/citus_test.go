package gormstore_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/sample"
)

// onCitus skips a test where the server of tests is no coordinator of Citus.
func onCitus(t *testing.T) {
	t.Helper()
	if os.Getenv(backend.CitusWorkersEnv) == "" {
		t.Skip("no Citus: run the tests with `make citus`")
	}
}

// On plain Postgres the list has to be that of the schema: what it lacks would be missing on
// Citus, and Citus would refuse to distribute.
func TestForeignKeysOfDistributedTablesAreListed(t *testing.T) {
	t.Parallel()
	if os.Getenv(backend.CitusWorkersEnv) != "" {
		t.Skip("about the schema of one Postgres")
	}
	conn := connect(t, newDatabase(t))
	rows, _ := conn.Query(t.Context(), "SELECT c.conrelid::regclass || ' ' || c.conname || ' ' || pg_get_constraintdef(c.oid)"+
		" FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = ANY ($1::text[]::regclass[]) ORDER BY 1", gormstore.DistributedTables())
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffOf(gormstore.DistributedKeys(), there); diff != "" {
		t.Errorf("the foreign keys of distributed tables differ from those listed: %s", diff)
	}
}

func diffOf(listed, there []string) string {
	for _, key := range listed {
		if !strings.Contains(strings.Join(there, "\n"), key) {
			return "the schema has no " + key
		}
	}
	for _, key := range there {
		if !strings.Contains(strings.Join(listed, "\n"), key) {
			return "not listed: " + key
		}
	}
	return ""
}

// A row in pg_dist_transaction for each node is how Citus remembers a two-phase commit.
func TestLongCitusCreatesAreCommitsOnOneNode(t *testing.T) {
	onCitus(t)
	const businesses, creates = 64, 5
	url := newDatabase(t)
	s, err := gormstore.Open(t.Context(), url, gormstore.Options{PoolSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	var tenants []domain.Tenant
	for range businesses {
		tenants = append(tenants, newTenant(t, s))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	admin := connect(t, url)
	before := prepared(t, admin)
	if before == 0 {
		t.Fatal("businesses are on every node, and no two-phase commit of theirs was counted")
	}
	if s, err = gormstore.Open(t.Context(), url, gormstore.Options{PoolSize: 16}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, tenant := range tenants {
		all.Go(func() {
			for range creates {
				if err := s.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
					t.Errorf("a create: %v", err)
				}
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := prepared(t, admin); after != before {
		t.Errorf("%d two-phase commits by %d creates of %d businesses, want none", after-before, creates*businesses, businesses)
	}
	for _, table := range gormstore.DistributedTables() {
		var bytes int64
		if err := admin.QueryRow(t.Context(), "SELECT pg_relation_size($1::text::regclass)", table).Scan(&bytes); err != nil || bytes > 0 {
			t.Errorf("the coordinator has %d bytes of %s (%v), want none", bytes, table, err)
		}
	}
	var stored int
	if err := admin.QueryRow(t.Context(), "SELECT count(*) FROM deliveries").Scan(&stored); err != nil || stored != businesses*creates {
		t.Errorf("%d deliveries on the nodes (%v), want %d", stored, err, businesses*creates)
	}
}

// prepared counts two-phase commits, those of sessions that have ended.
func prepared(t *testing.T, admin *pgx.Conn) (n int) {
	t.Helper()
	for last := -1; n != last; {
		last = n
		if _, err := admin.Exec(t.Context(), "SELECT pg_stat_clear_snapshot(), pg_sleep(0.3)"); err != nil {
			t.Fatal(err)
		}
		const remembered = "SELECT n_tup_ins FROM pg_stat_all_tables WHERE relname = 'pg_dist_transaction'"
		if err := admin.QueryRow(t.Context(), remembered).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// A database that has rows before Citus knows its nodes is moved, and a move that was cut off
// goes on.
func TestLongCitusTakesAPlainInstallation(t *testing.T) {
	onCitus(t)
	databases := emptyOnAllNodes(t)
	url := databases[0]
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	s := open(t, url)
	tenant := newTenant(t, s)
	e := insertEndpoint(t, s, tenant)
	w := sample.BookingWrite(tenant)
	for _, b := range []ports.BookingWrite{w, sample.BookingWrite(tenant), sample.BookingWrite(newTenant(t, s))} {
		if err := s.Book(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := gormstore.Distribute(t.Context(), url, func(ports.TableMoved) {}); !errors.Is(err, gormstore.ErrNoCitus) {
		t.Errorf("without Citus: %v", err)
	}
	tells := func(when string, want ports.SchemaStatus) {
		t.Helper()
		got, err := gormstore.MigrationStatus(t.Context(), url)
		got.Steps = nil
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s the status is %+v, %v; want %+v", when, got, err, want)
		}
	}
	tells("without Citus", ports.SchemaStatus{})
	form(t, databases)
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	nodes := len(databases) - 1
	tells("before the move", ports.SchemaStatus{Nodes: nodes})

	ctx, cut := context.WithCancel(t.Context())
	tables := 0
	err := gormstore.Distribute(ctx, url, func(ports.TableMoved) {
		if tables++; tables == 8 {
			cut()
		}
	})
	if err == nil || tables != 8 {
		t.Fatalf("%d tables moved before the move was cut off: %v", tables, err)
	}
	tells("cut off,", ports.SchemaStatus{Nodes: nodes, HalfDistributed: true})
	cutOff, err := gormstore.Open(t.Context(), url, gormstore.Options{})
	if err == nil {
		_ = cutOff.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "migrate distribute") {
		t.Errorf("a database that is moved in part was opened: %v", err)
	}
	rows, again := int64(0), 0
	if err := gormstore.Distribute(t.Context(), url, func(m ports.TableMoved) {
		if m.Before != m.After {
			t.Errorf("%s had %d rows and has %d", m.Table, m.Before, m.After)
		}
		if rows += m.After; !m.Moved {
			again++
		}
	}); err != nil || again != 8 || rows == 0 {
		t.Fatalf("the second call moved %d rows and left %d tables where they were: %v", rows, again, err)
	}
	tells("after the move", ports.SchemaStatus{Nodes: nodes, Distributed: true})

	moved := open(t, url)
	got, err := moved.Read().Deliveries.Get(t.Context(), tenant, w.Delivery.ID)
	if err != nil || got.Reference != w.Delivery.Reference {
		t.Errorf("a delivery after the move: %v, %v", got, err)
	}
	if due, err := moved.Outbox().Due(t.Context(), e.ID, time.Now().Add(time.Hour), 10); err != nil || len(due) != 2 {
		t.Errorf("%d webhooks are due after the move (%v), want 2", len(due), err)
	}
	if err := moved.Book(t.Context(), w); !errors.Is(err, ports.ErrKeyTaken) {
		t.Errorf("a create with a key of before the move: %v", err)
	}
	if err := moved.Book(t.Context(), sample.BookingWrite(tenant)); err != nil {
		t.Errorf("a create after the move: %v", err)
	}
	page, err := moved.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, nil, 10)
	if err != nil || len(page.Events) != 3 {
		t.Errorf("%d events in the feed (%v), want 3 in their order", len(page.Events), err)
	}
}
