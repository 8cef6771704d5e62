package gormstore_test

import (
	"context"
	"math/rand/v2"
	"os"
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

func theFeed(ctx context.Context, s *gormstore.Store, t domain.Tenant, after domain.FeedEvent, limit int) ([]domain.FeedEvent, error) {
	var from *domain.FeedPosition
	if after.ID != "" {
		from = &after.Position
	}
	page, err := s.Read().Feed.Events(ctx, t, domain.FeedFilter{}, from, limit)
	return page.Events, err
}

func TestLongReadersOfTheFeedMissNothingWhileItIsWritten(t *testing.T) {
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			if name == "Postgres" {
				foreignTransaction(t, s.URL())
			}
			o := storm(t, s, feedStorm())
			t.Logf("%d events", o.written)
			if o.written < 20 || o.missed+o.doubled+o.misplaced+o.otherwise > 0 {
				t.Errorf("of %d events readers missed %d, saw %d twice, %d out of their delivery's order and %d in another order than the first reader",
					o.written, o.missed, o.doubled, o.misplaced, o.otherwise)
			}
		})
	}
}

type stormOutcome struct{ written, missed, doubled, misplaced, otherwise int }

// storm has eight writers with slow transactions, and four readers that go on
// from where they are, and wait for the last events for a minute. Beside them a transaction of
// somebody else stays open.
func storm(t *testing.T, s *gormstore.Store, lasting time.Duration) (o stormOutcome) {
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
				events, err := theFeed(t.Context(), s, tenant, last, 100)
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
					ending = len(seen[i]) >= len(written) || time.Since(end) > time.Minute
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
		for n, e := range events {
			if found[e.ID] {
				o.doubled++
			}
			if n < len(seen[0]) && seen[0][n].ID != e.ID {
				o.otherwise++
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
