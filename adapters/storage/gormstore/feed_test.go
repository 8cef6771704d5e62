package gormstore_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// feedStorm is for how long the feed is written and read: short, unless
// WAYBILL_STORM=full asks for the whole.
func feedStorm() time.Duration {
	if os.Getenv("WAYBILL_STORM") == "full" {
		return time.Minute
	}
	return 3 * time.Second
}

// feedReader reads up to limit events behind the last one it saw.
type feedReader func(ctx context.Context, s *gormstore.Store, t domain.Tenant, after domain.FeedEvent, limit int) ([]domain.FeedEvent,
	error)

func theFeed(ctx context.Context, s *gormstore.Store, t domain.Tenant, after domain.FeedEvent, limit int) ([]domain.FeedEvent, error) {
	var from *domain.FeedPosition
	if after.ID != "" {
		from = &after.Position
	}
	page, err := s.Read().Feed.Events(ctx, t, domain.FeedFilter{}, from, limit)
	return page.Events, err
}

// mutantFeed reads with one rule broken.
func mutantFeed(where, order string, position func(domain.FeedEvent) []any) feedReader {
	return func(ctx context.Context, s *gormstore.Store, t domain.Tenant, after domain.FeedEvent, limit int) ([]domain.FeedEvent, error) {
		_, read := s.Pools()
		rows, err := read.QueryContext(ctx, "SELECT id, delivery_id, sequence, position FROM feed_events WHERE application_id = $1 AND "+where+
			" ORDER BY "+order+" LIMIT 100", append([]any{t.ApplicationID.Hex()}, position(after)...)...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var events []domain.FeedEvent
		for rows.Next() {
			var id, delivery string
			var e domain.FeedEvent
			if err := rows.Scan(&id, &delivery, &e.Sequence, &e.Position.Commit); err != nil {
				return nil, err
			}
			e.ID = domain.ID("evt_" + strings.ReplaceAll(id, "-", ""))
			e.DeliveryID = domain.ID("dlv_" + strings.ReplaceAll(delivery, "-", ""))
			e.Position.Sequence, e.Position.ID = e.Sequence, e.ID
			events = append(events, e)
		}
		return events, rows.Err()
	}
}

const noID = "00000000000000000000000000000000"

var byIDAlone = mutantFeed("id > $2", "id", func(e domain.FeedEvent) []any {
	if e.ID == "" {
		return []any{noID}
	}
	return []any{e.ID.Hex()}
})

var withoutBound = mutantFeed("(position, sequence, id) > ($2, $3, $4)", "position, sequence, id", func(e domain.FeedEvent) []any {
	if e.ID == "" {
		return []any{0, 0, noID}
	}
	return []any{e.Position.Commit, e.Sequence, e.ID.Hex()}
})

func TestReadersOfTheFeedMissNothingWhileItIsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("writes for seconds; left out in short mode")
	}
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := storm(t, s, theFeed, feedStorm(), 20*time.Second)
			t.Logf("%d events", o.written)
			if o.written < 20 || o.missed+o.doubled+o.misplaced > 0 {
				t.Errorf("of %d events readers missed %d, saw %d twice and %d out of their delivery's order", o.written, o.missed, o.doubled,
					o.misplaced)
			}
		})
	}
}

// What a storm finds in readers that are wrong shows what it would find in ours.
func TestTheStormNoticesReadersThatGoByIDOrWithoutABound(t *testing.T) {
	if testing.Short() {
		t.Skip("writes for seconds; left out in short mode")
	}
	for name, c := range map[string]struct {
		open func(testing.TB) *gormstore.Store
		read feedReader
	}{
		"by ID on SQLite":            {openSQLite, byIDAlone},
		"by ID on Postgres":          {openPostgres, byIDAlone},
		"without bound, on Postgres": {openPostgres, withoutBound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.open(t)
			for range 5 {
				if o := storm(t, s, c.read, time.Second, time.Second); o.missed > 0 {
					t.Logf("of %d events %d missed", o.written, o.missed)
					return
				}
			}
			t.Error("nothing was missed, with that bug in the reader")
		})
	}
}

type stormOutcome struct{ written, missed, doubled, misplaced int }

// storm has eight writers with slow transactions, and four readers that go on
// from where they are, and wait for the last events for a while.
func storm(t *testing.T, s *gormstore.Store, read feedReader, lasting, patience time.Duration) (o stormOutcome) {
	tenant := newTenant(t, s)
	first := sample.BookingWrite(tenant)
	if err := s.Book(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	written := map[domain.ID]bool{first.Event.ID: true}
	wrote := func(id domain.ID) {
		mu.Lock()
		defer mu.Unlock()
		written[id] = true
	}
	end, over := time.Now().Add(lasting), make(chan struct{})
	var writers, readers sync.WaitGroup
	var shared []domain.ID // deliveries that several writers move
	for range 4 {
		w := sample.BookingTo(tenant, first.Recipient, first.Address)
		if err := s.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		wrote(w.Event.ID)
		shared = append(shared, w.Delivery.ID)
	}
	for range 8 {
		writers.Go(func() {
			for time.Now().Before(end) {
				w := sample.BookingTo(tenant, first.Recipient, first.Address)
				time.Sleep(rand.N(2 * time.Millisecond)) // between its IDs and its transaction
				if err := s.Book(t.Context(), w); err != nil {
					t.Error(err)
					return
				}
				wrote(w.Event.ID)
				id, err := stormMove(t.Context(), s, tenant, shared[rand.N(len(shared))])
				if err != nil {
					t.Error(err)
					return
				}
				wrote(id)
			}
		})
	}
	seen := make([][]domain.FeedEvent, 4)
	for i := range seen {
		readers.Go(func() {
			var last domain.FeedEvent
			for ending := false; ; {
				events, err := read(t.Context(), s, tenant, last, 100)
				if err != nil {
					t.Error(err)
					return
				}
				if len(events) > 0 {
					seen[i], last = append(seen[i], events...), events[len(events)-1]
					continue
				}
				if ending {
					return
				}
				select {
				case <-over:
					// Whatever else the server does may keep the last ones back.
					mu.Lock()
					ending = len(seen[i]) >= len(written) || time.Since(end) > patience
					mu.Unlock()
				default:
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	writers.Wait()
	close(over)
	readers.Wait()
	o.written = len(written)
	for _, events := range seen {
		found, sequences := map[domain.ID]bool{}, map[domain.ID]int{}
		for _, e := range events {
			if found[e.ID] {
				o.doubled++
			}
			found[e.ID] = true
			if e.Sequence != sequences[e.DeliveryID]+1 {
				o.misplaced++
			}
			sequences[e.DeliveryID] = e.Sequence
		}
		o.missed += len(written) - len(found)
	}
	return o
}

// stormMove takes a number for the transaction first, and then its time.
func stormMove(ctx context.Context, s *gormstore.Store, tenant domain.Tenant, id domain.ID) (moved domain.ID, err error) {
	err = s.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		moved = ""
		if err := tx.Idempotency.Claim(ctx, tenant, sample.KeyRecord(), time.Hour); err != nil {
			return err
		}
		d, err := tx.Deliveries.Lock(ctx, tenant, id)
		if err != nil {
			return err
		}
		time.Sleep(rand.N(time.Millisecond))
		to := domain.Assigned
		if d.Status() == domain.Assigned {
			to = domain.Failed // and back, for ever
		}
		event, err := d.Move(to, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now)
		if err != nil {
			return err
		}
		moved = event.ID
		return tx.Deliveries.Update(ctx, tenant, d, sample.Published(event))
	})
	return moved, err
}
