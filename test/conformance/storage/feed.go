package storage

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// feedOf reads the feed of a tenant until it has so many events, as a reader that
// goes on from the last event it saw. An event may take a while to be listed:
// until whatever else takes part in the feed has ended.
func feedOf(t testing.TB, b ports.Database, tenant domain.Tenant, n int) []domain.FeedEvent {
	t.Helper()
	var found []domain.FeedEvent
	var after *domain.FeedPosition
	for deadline := time.Now().Add(time.Minute); len(found) < n; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d events in the feed, want %d", len(found), n)
		}
		found, after = readOn(t, b, tenant, found, after)
	}
	return found
}

// readOn reads what there is behind a position, in pages of two.
func readOn(t testing.TB, b ports.Database, tenant domain.Tenant, found []domain.FeedEvent, after *domain.FeedPosition) ([]domain.FeedEvent,
	*domain.FeedPosition) {
	t.Helper()
	return readFiltered(t, b, tenant, domain.FeedFilter{}, found, after)
}

func readFiltered(t testing.TB, b ports.Database, tenant domain.Tenant, f domain.FeedFilter, found []domain.FeedEvent,
	after *domain.FeedPosition) ([]domain.FeedEvent, *domain.FeedPosition) {
	t.Helper()
	for {
		page := must(b.Read().Feed.Events(t.Context(), tenant, f, after, 2))(t)
		if len(page.Events) > 2 {
			t.Fatalf("a page of 2 has %d events", len(page.Events))
		}
		found, after = append(found, page.Events...), &page.Next
		if !page.More {
			return found, after
		}
	}
}

func eventIDs(events []domain.FeedEvent) []domain.ID {
	ids := make([]domain.ID, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return ids
}

// shortly runs what may have to wait for the caller's own transaction: it tells
// whether that ended within a moment. done is its error, in the end.
func shortly(run func() error) (ended bool, done <-chan error) {
	result := make(chan error, 1)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		result <- run()
	}()
	select {
	case <-finished:
		return true, result
	case <-time.After(300 * time.Millisecond):
		return false, result
	}
}

func testFeed(t *testing.T, b ports.Database) {
	events := func(t *testing.T, tenant domain.Tenant, f domain.FeedFilter) []domain.ID {
		t.Helper()
		whole := eventIDs(must(b.Read().Feed.Events(t.Context(), tenant, f, nil, 1000))(t).Events)
		paged, _ := readFiltered(t, b, tenant, f, nil, nil)
		wantEqual(t, "the same by pages", eventIDs(paged), whole)
		return whole
	}

	t.Run("an event is listed as it was published, behind those before it", func(t *testing.T) {
		tenant := newTenant(t, b)
		others := []domain.Tenant{live(tenant), newSibling(t, b, tenant), newTenant(t, b)}
		first := bookWrite(t, b, sample.BookingWrite(tenant))
		for _, other := range others {
			bookWrite(t, b, sample.BookingWrite(other))
		}
		second := bookWrite(t, b, sample.BookingWrite(tenant))
		e := insertEndpoint(t, b, tenant)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { // of endpoints nothing is listed
			_, err := tx.Webhooks.PublishTo(ctx, e, sample.EndpointEvent(domain.EventEndpointTest))
			return err
		})
		d, assigned, err := moveLocked(t.Context(), b, tenant, first.Delivery.ID, domain.Assigned)
		if err != nil {
			t.Fatal(err)
		}
		got := feedOf(t, b, tenant, 3)
		for i, want := range []ports.EventWrite{first.Event, second.Event, sample.Published(assigned)} {
			wantEqual(t, "the position's rest", got[i].Position, domain.FeedPosition{Commit: got[i].Position.Commit, Sequence: want.Sequence,
				ID: want.ID})
			got[i].Position = domain.FeedPosition{}
			wantEqual(t, "the event", got[i], domain.FeedEvent{
				ID: want.ID, Type: want.Type, DeliveryID: want.DeliveryID, Sequence: want.Sequence, OccurredAt: want.OccurredAt, Payload: want.Payload,
			})
		}
		wantEqual(t, "events", len(got), 3)
		for _, other := range others {
			wantEqual(t, "events of another", len(feedOf(t, b, other, 1)), 1)
		}

		at := func(offset time.Duration) *time.Time { return new(sample.Now.Add(offset)) }
		ids := []domain.ID{first.Event.ID, second.Event.ID, assigned.ID}
		for name, c := range map[string]struct {
			f    domain.FeedFilter
			want []domain.ID
		}{
			"a type":               {domain.FeedFilter{Type: "delivery.created"}, ids[:2]},
			"another type":         {domain.FeedFilter{Type: "delivery.failed"}, nil},
			"what no type can be":  {domain.FeedFilter{Type: "a\x00b"}, nil},
			"of endpoints":         {domain.FeedFilter{Type: domain.EventEndpointTest}, nil},
			"a delivery":           {domain.FeedFilter{DeliveryID: d.ID}, []domain.ID{ids[0], ids[2]}},
			"a delivery by type":   {domain.FeedFilter{DeliveryID: d.ID, Type: "delivery.assigned"}, ids[2:]},
			"what is no delivery":  {domain.FeedFilter{DeliveryID: "nonsense"}, nil},
			"no such delivery":     {domain.FeedFilter{DeliveryID: sample.ID(domain.PrefixDelivery)}, nil},
			"after":                {domain.FeedFilter{CreatedAfter: at(time.Hour)}, ids[2:]},
			"just after":           {domain.FeedFilter{CreatedAfter: at(time.Hour + 1)}, nil},
			"after the beginning":  {domain.FeedFilter{CreatedAfter: new(time.Time{})}, ids},
			"after, of a delivery": {domain.FeedFilter{CreatedAfter: at(time.Minute), DeliveryID: d.ID}, ids[2:]},
		} {
			wantEqual(t, name, events(t, tenant, c.f), append([]domain.ID{}, c.want...))
		}
		for _, other := range others {
			wantEqual(t, "another's delivery", events(t, other, domain.FeedFilter{DeliveryID: d.ID}), []domain.ID{})
		}
	})

	t.Run("events of one transaction keep their order", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.SimulatedWrite(tenant))
		var want []domain.ID
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			want = []domain.ID{w.Event.ID}
			d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
			if err != nil {
				return err
			}
			var happened []domain.Event
			for range 3 {
				next, err := nextStep(d)
				if err != nil {
					return err
				}
				happened = append(happened, next...)
				want = append(want, next[0].ID)
			}
			return tx.Deliveries.Update(ctx, tenant, d, sample.AllPublished(happened)...)
		})
		wantEqual(t, "the feed", eventIDs(feedOf(t, b, tenant, 4)), want)
	})

	t.Run("a transaction that began before others and ends behind them is not passed over", func(t *testing.T) {
		tenant := newTenant(t, b)
		early := bookWrite(t, b, sample.BookingWrite(tenant))
		seen := feedOf(t, b, tenant, 1)
		after := &seen[0].Position
		var event domain.Event
		var others []<-chan error
		late := []ports.BookingWrite{sample.BookingWrite(tenant), sample.BookingWrite(tenant), sample.BookingWrite(tenant)}
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			// From its first statement on it has a place among the transactions.
			if err := tx.Idempotency.Claim(ctx, tenant, sample.KeyRecord(), time.Hour); err != nil {
				return err
			}
			for _, w := range late {
				ended, done := shortly(func() error { return b.Book(t.Context(), w) })
				if others = append(others, done); !ended {
					break // where there is one writer it waits
				}
			}
			seen, after = readOn(t, b, tenant, seen, after)
			d, err := tx.Deliveries.Lock(ctx, tenant, early.Delivery.ID)
			if err != nil {
				return err
			}
			if event, err = d.Move(domain.Assigned, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now); err != nil {
				return err
			}
			if err := tx.Deliveries.Update(ctx, tenant, d, sample.Published(event)); err != nil {
				return err
			}
			seen, after = readOn(t, b, tenant, seen, after)
			return nil
		})
		want := []domain.ID{early.Event.ID, event.ID}
		for i, done := range others {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			want = append(want, late[i].Event.ID)
		}
		for deadline := time.Now().Add(time.Minute); len(seen) < len(want) && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			seen, after = readOn(t, b, tenant, seen, after)
		}
		got := eventIDs(seen)
		slices.Sort(got)
		slices.Sort(want)
		wantEqual(t, "what the reader saw", got, want)
	})

	t.Run("what occurred since a time is listed, whatever from before is committed behind it", func(t *testing.T) {
		at := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond) // long before what other tests make
		made := func(offset time.Duration) domain.ID {
			id := [16]byte(must(hex.DecodeString(sample.ID("").Hex()))(t))
			copy(id[:6], binary.BigEndian.AppendUint64(nil, uint64(at.Add(offset).UnixMilli()))[2:])
			return domain.MakeID(domain.PrefixEvent, id)
		}
		tenant, e, committed := newTenant(t, b), insertEndpoint(t, b, newTenant(t, b)), 0
		// commit adds an event that occurred then, and crowd very many of another
		// tenant.
		commit := func(offset time.Duration) domain.ID {
			w := sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = at.Add(offset) })
			w.Event.ID = made(offset)
			committed++
			return bookWrite(t, b, w).Event.ID
		}
		crowd := func(offset time.Duration) {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				for range 300 {
					event := sample.EndpointEvent(domain.EventEndpointTest)
					event.ID, event.OccurredAt = made(offset), at.Add(offset)
					if _, err := tx.Webhooks.PublishTo(ctx, e, event); err != nil {
						return err
					}
				}
				return nil
			})
		}
		list := func(what string, want ...domain.ID) {
			t.Helper()
			want = append(want, commit(time.Millisecond))
			feedOf(t, b, tenant, committed)
			wantEqual(t, what, events(t, tenant, domain.FeedFilter{CreatedAfter: &at}), want)
		}

		first := commit(0)
		commit(-time.Hour)
		list("few events", first)

		at = at.Add(30 * time.Minute)
		crowd(-20 * time.Minute)
		first = commit(0)
		commit(-11 * time.Minute)
		crowd(-9 * time.Minute)
		commit(-time.Millisecond)
		list("many events", first)
	})

	t.Run("within a delivery the order is that of sequence, whichever transaction began first", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		move := func(ctx context.Context, tx ports.Stores) error {
			d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
			if err != nil {
				return err
			}
			to := map[int]domain.Status{1: domain.Assigned, 2: domain.PickedUp, 3: domain.InTransit, 4: domain.Delivered}[d.Lifecycle().Sequence]
			event, err := d.Move(to, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now)
			if err != nil {
				return err
			}
			return tx.Deliveries.Update(ctx, tenant, d, sample.Published(event))
		}
		for range 2 {
			var other <-chan error
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				if err := tx.Idempotency.Claim(ctx, tenant, sample.KeyRecord(), time.Hour); err != nil {
					return err
				}
				_, other = shortly(func() error { return b.InTx(t.Context(), move) })
				return move(ctx, tx)
			})
			if err := <-other; err != nil {
				t.Fatal(err)
			}
		}
		var order []int
		for _, e := range feedOf(t, b, tenant, 5) {
			order = append(order, e.Sequence)
		}
		wantEqual(t, "the order", order, []int{1, 2, 3, 4, 5})
	})
}
