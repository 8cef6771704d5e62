package gormstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// Ways in which all connections that wait in a pool die at once, unnoticed.
var deaths = map[string]func(t *testing.T) (url string, o gormstore.Options, kill func()){
	"the server ends their sessions": func(t *testing.T) (string, gormstore.Options, func()) {
		direct := newDatabase(t)
		return direct, gormstore.Options{}, func() { endSessions(t, direct) }
	},
	"the server ends the sessions of the pooler": func(t *testing.T) (string, gormstore.Options, func()) {
		direct := newDatabase(t)
		return startPgBouncer(t, direct).URL(direct), gormstore.Options{TransactionPooler: true}, func() { endSessions(t, direct) }
	},
	"the pooler restarts": func(t *testing.T) (string, gormstore.Options, func()) {
		direct := newDatabase(t)
		bouncer := startPgBouncer(t, direct)
		return bouncer.URL(direct), gormstore.Options{TransactionPooler: true}, func() {
			if err := bouncer.Restart(t.Context()); err != nil {
				t.Error(err)
			}
		}
	},
}

// endSessions ends all but its own, and waits until they are gone: soon, since
// one that has been idle for a second is looked at before it is used again.
func endSessions(t *testing.T, direct string) {
	t.Helper()
	const others = " FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
	conn := connect(t, direct)
	do(t, conn, "SELECT pg_terminate_backend(pid)"+others)
	for left, deadline := 1, time.Now().Add(10*time.Second); left > 0; {
		if err := conn.QueryRow(t.Context(), "SELECT count(*)"+others).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions do not end", left)
		}
	}
}

// fill has every connection of a pool open, idle and in use lately: one that was
// not used within the last second is checked before it is used again. There are
// fewer than PgBouncer has sessions.
func fill(t *testing.T, s *gormstore.Store) {
	t.Helper()
	write, _ := s.Pools()
	n := write.Stats().MaxOpenConnections
	for range 2 {
		var open, done sync.WaitGroup
		open.Add(n)
		errs := make([]error, n)
		for i := range n {
			done.Go(func() {
				errs[i] = s.InTx(t.Context(), func(context.Context, ports.Stores) error {
					open.Done()
					open.Wait()
					return nil
				})
			})
		}
		done.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	if idle := write.Stats().Idle; idle != n {
		t.Fatalf("%d connections are idle, want %d", idle, n)
	}
}

func TestConnectionsThatDiedInThePoolFailNoRequest(t *testing.T) {
	for name, death := range deaths {
		if strings.Contains(name, "pooler") != behindPooler(t) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, o, kill := death(t)
			o.PoolSize = 9
			s := openWith(t, url, o)
			w := sample.BookingWrite(newTenant(t, s))
			if err := s.Book(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			unknown := 0
			for what, work := range map[string]func() error{
				"a read": func() error {
					_, err := s.Read().Deliveries.Get(t.Context(), w.Delivery.Tenant, w.Delivery.ID)
					return err
				},
				"a list": func() error {
					_, err := s.Read().Deliveries.List(t.Context(), w.Delivery.Tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 5})
					return err
				},
				"a booking": func() error {
					w := sample.BookingWrite(w.Delivery.Tenant)
					err := s.Book(t.Context(), w)
					if unknown++; errors.Is(err, ports.ErrOutcomeUnknown) && o.TransactionPooler && unknown == 1 {
						err = s.Book(t.Context(), w) // as the gate of keys does
					}
					return err
				},
				"a ping": func() error { return s.Ping(t.Context()) },
				"the question for migrations": func() error {
					_, _, err := s.SchemaVersions(t.Context())
					return err
				},
			} {
				fill(t, s)
				kill()
				for i := range 20 {
					if err := work(); err != nil {
						t.Errorf("%s, number %d: %v", what, i+1, err)
					}
				}
			}
		})
	}
}

func TestAWriteThatEndsItsConnectionIsNotRepeated(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
		s := openWith(t, url, o)
		newTenant(t, s)
		other := connect(t, direct)
		do(t, other, "CREATE SEQUENCE attempts") // which no rollback takes back
		pool, _ := s.Pools()
		for i, err := range []error{
			run(t.Context(), pool, "UPDATE businesses SET name = 'x' WHERE nextval('attempts') > 0 AND pg_terminate_backend(pg_backend_pid())"),
			run(t.Context(), pool, "UPDATE businesses SET name = $1 WHERE nextval('attempts') > 0 AND pg_terminate_backend(pg_backend_pid())", "x"),
			drain(t.Context(), pool, "UPDATE businesses SET name = $1 WHERE nextval('attempts') > 0 AND pg_terminate_backend(pg_backend_pid()) "+
				"RETURNING id", "x"),
		} {
			if err == nil {
				t.Errorf("write %d went through", i+1)
			}
		}
		var attempts int
		if err := other.QueryRow(t.Context(), "SELECT last_value FROM attempts").Scan(&attempts); err != nil || attempts != 3 {
			t.Errorf("%d attempts (%v), want one for each of 3 writes", attempts, err)
		}
	})
}
