package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// readable waits until the feed of a tenant has an event.
func readable(t testing.TB, s *gormstore.Store, tenant domain.Tenant, want domain.ID) {
	t.Helper()
	await(t, func() bool {
		return slices.Contains(eventIDsOf(feedPage(t, s, tenant, nil)), want)
	})
}

// foreignTransaction writes in a database and stays open until the test ends.
func foreignTransaction(t testing.TB, url string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(tx.Rollback(), db.Close()) })
	if _, err := tx.ExecContext(t.Context(), "CREATE TABLE someone_elses (x integer)"); err != nil {
		t.Fatal(err)
	}
}

func TestNoForeignTransactionHoldsTheFeedUp(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s := open(t, url)
	tenant := newTenant(t, s)
	foreignTransaction(t, newDatabase(t)) // another database of the same server
	foreignTransaction(t, url)
	for range 5 {
		w := sample.BookingWrite(tenant)
		if err := s.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		readable(t, s, tenant, w.Event.ID)
	}
	if lag, err := s.FeedLag(t.Context()); err != nil || lag != 0 {
		t.Errorf("the lag of the feed is %v (%v), want none", lag, err)
	}
}

// A transaction that takes part in the feed does hold it back, and is seen.
func TestTheLagOfTheFeedIsTheAgeOfTheTransactionThatHoldsItBack(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	tenant := newTenant(t, s)
	e := insertEndpoint(t, s, newTenant(t, s))
	w := sample.BookingWrite(tenant)
	if err := s.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if _, err := tx.Webhooks.PublishTo(ctx, e, sample.EndpointEvent(domain.EventEndpointTest)); err != nil {
			return err
		}
		if err := s.Book(t.Context(), w); err != nil {
			return err
		}
		await(t, func() bool {
			lag, err := s.FeedLag(t.Context())
			return err == nil && lag > 100*time.Millisecond && lag < time.Minute
		})
		page, err := s.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, nil, 10)
		if err != nil || len(page.Events) != 0 {
			t.Errorf("%d events (%v) can be read that the transaction could still come before", len(page.Events), err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	readable(t, s, tenant, w.Event.ID)
	if lag, err := s.FeedLag(t.Context()); err != nil || lag != 0 {
		t.Errorf("the lag of the feed is %v (%v) when all has ended, want none", lag, err)
	}
}

// A process that stops behind its place in the feed, by an event in a transaction or
// by bookings in a batch, holds back everybody's.
func TestTheFeedDoesNotWaitLongForAProcessThatHasStopped(t *testing.T) {
	bothWays(t, func(t *testing.T, direct, url string, o gormstore.Options) {
		o.IdleInTransactionTimeout = 10 * time.Minute
		s, stopped := open(t, direct), openWith(t, url, o)
		tenant := newTenant(t, s)
		e := insertEndpoint(t, s, newTenant(t, s))
		held := func(err error) error {
			if err != nil {
				t.Error(err)
			}
			sessionsGone(t, direct)
			return nil
		}
		if err := stopped.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.PublishTo(ctx, e, sample.EndpointEvent(domain.EventEndpointTest))
			return held(err)
		}); !errors.Is(err, ports.ErrOutcomeUnknown) {
			t.Errorf("a transaction whose session was ended: %v", err)
		}
		stopped.CommitWith(func(tx *sql.Tx) error { return errors.Join(held(nil), tx.Commit()) })
		if err := stopped.Book(t.Context(), sample.BookingWrite(tenant)); !ports.StorageUnavailable(err) {
			t.Errorf("a booking whose session was ended: %v", err)
		}
		w := sample.BookingWrite(tenant)
		if err := s.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		readable(t, s, tenant, w.Event.ID)
	})
}

func TestLongAPageOfANarrowedFeedReadsAFewThousandEventsAndGoesOn(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			many := 20_000
			fillFeed(t, s, tenant, name, many)
			since := time.Now().Add(-time.Minute)
			for what, f := range map[string]domain.FeedFilter{
				"a type that never occurs": {Type: "delivery.failed"},
				"a time":                   {CreatedAfter: &since},
			} {
				var after *domain.FeedPosition
				pages, found := 0, 0
				for more := true; more; pages++ {
					page, err := s.Read().Feed.Events(t.Context(), tenant, f, after, 100)
					if err != nil {
						t.Fatal(err)
					}
					if pages > many {
						t.Fatalf("%s: the pages do not end", what)
					}
					found, after, more = found+len(page.Events), &page.Next, page.More
				}
				if found != 0 || f.Type != "" && (pages < 4 || pages > 6) {
					t.Errorf("%s: %d events in %d pages, want none in about 5", what, found, pages)
				}
				w := sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = time.Now() })
				w.Event.Type = "delivery.failed"
				if err := s.Book(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				page, err := s.Read().Feed.Events(t.Context(), tenant, f, after, 100)
				if err != nil || len(page.Events) != 1 || page.Events[0].ID != w.Event.ID || page.More {
					t.Errorf("%s: behind its end there is %+v (%v), want the one event that came", what, page, err)
				}
				exec(t, s, "DELETE FROM feed_events WHERE type = 'delivery.failed'")
			}
		})
	}
}

// fillFeed stores so many events of one delivery each, an hour old.
func fillFeed(t testing.TB, s *gormstore.Store, tenant domain.Tenant, dialect string, many int) {
	t.Helper()
	id, instant, blob, position := "printf('%%012x70008000%%012x', %d, i)", "'%s'", "zeroblob(600)", "NULL"
	if dialect == "Postgres" {
		id, instant, blob, position = "CAST(lpad(to_hex(%d), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0') AS uuid)",
			"CAST('%s' AS timestamptz)",
			"decode(repeat('ab', 600), 'hex')", "nextval('feed_positions')"
	}
	at := time.Now().Add(-time.Hour)
	id, instant = fmt.Sprintf(id, at.UnixMilli()), fmt.Sprintf(instant, domain.FormatTime(at))
	exec(t, s, fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"+
		" INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at, position, payload)"+
		" SELECT %s, '%s', '%s', 'sandbox', %s, 1, 'delivery.created', %s, %s, %s FROM n", many, id, tenant.BusinessID.Hex(),
		tenant.ApplicationID.Hex(), id, instant, position, blob))
}

func TestACursorBehindWhichEventsWereDeletedHasExpired(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			empty := feedPage(t, s, tenant, nil)
			old := []domain.ID{bookOld(t, s, tenant, 40*24*time.Hour), bookOld(t, s, tenant, 39*24*time.Hour),
				bookOld(t, s, tenant, 38*24*time.Hour)}
			whole := feedPage(t, s, tenant, nil)
			if got := eventIDsOf(whole); !slices.Equal(got, old) {
				t.Fatalf("the feed has %v, want %v", got, old)
			}
			exec(t, s, "DELETE FROM webhook_deliveries")
			// The first one goes with the oldest day; the others stay for now.
			for more := true; more; {
				var err error
				if _, more, err = s.PurgeExpired(t.Context(), 100); err != nil {
					t.Fatal(err)
				}
			}
			left := eventIDsOf(feedPage(t, s, tenant, nil))
			if len(left) == len(old) || !slices.Equal(left, old[len(old)-len(left):]) {
				t.Fatalf("cleaning left %v of %v", left, old)
			}
			gone := len(old) - len(left)
			lastGone, firstGone := whole.Events[gone-1].Position, domain.FeedPosition{Commit: whole.Events[0].Position.Commit - 1,
				ID: sample.ID(domain.PrefixEvent)}
			if got := eventIDsOf(feedPage(t, s, tenant, &lastGone)); !slices.Equal(got, left) {
				t.Errorf("behind the last one that was deleted there is %v, want %v", got, left)
			}
			for what, cursor := range map[string]domain.FeedPosition{"from before it": firstGone, "of an empty feed": empty.Next} {
				_, err := s.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, &cursor, 10)
				wantExpired(t, what, err, len(left) > 0)
			}
			next := bookOld(t, s, tenant, 0)
			from := feedPage(t, s, tenant, &whole.Next)
			if got := eventIDsOf(from); !slices.Equal(got, []domain.ID{next}) {
				t.Errorf("a cursor that has seen all goes on with %v, want %s", got, next)
			}
			again := feedPage(t, s, tenant, nil) // begins again
			if _, err := s.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, &again.Next, 10); err != nil {
				t.Errorf("the cursor of a new beginning: %v", err)
			}
		})
	}
}

// A database that was brought back to an earlier state does not have the event of a
// newer cursor, however far its feed has come since.
func TestACursorOfALostHistoryHasExpired(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tenant := newTenant(t, s)
			first := bookOld(t, s, tenant, 0)
			kept := feedPage(t, s, tenant, nil)
			lost := bookOld(t, s, tenant, 0)
			newer := feedPage(t, s, tenant, nil)
			exec(t, s, "DELETE FROM feed_events WHERE id = '"+lost.Hex()+"'")
			if name == "Postgres" {
				exec(t, s, fmt.Sprintf("SELECT setval('feed_positions', %d)", kept.Next.Commit))
			} else {
				exec(t, s, fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d WHERE name = 'feed_events'", kept.Next.Commit))
			}
			expired := func(what string) {
				t.Helper()
				_, err := s.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, &newer.Next, 10)
				wantExpired(t, what, err, true)
			}
			expired("ahead of the feed")
			var later []domain.ID
			for range 3 {
				later = append(later, bookOld(t, s, tenant, 0))
			}
			expired("behind new events")
			if got := eventIDsOf(feedPage(t, s, tenant, &kept.Next)); !slices.Equal(got, later) {
				t.Errorf("behind the cursor from before there is %v, want %v", got, later)
			}
			if got := eventIDsOf(feedPage(t, s, tenant, nil)); !slices.Equal(got, append([]domain.ID{first}, later...)) {
				t.Errorf("from the beginning there is %v", got)
			}
		})
	}
}

func feedPage(t testing.TB, s *gormstore.Store, tenant domain.Tenant, after *domain.FeedPosition) domain.FeedPage {
	t.Helper()
	page, err := s.Read().Feed.Events(t.Context(), tenant, domain.FeedFilter{}, after, 100)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func eventIDsOf(page domain.FeedPage) (ids []domain.ID) {
	for _, e := range page.Events {
		ids = append(ids, e.ID)
	}
	return ids
}

func wantExpired(t testing.TB, what string, err error, oldest bool) {
	t.Helper()
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code != domain.CodeCursorExpired {
		t.Errorf("%s: %v, want CURSOR_EXPIRED", what, err)
		return
	}
	if has := e.Details["oldest_available_at"] != nil; has != oldest {
		t.Errorf("%s: oldest_available_at is %v", what, e.Details["oldest_available_at"])
	}
}
