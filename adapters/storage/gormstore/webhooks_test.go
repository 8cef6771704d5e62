package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// insertEndpoint stores an endpoint that has to find room.
func insertEndpoint(t testing.TB, s *gormstore.Store, tenant domain.Tenant,
	with ...func(*domain.WebhookEndpoint)) (e domain.WebhookEndpoint) {
	t.Helper()
	if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		e, err = tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant, with...))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return e
}

func exec(t testing.TB, s *gormstore.Store, statement string) {
	t.Helper()
	write, _ := s.Pools()
	if _, err := write.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%.200s: %v", statement, err)
	}
}

func count(t testing.TB, s *gormstore.Store, what string) (n int) {
	t.Helper()
	write, _ := s.Pools()
	if err := write.QueryRowContext(t.Context(), "SELECT count(*) FROM "+what).Scan(&n); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return n
}

func TestAddingAnEndpointLetsBookingsPass(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if _, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant)); err != nil {
			return err
		}
		return s.Book(t.Context(), sample.BookingWrite(tenant))
	}); err != nil {
		t.Error(err)
	}
}

func TestWhatMayHaveBeenCommittedIsAnnounced(t *testing.T) {
	for name, open := range bothEngines {
		for outcome, c := range map[string]struct {
			commit func(*sql.Tx) error
			heard  int
		}{
			"it had happened":         {func(tx *sql.Tx) error { return errors.Join(tx.Commit(), errLost) }, 1},
			"it had not":              {func(tx *sql.Tx) error { return errors.Join(tx.Rollback(), errLost) }, 1},
			"it was refused for sure": {refusedCommit, 0},
		} {
			t.Run(name+"/"+outcome, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				tenant := newTenant(t, s)
				insertEndpoint(t, s, tenant)
				heard := 0
				s.OnFanout(func(endpoints []domain.ID) { heard += len(endpoints) })
				s.CommitWith(c.commit)
				err := s.Book(t.Context(), sample.BookingWrite(tenant))
				if err == nil || errors.Is(err, ports.ErrOutcomeUnknown) != (c.heard > 0) {
					t.Errorf("Book: %v", err)
				}
				if heard != c.heard {
					t.Errorf("announced %d times, want %d", heard, c.heard)
				}
			})
		}
	}
}

// refusedCommit is that of a transaction which fails on Postgres before it, and
// on SQLite, that checks some foreign keys then, by it.
func refusedCommit(tx *sql.Tx) error {
	_, err := tx.Exec("PRAGMA defer_foreign_keys = 1")
	if err == nil {
		_, err = tx.Exec("UPDATE delivery_events SET delivery_id = ?", sample.ID(domain.PrefixDelivery).Hex())
	}
	if commit := tx.Commit(); commit != nil {
		return commit
	}
	return err
}

// oldID is one that was made so long ago.
func oldID(p domain.Prefix, age time.Duration) domain.ID {
	id := sample.ID(p)
	return domain.ID(string(p) + fmt.Sprintf("%012x", time.Now().Add(-age).UnixMilli()) + id.Hex()[12:])
}

const month = 30 * 24 * time.Hour

// bookOld books a delivery whose event has such an age.
func bookOld(t testing.TB, s *gormstore.Store, tenant domain.Tenant, age time.Duration) domain.ID {
	t.Helper()
	w := sample.BookingWrite(tenant)
	d, event := domain.Book(w.Delivery.Booking, oldID(domain.PrefixEvent, age))
	w.Delivery, w.Event = d, sample.Published(event)
	if err := s.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return event.ID
}

func TestOldEventsAreCleanedAwayWithWhatBecameOfThem(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			now := sample.Now.Add(24 * time.Hour)
			bookOld(t, s, tenant, month+time.Hour) // for no endpoint
			e := insertEndpoint(t, s, tenant)
			other := insertEndpoint(t, s, tenant)
			off := insertEndpoint(t, s, tenant, func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledByCaller })

			var old, recent []domain.ID
			for range 3 {
				old = append(old, bookOld(t, s, tenant, month+time.Minute))
				recent = append(recent, bookOld(t, s, tenant, month-time.Minute))
			}
			// All but one of the old ones are over; the last is pending for one endpoint.
			token := sample.ID("").Hex()
			if _, leased, err := s.Outbox().Lease(t.Context(), e.ID, token, time.Minute); !leased || err != nil {
				t.Fatal(leased, err)
			}
			due, err := s.Outbox().Due(t.Context(), e.ID, now, 100)
			if err != nil {
				t.Fatal(err)
			}
			var outcomes []ports.WebhookOutcome
			for _, w := range due {
				if w.EventID != old[2] {
					outcomes = append(outcomes, sample.WebhookOutcome(w.WebhookDelivery, sample.Arrived(now), now))
				}
			}
			if err := s.Outbox().Record(t.Context(), e.ID, token, outcomes, domain.WebhookHealth{}); err != nil {
				t.Fatal(err)
			}
			exec(t, s, "UPDATE webhook_deliveries SET status = 'failed', due_at = NULL WHERE endpoint_id = '"+other.ID.Hex()+"'")
			// What a transaction beside the disabling made pending.
			exec(t, s, "UPDATE webhook_deliveries SET status = 'pending', due_at = created_at WHERE endpoint_id = '"+off.ID.Hex()+"'")

			rounds := 0
			for more := true; more; rounds++ {
				if _, more, err = s.PurgeExpired(t.Context(), 2); err != nil || rounds > 20 {
					t.Fatal(rounds, err)
				}
			}
			if rounds < 3 {
				t.Errorf("all went in %d rounds of 2", rounds)
			}
			for what, want := range map[string]int{
				"feed_events":        len(recent) + 1,
				"webhook_deliveries": 3*len(recent) + 1,
				"webhook_deliveries WHERE status = 'held'":   len(recent),
				"webhook_deliveries WHERE status = 'failed'": len(recent),
				"webhook_attempts":                           len(recent),
				"webhook_endpoints":                          3,
				"delivery_events":                            1 + len(old) + len(recent),
			} {
				if got := count(t, s, what); got != want {
					t.Errorf("%d of %s are left, want %d", got, what, want)
				}
			}
			if due, err := s.Outbox().Due(t.Context(), e.ID, now, 100); err != nil || len(due) != 1 || due[0].EventID != old[2] {
				t.Errorf("due %v (%v), want the old one that nobody got yet", due, err)
			}
			if n, more, err := s.PurgeExpired(t.Context(), 2); n != 0 || more || err != nil {
				t.Errorf("purged %d more (%v)", n, err)
			}
		})
	}
}

func TestADeletedEndpointGoesWithAllThatIsItsOwn(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			gone, stays := insertEndpoint(t, s, tenant), insertEndpoint(t, s, tenant)
			dead := insertEndpoint(t, s, tenant, func(e *domain.WebhookEndpoint) { e.URL, e.Listener = "", true })
			alive := insertEndpoint(t, s, tenant, func(e *domain.WebhookEndpoint) { e.URL, e.Listener = "", true })
			for range 3 {
				bookOld(t, s, tenant, 0)
			}
			if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Webhooks.DeleteEndpoint(ctx, tenant, gone.ID)
			}); err != nil {
				t.Fatal(err)
			}
			// What a transaction beside the deletion made pending, and a log.
			of := "endpoint_id, business_id, event_id, event_type, delivery_id, sequence, status, attempts, used, due_at, trigger, back, created_at"
			exec(t, s, "INSERT INTO webhook_deliveries (id, "+of+") SELECT '"+sample.ID("").Hex()+"', '"+gone.ID.Hex()+"'"+
				strings.TrimPrefix(of, "endpoint_id")+" FROM webhook_deliveries LIMIT 1")
			exec(t, s, "INSERT INTO webhook_attempts SELECT '"+sample.ID("").Hex()+"', business_id, id, 1, 'schedule', 200, '', 1, '', created_at, NULL"+
				" FROM webhook_deliveries WHERE endpoint_id = '"+gone.ID.Hex()+"'")
			if _, err := s.Outbox().Renew(t.Context(), dead.ID, dead.ID.Hex(), -time.Second); err != nil {
				t.Fatal(err)
			}
			purge := func() {
				t.Helper()
				for more := true; more; {
					var err error
					if _, more, err = s.PurgeExpired(t.Context(), 2); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := func(what string, want int) {
				t.Helper()
				if got := count(t, s, what); got != want {
					t.Errorf("%d of %s, want %d", got, what, want)
				}
			}
			purge()
			want("webhook_deliveries", 6)
			want("webhook_attempts", 0)
			want("webhook_endpoints", 4) // a transaction may still write beside the deletion
			want("webhook_endpoints WHERE slot IS NULL", 2)
			exec(t, s, "UPDATE webhook_endpoints SET updated_at = '2020-02-20T20:20:20.020Z' WHERE slot IS NULL")
			purge()
			want("webhook_endpoints", 2)
			want("webhook_deliveries", 6)
			for _, e := range []domain.WebhookEndpoint{stays, alive} {
				if _, err := s.Read().Webhooks.Endpoint(t.Context(), tenant, e.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A dump keeps positions, and a new cluster counts its transactions from lower on.
func TestTheFeedGoesOnWhereADatabaseWasRestored(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	before := open(t, url)
	tenant := newTenant(t, before)
	first := bookOld(t, before, tenant, 0)
	exec(t, before, "UPDATE feed_events SET position = position + 1000000000000")
	var after *domain.FeedPosition
	for i, s := range []*gormstore.Store{open(t, url), open(t, url)} {
		next := bookOld(t, s, tenant, 0)
		want := []domain.ID{next}
		if i == 0 {
			want = []domain.ID{first, next}
		}
		var got []domain.ID
		for deadline := time.Now().Add(time.Minute); len(got) < len(want) && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			page, err := s.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, after, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Events {
				got = append(got, e.ID)
			}
			after = &page.Next
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the feed goes on with %v, want %v", got, want)
		}
	}
}

// What a receiver that was away for days has left is more than one statement
// can change in its time: the janitor does the rest.
func TestLongAnEndpointWithALongBacklogIsDisabledAndDeletedInTime(t *testing.T) {
	const backlog, atOnce = 10_500, 10_000
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			off, gone := insertEndpoint(t, s, tenant), insertEndpoint(t, s, tenant)
			for _, e := range []domain.WebhookEndpoint{off, gone} {
				for range backlog / 500 {
					rows := make([]string, 500)
					for i := range rows {
						id := sample.ID("").Hex()
						rows[i] = "('" + id + "', '" + e.Tenant.BusinessID.Hex() + "', '" + e.ID.Hex() + "', '" + id + "', 'delivery.created', 1, " +
							"'pending', 1, 1, '2026-11-21T10:00:00.000Z', " +
							"'schedule', '', '2026-11-21T10:00:00.000Z')"
					}
					exec(t, s, "INSERT INTO webhook_deliveries (id, business_id, endpoint_id, event_id, event_type, sequence, status, attempts, used, "+
						"due_at, trigger, back, created_at) VALUES "+
						strings.Join(rows, ", "))
				}
			}
			off.Enabled, off.Disabled = false, domain.DisabledByCaller
			if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return errors.Join(tx.Webhooks.UpdateEndpoint(ctx, off), tx.Webhooks.DeleteEndpoint(ctx, tenant, gone.ID))
			}); err != nil {
				t.Fatal(err)
			}
			want := func(held, of int) {
				t.Helper()
				for what, want := range map[string]int{
					"webhook_deliveries WHERE status = 'held' AND endpoint_id = '" + off.ID.Hex() + "'": held,
					"webhook_deliveries WHERE endpoint_id = '" + gone.ID.Hex() + "'":                    of,
				} {
					if got := count(t, s, what); got != want {
						t.Errorf("%d of %s, want %d", got, what, want)
					}
				}
			}
			want(atOnce, backlog-atOnce)
			if waiting, err := s.Outbox().Waiting(t.Context(), time.Now().Add(time.Hour), 0, 10); err != nil || len(waiting) != 0 {
				t.Errorf("%v wait (%v), want none", waiting, err)
			}
			for more := true; more; {
				var err error
				if _, more, err = s.PurgeExpired(t.Context(), 200); err != nil {
					t.Fatal(err)
				}
			}
			want(backlog, 0)
		})
	}
}

// A clock that jumps, of the database even, must not empty the feed, however many
// processes clean and however often they are started.
func TestCleaningTakesADaysWorthAtOnceAtMost(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			insertEndpoint(t, s, tenant)
			for _, days := range []time.Duration{60, 50, 40, 1} {
				bookOld(t, s, tenant, days*24*time.Hour)
			}
			exec(t, s, "UPDATE webhook_deliveries SET status = 'failed', due_at = NULL")
			clean := func(left int) {
				t.Helper()
				for range 5 {
					process := openWith(t, s.URL(), gormstore.Options{})
					if _, _, err := process.PurgeExpired(t.Context(), 100); err != nil {
						t.Fatal(err)
					}
				}
				for _, table := range []string{"feed_events", "webhook_deliveries"} {
					if got := count(t, s, table); got != left {
						t.Errorf("%d of %s are left of four that are 60, 50, 40 days and a day old, want %d", got, table, left)
					}
				}
			}
			clean(3)
			longAgo := time.Now().UTC().Add(-1000 * time.Hour).Format(domain.TimeLayout)
			exec(t, s, "UPDATE retention_windows SET opened_at = '"+longAgo+"'")
			clean(2)
		})
	}
}

// Leases and circuits that reach further than any does are from before the clock of
// the database was set back.
func TestWhatIsHeldForAnHourWasHeldBeforeTheClockWasSetBack(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			e := insertEndpoint(t, s, tenant)
			bookOld(t, s, tenant, time.Hour)
			o, dead, next := s.Outbox(), sample.ID("").Hex(), sample.ID("").Hex()
			if _, leased, err := o.Lease(t.Context(), e.ID, dead, 6*time.Second); err != nil || !leased {
				t.Fatal(leased, err)
			}
			ahead := time.Now().UTC().Add(1000 * time.Hour).Format(domain.TimeLayout)
			exec(t, s, "UPDATE webhook_leases SET leased_until = '"+ahead+"'")
			exec(t, s, "UPDATE webhook_endpoints SET open_until = '"+ahead+"'")
			if waiting, err := o.Waiting(t.Context(), time.Now().UTC().Add(2000*time.Hour), 0, 10); err != nil || len(waiting) != 1 {
				t.Errorf("%v wait (%v), want the endpoint", waiting, err)
			}
			if _, leased, err := o.Lease(t.Context(), e.ID, next, 6*time.Second); err != nil || !leased {
				t.Errorf("leased %t (%v), want yes", leased, err)
			}
			hold := abandonBulk(t, s, tenant, 1, 5*time.Second, time.Hour)
			exec(t, s, "UPDATE idempotency_keys SET leased_until = '"+ahead+"', expires_at = '"+ahead+"'")
			record, err := s.Read().Idempotency.Find(t.Context(), tenant, hold.Key)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Bulks.Claim(ctx, tenant, record, next, 5*time.Second, time.Hour)
				return err
			}); err != nil {
				t.Errorf("the bulk whose process died: %v", err)
			}
		})
	}
}
