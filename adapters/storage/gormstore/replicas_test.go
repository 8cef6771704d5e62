package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/conformance/storage"
	"waybill/test/sample"
)

// cluster is a Postgres with streaming replicas.
type cluster struct {
	primary  *backend.Postgres
	replicas []*backend.Postgres
	made     atomic.Int64 // databases
}

const clusterTemplate = "migrated"

func startCluster(t testing.TB, replicas int) *cluster {
	t.Helper()
	stop := func(s *backend.Postgres) {
		t.Cleanup(func() {
			if err := errors.Join(s.Kill(), s.Stop()); err != nil { // without a checkpoint of many databases
				t.Error(err)
			}
		})
	}
	primary, err := backend.StartPostgres(t.Context())
	if errors.Is(err, backend.ErrNoPostgres) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop(primary)
	c := &cluster{primary: primary}
	for range replicas {
		r, err := primary.Replica(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stop(r)
		c.replicas = append(c.replicas, r)
	}
	do(t, connect(t, primary.URL), "CREATE DATABASE "+clusterTemplate)
	if err := gormstore.Migrate(t.Context(), named(primary, clusterTemplate)); err != nil {
		t.Fatal(err)
	}
	return c
}

// named is the URL of a database of a server.
func named(s *backend.Postgres, name string) string {
	return strings.Replace(s.URL, "/postgres?", "/"+name+"?", 1)
}

// database makes one, with its replicas in the options.
func (c *cluster) database(t testing.TB) (url string, o gormstore.Options) {
	t.Helper()
	name := fmt.Sprintf("d%d", c.made.Add(1))
	do(t, connect(t, c.primary.URL), "CREATE DATABASE "+name+" TEMPLATE "+clusterTemplate)
	for _, r := range c.replicas {
		address := named(r, name)
		o.ReplicaURLs = append(o.ReplicaURLs, address)
		until(t, "the replica has the database", func() bool { return answers(t, address) })
	}
	return named(c.primary, name), o
}

func answers(t testing.TB, address string) bool {
	s, err := gormstore.Open(t.Context(), address+"&target_session_attrs=any", gormstore.Options{PoolSize: 1})
	if err == nil {
		err = s.Close()
	}
	return err == nil
}

func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// listed tells whether a list has a delivery.
func listed(ctx context.Context, s ports.Storage, tenant domain.Tenant, d *domain.Delivery) (bool, error) {
	page, err := s.Read().Deliveries.List(ctx, tenant, domain.DeliveryFilter{ExternalID: d.ExternalID}, domain.PageRequest{Limit: 20})
	return len(page) == 1 && page[0].ID == d.ID, err
}

func TestLongPostgresWithAReplicaConforms(t *testing.T) {
	c := startCluster(t, 1)
	var onReplica, elsewhere atomic.Int64
	t.Run("exam", func(t *testing.T) {
		storage.Examine(t, func(t *testing.T) ports.Database {
			url, o := c.database(t)
			o.ReplicaLag = 5 * time.Second // on a busy machine too
			s := patient(openShares(t, url, o).live)
			t.Cleanup(func() {
				all, others := s.Replicas()
				onReplica.Add(all[0].Lists)
				elsewhere.Add(others)
			})
			return flushed{s}
		})
	})
	t.Logf("%d lists were read from the replica, %d from the primary", onReplica.Load(), elsewhere.Load())
	if onReplica.Load() < 100 || elsewhere.Load() > onReplica.Load()/10 {
		t.Error("that was no exam of the replica")
	}
}

// flushed has on the disk of the primary at once what is written without a wait for it.
type flushed struct{ *gormstore.Store }

func (f flushed) WriteRequests(ctx context.Context, writer string, records []domain.RequestRecord,
	usage []domain.UsageMinute) (ports.Skipped, error) {
	skipped, err := f.Store.WriteRequests(ctx, writer, records, usage)
	return skipped, errors.Join(err, f.flush(ctx))
}

func (f flushed) CountReports(ctx context.Context, limit int) (looked int, more bool, err error) {
	looked, more, err = f.Store.CountReports(ctx, limit)
	return looked, more, errors.Join(err, f.flush(ctx))
}

func (f flushed) flush(ctx context.Context) error {
	write, _ := f.Pools()
	_, err := write.ExecContext(ctx, "SELECT pg_logical_emit_message(true, 'flush', '')")
	return err
}

// Two processes, one that writes and one that lists, with a replica that stands still
// now and then.
func TestLongAListHasAllThatWasWrittenBeforeItInWhateverProcess(t *testing.T) {
	c := startCluster(t, 1)
	url, o := c.database(t)
	o.ReplicaLag = 30 * time.Millisecond
	writer, reader := openShares(t, url, gormstore.Options{}).live, openShares(t, url, o).live
	ctx, stop := context.WithTimeout(t.Context(), 6*time.Second)
	defer stop()
	var busy sync.WaitGroup
	replica := connect(t, c.replicas[0].URL)
	busy.Go(func() {
		for ctx.Err() == nil {
			for _, statement := range []string{"SELECT pg_wal_replay_pause()", "SELECT pg_wal_replay_resume()"} {
				_, _ = replica.Exec(t.Context(), statement)
				time.Sleep(400 * time.Millisecond)
			}
		}
	})
	var wrote, stale atomic.Int64
	for range 6 {
		tenant := newTenant(t, writer)
		busy.Go(func() {
			for ctx.Err() == nil {
				w := sample.BookingWrite(tenant)
				if err := writer.Book(t.Context(), w); err != nil {
					t.Error(err)
					return
				}
				wrote.Add(1)
				switch has, err := listed(t.Context(), reader, tenant, w.Delivery); {
				case err != nil:
					t.Error(err)
					return
				case !has:
					stale.Add(1)
				}
			}
		})
	}
	busy.Wait()
	all, others := reader.Replicas()
	t.Logf("of %d lists %d were read from the replica and %d from the primary", wrote.Load(), all[0].Lists, others)
	if stale.Load() > 0 {
		t.Errorf("%d lists lacked what had been written before", stale.Load())
	}
	if all[0].Lists == 0 || others == 0 {
		t.Error("one of the servers was not read from")
	}
}

func TestLongAReplicaIsLeftOutWhileItIsBehindAndReadAgainAfterwards(t *testing.T) {
	c := startCluster(t, 2)
	url, o := c.database(t)
	s := openShares(t, url, o).live
	tenant := newTenant(t, s)
	state := func(i int) domain.ReplicaState { all, _ := s.Replicas(); return all[i] }
	serves := func() bool { return state(0).LeftOut == "" && state(1).LeftOut == "" }
	book := func() *domain.Delivery {
		w := sample.BookingWrite(tenant)
		if err := s.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		return w.Delivery
	}
	list := func(d *domain.Delivery) {
		if has, err := listed(t.Context(), s, tenant, d); err != nil || !has {
			t.Errorf("the list has the delivery: %t, %v", has, err)
		}
	}
	until(t, "both replicas serve", serves)
	slow := connect(t, c.replicas[0].URL)
	do(t, slow, "SELECT pg_wal_replay_pause()")
	booked := book()
	until(t, "the replica that stands still is left out", func() bool { list(booked); return state(0).LeftOut != "" })
	until(t, "its lag is seen", func() bool {
		return state(0).Lag > time.Second && state(0).Behind > 0 && strings.Contains(state(0).LeftOut, "not caught up")
	})
	until(t, "the other one serves", func() bool { return state(1).LeftOut == "" })
	was := state(1).Lists
	for range 20 {
		list(booked)
	}
	if got := state(1).Lists - was; got < 10 {
		t.Errorf("of 20 lists the other replica served %d", got)
	}
	do(t, slow, "SELECT pg_wal_replay_resume()")
	until(t, "it serves again", serves)
	was = state(0).Lists
	until(t, "lists are read from it", func() bool { list(booked); return state(0).Lists > was+5 })
	until(t, "its lag is over", func() bool { list(booked); return state(0).Lag <= time.Second })
}

// A list that waited for the replica would fail by its time-out.
func TestLongNoListFailsBecauseAReplicaGoes(t *testing.T) {
	c := startCluster(t, 1)
	url, o := c.database(t)
	link := backend.NewLink(t, o.ReplicaURLs[0])
	o.ReplicaURLs[0] = link.URL(t, o.ReplicaURLs[0])
	s := openShares(t, url, o).live
	tenant := newTenant(t, s)
	w := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	serves := func() bool { all, _ := s.Replicas(); return all[0].LeftOut == "" }
	replica := c.replicas[0]
	resume := func() {}
	defer func() { resume() }()
	for _, way := range []struct {
		what      string
		goes, end func() error
	}{
		{"killed", replica.Kill, func() error { return replica.Restart(t.Context()) }},
		{"stopped", func() (err error) { resume, err = replica.Suspend(t.Context()); return err }, func() error { resume(); return nil }},
		{"cut off", func() error { link.Cut(backend.BothWays); return nil }, func() error { link.Heal(); return nil }},
	} {
		until(t, "the replica serves before it is "+way.what, serves)
		var asking sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		for range 4 {
			asking.Go(func() {
				for ctx.Err() == nil {
					has, err := listed(t.Context(), s, tenant, w.Delivery)
					if err != nil || !has {
						t.Errorf("%s: the list has the delivery: %t, %v", way.what, has, err)
					}
				}
			})
		}
		time.Sleep(300 * time.Millisecond) // lists are under way
		if err := way.goes(); err != nil {
			t.Error(err)
		}
		until(t, "a replica that is "+way.what+" is left out", func() bool { return !serves() })
		if err := way.end(); err != nil {
			t.Error(err)
		}
		until(t, "the replica serves after it was "+way.what, serves)
		stop()
		asking.Wait()
	}
}

// A replica may have other work, and answer what is asked to look at it all the same.
func TestLongAListThatTakesAReplicaTooLongIsReadFromThePrimary(t *testing.T) {
	c := startCluster(t, 1)
	url, o := c.database(t)
	o.ReplicaLag, o.ListTimeout = time.Second, time.Second
	s := openShares(t, url, o).live
	tenant := newTenant(t, s)
	w := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	do(t, connect(t, url), "ALTER TABLE deliveries RENAME TO deliveries_kept; CREATE VIEW deliveries AS SELECT * FROM deliveries_kept"+
		" WHERE NOT pg_is_in_recovery() OR CAST(pg_sleep(60) AS text) IS NULL")
	until(t, "the replica serves", func() bool { all, _ := s.Replicas(); return all[0].LeftOut == "" })
	begun := time.Now()
	if has, err := listed(t.Context(), s, tenant, w.Delivery); err != nil || !has {
		t.Errorf("the list has the delivery: %t, %v", has, err)
	}
	if took := time.Since(begun); took < 500*time.Millisecond {
		t.Errorf("it took %s: the replica was not asked", took)
	}
}

// The replica has more of the log of the old primary than the new one has, so that its
// place in the log says nothing.
func TestLongAReplicaOfAFormerPrimaryIsNotReadFrom(t *testing.T) {
	c := startCluster(t, 2)
	heir, left := c.replicas[0], c.replicas[1]
	c.replicas = c.replicas[1:]
	url, o := c.database(t)
	until(t, "the heir has the database", func() bool {
		return answers(t, strings.Replace(url, fmt.Sprint(c.primary.Port), fmt.Sprint(heir.Port), 1))
	})
	if err := heir.Kill(); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, url)
	do(t, conn, "CREATE TABLE lost AS SELECT repeat('x', 1000) AS what FROM generate_series(1, 20000)")
	address := named(left, url[strings.LastIndex(url, "/")+1:strings.Index(url, "?")])
	until(t, "the replica has what will be lost", func() bool {
		var there bool
		err := connect(t, address).QueryRow(t.Context(), "SELECT count(*) = 20000 FROM lost").Scan(&there)
		return err == nil && there
	})
	if err := errors.Join(c.primary.Kill(), heir.Restart(t.Context()), heir.Promote(t.Context())); err != nil {
		t.Fatal(err)
	}
	o.ReplicaLag = time.Second
	s := openShares(t, strings.Replace(url, fmt.Sprint(c.primary.Port), fmt.Sprint(heir.Port), 1), o).live
	tenant := newTenant(t, s)
	for range 20 {
		w := sample.BookingWrite(tenant)
		if err := s.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if has, err := listed(t.Context(), s, tenant, w.Delivery); err != nil || !has {
			t.Fatalf("the list has the delivery: %t, %v", has, err)
		}
	}
	if all, _ := s.Replicas(); all[0].Lists > 0 || !strings.Contains(all[0].LeftOut, "timeline") {
		t.Errorf("the replica is %+v", all[0])
	}
}

func TestLongWhatIsNoReplicaOfTheDatabaseIsLeftOut(t *testing.T) {
	c := startCluster(t, 1)
	url, o := c.database(t)
	_, other := c.database(t)
	for what, replica := range map[string]struct{ url, want string }{
		"the primary":      {url, "it is no replica: it follows no other server"},
		"another database": {other.ReplicaURLs[0], "a replica of another database"},
		"no server":        {"postgres://postgres@127.0.0.1:1/postgres", "does not answer"},
	} {
		o.ReplicaURLs = []string{replica.url}
		s := openShares(t, url, o).live
		if all, _ := s.Replicas(); !strings.Contains(all[0].LeftOut, replica.want) {
			t.Errorf("%s: %q, want %q", what, all[0].LeftOut, replica.want)
		}
		served(t, s, newTenant(t, s), true)
		log := &strings.Builder{}
		logged := o
		logged.Logger = slog.New(slog.NewTextHandler(log, nil))
		if s, err := gormstore.Open(t.Context(), url, logged); err != nil || s.Close() != nil {
			t.Fatalf("%s: opened with %v", what, err)
		}
		if strings.Count(log.String(), "is left out") != 1 || !strings.Contains(log.String(), replica.want) {
			t.Errorf("%s: logged %s", what, log)
		}
	}
	o.ReplicaURLs = []string{"postgres://127.0.0.1:1/postgres", "postgres://127.0.0.1:1/other"}
	if _, err := gormstore.Open(t.Context(), url, o); err == nil || !strings.Contains(err.Error(), "name each server once") {
		t.Errorf("one server twice: %v", err)
	}
	o.ReplicaURLs = []string{"postgres://127.0.0.1:1,127.0.0.1:2/postgres"}
	if _, err := gormstore.Open(t.Context(), url, o); err == nil || !strings.Contains(err.Error(), "several servers") {
		t.Errorf("two servers in one URL: %v", err)
	}
	if _, err := gormstore.Open(t.Context(), sqliteURL(t), o); err == nil || !strings.Contains(err.Error(), "has no replicas") {
		t.Errorf("replicas of a SQLite file: %v", err)
	}
}

func TestLongListsOfLiveAreReadFromAReplicaWhileTheSandboxHoldsItsConnections(t *testing.T) {
	c := startCluster(t, 1)
	url, o := c.database(t)
	o.ReplicaLag = time.Second
	s := openShares(t, url, o)
	tenant := newTenant(t, s.background)
	until(t, "the replica serves", func() bool { all, _ := s.live.Replicas(); return all[0].LeftOut == "" })
	hold(t, s.sandbox.ReplicaPool())
	served(t, s.live, tenant, true)
	if all, others := s.live.Replicas(); all[0].Lists != 1 || others != 0 {
		t.Errorf("%d lists of live were read from the replica, %d from the primary", all[0].Lists, others)
	}
	served(t, s.sandbox, tenant, true)
	if _, others := s.live.Replicas(); others != 1 {
		t.Errorf("%d lists of the sandbox were read from the primary", others)
	}
}
