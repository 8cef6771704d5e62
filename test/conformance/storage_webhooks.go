package conformance

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// later is when everything that the samples make pending is due.
var later = sample.Now.Add(24 * time.Hour)

// everything is a page that holds all there is.
var everything = domain.PageRequest{Limit: 1000}

// insertEndpoint stores an endpoint that has to find room.
func insertEndpoint(t testing.TB, b Backend, tenant domain.Tenant, with ...func(*domain.WebhookEndpoint)) domain.WebhookEndpoint {
	t.Helper()
	var stored domain.WebhookEndpoint
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		stored, err = tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant, with...))
		return err
	})
	return stored
}

func disabled(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledByCaller }

func listener(e *domain.WebhookEndpoint) { e.URL, e.Listener = "", true }

func taking(types ...string) func(*domain.WebhookEndpoint) {
	return func(e *domain.WebhookEndpoint) { e.EventTypes = types }
}

func updateEndpoint(t testing.TB, b Backend, e domain.WebhookEndpoint) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		if _, err := tx.Webhooks.LockEndpoint(ctx, e.Tenant, e.ID); err != nil {
			return err
		}
		return tx.Webhooks.UpdateEndpoint(ctx, e)
	})
}

func deleteEndpoint(t testing.TB, b Backend, e domain.WebhookEndpoint) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		return tx.Webhooks.DeleteEndpoint(ctx, e.Tenant, e.ID)
	})
}

// sentTo is everything there is for an endpoint, newest first.
func sentTo(t testing.TB, b Backend, e domain.WebhookEndpoint) []domain.WebhookDelivery {
	t.Helper()
	return must(b.Read().Webhooks.Deliveries(t.Context(), e.Tenant, e.ID, domain.WebhookDeliveryFilter{}, everything))(t)
}

// theOne is the only webhook delivery to an endpoint.
func theOne(t testing.TB, b Backend, e domain.WebhookEndpoint) domain.WebhookDelivery {
	t.Helper()
	all := sentTo(t, b, e)
	if len(all) != 1 {
		t.Fatalf("%d webhook deliveries, want 1", len(all))
	}
	return all[0]
}

// statusesOf counts webhook deliveries by status.
func statusesOf(all []domain.WebhookDelivery) map[domain.WebhookStatus]int {
	counts := map[domain.WebhookStatus]int{}
	for _, d := range all {
		counts[d.Status]++
	}
	return counts
}

// idsOf is sorted.
func idsOf(all []domain.WebhookDelivery) []domain.ID {
	ids := make([]domain.ID, len(all))
	for i, d := range all {
		ids[i] = d.ID
	}
	slices.Sort(ids)
	return ids
}

// changeDelivery changes a webhook delivery as use cases do.
func changeDelivery(t testing.TB, b Backend, tenant domain.Tenant, id domain.ID, change func(*domain.WebhookDelivery)) domain.WebhookDelivery {
	t.Helper()
	var d domain.WebhookDelivery
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		if d, err = tx.Webhooks.LockDelivery(ctx, tenant, id); err != nil {
			return err
		}
		change(&d)
		return tx.Webhooks.UpdateDelivery(ctx, d)
	})
	return d
}

// settled makes a webhook delivery one that nothing is due of any more.
func settled(t testing.TB, b Backend, tenant domain.Tenant, id domain.ID, s domain.WebhookStatus) {
	t.Helper()
	changeDelivery(t, b, tenant, id, func(d *domain.WebhookDelivery) { d.Status, d.DueAt, d.Used = s, nil, 5 })
}

func recovered(t testing.TB, b Backend, e domain.ID, r domain.Recovery, limit int) (queued int, running bool) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		queued, running, err = tx.Webhooks.Recover(ctx, e, r, later, limit)
		return err
	})
	return queued, running
}

func testWebhookEndpoints(t *testing.T, b Backend) {
	read := func() ports.WebhookReader { return b.Read().Webhooks }

	t.Run("an endpoint comes back as it was stored, and as it was changed", func(t *testing.T) {
		tenant := newTenant(t, b)
		bystander := insertEndpoint(t, b, tenant)
		want := sample.WebhookEndpoint(tenant)
		wantFilled(t, want, "WebhookEndpoint.Slot", "WebhookEndpoint.Disabled", "WebhookEndpoint.Listener")
		check := func(want domain.WebhookEndpoint) {
			t.Helper()
			wantEqual(t, "Endpoint", must(read().Endpoint(t.Context(), tenant, want.ID))(t), want)
			list := must(read().Endpoints(t.Context(), tenant, everything))(t)
			wantEqual(t, "Endpoints", list, []domain.WebhookEndpoint{bystander, want})
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				wantEqual(t, "LockEndpoint", must(tx.Webhooks.LockEndpoint(ctx, tenant, want.ID))(t), want)
				return nil
			})
		}
		inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
			want, err = tx.Webhooks.InsertEndpoint(ctx, want)
			return err
		})
		wantEqual(t, "the slot", want.Slot, 1)
		check(want)

		until := sample.Now.Add(time.Minute)
		want.URL, want.Description, want.EventTypes = "https://new.example.com/", "Another", []string{"delivery.created"}
		want.Enabled, want.Disabled, want.UpdatedAt = false, domain.DisabledGone, sample.Now.Add(time.Hour)
		want.Secrets = []domain.SigningSecret{{Sealed: []byte("newer")}, {Sealed: []byte("new"), ExpiresAt: &until}}
		want.Health = domain.WebhookHealth{Failures: 7, FailingSince: &until, OpenUntil: &until, Opened: 5, SlowUntil: &until}
		updateEndpoint(t, b, want)
		check(want)

		want.Enabled, want.Disabled, want.Health = true, "", domain.WebhookHealth{}
		want.Secrets = want.Secrets[:1]
		updateEndpoint(t, b, want)
		check(want)

		deleteEndpoint(t, b, want)
		_, err := read().Endpoint(t.Context(), tenant, want.ID)
		wantError(t, "a deleted endpoint", err, domain.ErrNotFound)
		wantEqual(t, "Endpoints", must(read().Endpoints(t.Context(), tenant, everything))(t), []domain.WebhookEndpoint{bystander})
		for name, call := range map[string]func(context.Context, ports.WebhookStore) error{
			"LockEndpoint": func(ctx context.Context, w ports.WebhookStore) error {
				_, err := w.LockEndpoint(ctx, tenant, want.ID)
				return err
			},
			"UpdateEndpoint": func(ctx context.Context, w ports.WebhookStore) error { return w.UpdateEndpoint(ctx, want) },
			"DeleteEndpoint": func(ctx context.Context, w ports.WebhookStore) error {
				return w.DeleteEndpoint(ctx, tenant, want.ID)
			},
		} {
			err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return call(ctx, tx.Webhooks) })
			wantError(t, name+" of a deleted one", err, domain.ErrNotFound)
		}
	})

	t.Run("the list goes by time, page by page", func(t *testing.T) {
		tenant := newTenant(t, b)
		var want []domain.WebhookEndpoint
		for i := range 7 {
			at := sample.Now.Add(time.Duration(i%3) * time.Second)
			want = append(want, insertEndpoint(t, b, tenant, func(e *domain.WebhookEndpoint) { e.CreatedAt = at }))
		}
		slices.SortFunc(want, func(x, y domain.WebhookEndpoint) int {
			return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
		})
		got := pages(t, 3, func(p domain.PageRequest) ([]domain.WebhookEndpoint, error) {
			return read().Endpoints(t.Context(), tenant, p)
		}, func(e domain.WebhookEndpoint) domain.Position {
			return domain.Position{CreatedAt: e.CreatedAt, ID: e.ID}
		})
		wantEqual(t, "the list", got, want)
	})

	t.Run("an application has so many in an environment and no more", func(t *testing.T) {
		tenant := newTenant(t, b)
		var all []domain.WebhookEndpoint
		for i := range domain.MaxWebhookEndpoints {
			all = append(all, insertEndpoint(t, b, tenant))
			wantEqual(t, "the slot", all[i].Slot, i)
		}
		insert := func() error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant))
				return err
			})
		}
		wantError(t, "one too many", insert(), ports.ErrEndpointLimit)
		for _, other := range []domain.Tenant{live(tenant), newSibling(t, b, tenant), newTenant(t, b)} {
			wantEqual(t, "the slot of another", insertEndpoint(t, b, other).Slot, 0)
		}
		deleteEndpoint(t, b, all[5])
		wantEqual(t, "the slot that was given back", insertEndpoint(t, b, tenant).Slot, 5)
		wantError(t, "one too many again", insert(), ports.ErrEndpointLimit)
	})

	t.Run("many inserts at once keep to the limit, each in a slot of its own", func(t *testing.T) {
		tenant := newTenant(t, b)
		errs := together(40, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant))
				return err
			})
		})
		wantWinners(t, errs, domain.MaxWebhookEndpoints, ports.ErrEndpointLimit)
		slots := map[int]bool{}
		for _, e := range must(read().Endpoints(t.Context(), tenant, everything))(t) {
			slots[e.Slot] = true
		}
		wantEqual(t, "slots", len(slots), domain.MaxWebhookEndpoints)
	})

	t.Run("an endpoint of no application is not found", func(t *testing.T) {
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(sample.Tenant()))
			return err
		})
		wantError(t, "InsertEndpoint", err, domain.ErrNotFound)
	})

	t.Run("a listener is not listed, keeps itself alive, and makes room when it is dead", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant, listener)
		wantEqual(t, "Endpoint", must(read().Endpoint(t.Context(), tenant, e.ID))(t), e)
		wantEqual(t, "Endpoints", len(must(read().Endpoints(t.Context(), tenant, everything))(t)), 0)
		bookWrite(t, b, sample.BookingWrite(tenant))
		due := must(b.Outbox().Due(t.Context(), e.ID, later, 10))(t)
		wantEqual(t, "what it fetches", len(due), 1)

		_, leased, err := b.Outbox().Lease(t.Context(), e.ID, sample.ID("").Hex(), time.Minute)
		if leased || err != nil {
			t.Errorf("somebody leased a listener (%v)", err)
		}
		wantEqual(t, "Renew", must(b.Outbox().Renew(t.Context(), e.ID, e.ID.Hex(), domain.ListenerLife))(t), e)
		second := insertEndpoint(t, b, tenant, listener)
		wantEqual(t, "the slot beside a listener", second.Slot, 1)

		must(b.Outbox().Renew(t.Context(), e.ID, e.ID.Hex(), -time.Second))(t) // it fetched long ago
		third := insertEndpoint(t, b, tenant)
		wantEqual(t, "the slot of the dead one", third.Slot, 0)
		_, err = read().Endpoint(t.Context(), tenant, e.ID)
		wantError(t, "a dead listener", err, domain.ErrNotFound)
		_, err = b.Outbox().Renew(t.Context(), e.ID, e.ID.Hex(), domain.ListenerLife)
		wantError(t, "a dead listener fetches", err, ports.ErrEndpointLost)
		wantEqual(t, "the living one", must(read().Endpoint(t.Context(), tenant, second.ID))(t), second)
	})

	t.Run("what is somebody else's does not exist", func(t *testing.T) {
		owner := newTenant(t, b)
		e := insertEndpoint(t, b, owner)
		bookWrite(t, b, sample.BookingWrite(owner))
		d := theOne(t, b, e)
		sibling := newSibling(t, b, owner)
		for name, other := range map[string]domain.Tenant{
			"another application": sibling, "the other environment": live(owner), "another business": newTenant(t, b),
		} {
			for call, err := range map[string]error{
				"Endpoint": errorOf(read().Endpoint(t.Context(), other, e.ID)),
				"Delivery": errorOf(read().Delivery(t.Context(), other, d.ID)),
				"LockEndpoint": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					return errorOf(tx.Webhooks.LockEndpoint(ctx, other, e.ID))
				}),
				"UpdateEndpoint": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					changed := e
					changed.Tenant, changed.Description = other, "taken over"
					return tx.Webhooks.UpdateEndpoint(ctx, changed)
				}),
				"DeleteEndpoint": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					return tx.Webhooks.DeleteEndpoint(ctx, other, e.ID)
				}),
				"LockDelivery": b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					return errorOf(tx.Webhooks.LockDelivery(ctx, other, d.ID))
				}),
			} {
				wantError(t, call+" by "+name, err, domain.ErrNotFound)
			}
			wantEqual(t, "Endpoints of "+name, len(must(read().Endpoints(t.Context(), other, everything))(t)), 0)
			deliveries := must(read().Deliveries(t.Context(), other, e.ID, domain.WebhookDeliveryFilter{}, everything))(t)
			ofOne := must(read().Deliveries(t.Context(), other, e.ID, domain.WebhookDeliveryFilter{DeliveryID: d.DeliveryID}, everything))(t)
			wantEqual(t, "Deliveries of "+name, len(deliveries)+len(ofOne), 0)
			wantEqual(t, "Attempts of "+name, len(must(read().Attempts(t.Context(), other, d.ID))(t)), 0)
		}
		for _, id := range []domain.ID{"", "whe_", "nonsense", d.ID, sample.ID(domain.PrefixWebhookEndpoint), "whe_\x00\xff"} {
			wantError(t, "Endpoint", errorOf(read().Endpoint(t.Context(), owner, id)), domain.ErrNotFound)
			list, err := read().Deliveries(t.Context(), owner, id, domain.WebhookDeliveryFilter{}, everything)
			if err != nil || len(list) != 0 {
				t.Errorf("Deliveries of %q: %d (%v)", id, len(list), err)
			}
		}
		for _, id := range []domain.ID{"", "whd_", e.ID, sample.ID(domain.PrefixWebhookDelivery)} {
			wantError(t, "Delivery", errorOf(read().Delivery(t.Context(), owner, id)), domain.ErrNotFound)
			list, err := read().Attempts(t.Context(), owner, id)
			if err != nil || len(list) != 0 {
				t.Errorf("Attempts of %q: %d (%v)", id, len(list), err)
			}
		}
		wantEqual(t, "the owner's", must(read().Endpoint(t.Context(), owner, e.ID))(t), e)
	})
}

func errorOf[T any](_ T, err error) error { return err }

func testWebhookFanout(t *testing.T, b Backend) {
	t.Run("each endpoint that takes an event gets it once", func(t *testing.T) {
		tenant := newTenant(t, b)
		all := insertEndpoint(t, b, tenant, taking(domain.AllEvents))
		ofDeliveries := insertEndpoint(t, b, tenant, taking(domain.DeliveryEvents))
		created := insertEndpoint(t, b, tenant, taking("delivery.created"))
		assigned := insertEndpoint(t, b, tenant, taking("delivery.assigned", "delivery.failed"))
		doubly := insertEndpoint(t, b, tenant, taking("delivery.assigned", domain.DeliveryEvents, domain.AllEvents))
		tests := insertEndpoint(t, b, tenant, taking(string(domain.EventEndpointTest)))
		off := insertEndpoint(t, b, tenant, disabled)
		gone := insertEndpoint(t, b, tenant)
		deleteEndpoint(t, b, gone)
		listens := insertEndpoint(t, b, tenant, listener)
		others := []domain.WebhookEndpoint{
			insertEndpoint(t, b, live(tenant)), insertEndpoint(t, b, newSibling(t, b, tenant)), insertEndpoint(t, b, newTenant(t, b)),
		}
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		d, second, err := moveLocked(t.Context(), b, tenant, w.Delivery.ID, domain.Assigned)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			e      domain.WebhookEndpoint
			events []domain.Event // newest first
		}{
			{"all", all, []domain.Event{second, w.Event.Event}},
			{"of deliveries", ofDeliveries, []domain.Event{second, w.Event.Event}},
			{"created", created, []domain.Event{w.Event.Event}},
			{"assigned", assigned, []domain.Event{second}},
			{"doubly", doubly, []domain.Event{second, w.Event.Event}},
			{"tests", tests, nil},
			{"disabled", off, []domain.Event{second, w.Event.Event}},
			{"a listener", listens, []domain.Event{second, w.Event.Event}},
		} {
			var want []domain.WebhookDelivery
			for _, event := range c.events {
				at := event.OccurredAt
				delivery := domain.WebhookDelivery{
					ID: domain.WebhookDeliveryID(event.ID, c.e.Slot), EndpointID: c.e.ID, EventID: event.ID, EventType: event.Type,
					DeliveryID: d.ID, Sequence: event.Sequence, Status: domain.WebhookPending, DueAt: &at,
					Trigger: domain.TriggerSchedule, CreatedAt: at,
				}
				if !c.e.Enabled {
					delivery.Status, delivery.DueAt = domain.WebhookHeld, nil
				}
				want = append(want, delivery)
			}
			got := sentTo(t, b, c.e)
			wantEqual(t, c.name, append([]domain.WebhookDelivery{}, got...), append([]domain.WebhookDelivery{}, want...))
			for _, w := range want {
				wantEqual(t, c.name+": Delivery", must(b.Read().Webhooks.Delivery(t.Context(), tenant, w.ID))(t), w)
			}
		}
		for _, other := range others {
			wantEqual(t, "what others get", len(sentTo(t, b, other)), 0)
			own := bookWrite(t, b, sample.BookingWrite(other.Tenant))
			wantEqual(t, "what others get of their own", theOne(t, b, other).EventID, own.Event.ID)
		}
		wantEqual(t, "of others", len(sentTo(t, b, all)), 2)
	})

	t.Run("an event in every slot has an ID of its own", func(t *testing.T) {
		tenant := newTenant(t, b)
		var want []domain.ID
		var all []domain.WebhookEndpoint
		for range domain.MaxWebhookEndpoints {
			all = append(all, insertEndpoint(t, b, tenant))
		}
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		var got []domain.ID
		for slot, e := range all {
			want = append(want, domain.WebhookDeliveryID(w.Event.ID, slot))
			got = append(got, theOne(t, b, e).ID)
		}
		wantEqual(t, "the IDs", got, want)
	})

	t.Run("a booking that is refused or taken back fans nothing out", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		wantError(t, "the same again", b.Book(t.Context(), w), ports.ErrKeyTaken)
		clash := sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = w.Delivery.ExternalID })
		wantError(t, "a clash", b.Book(t.Context(), clash), ports.ErrExternalIDTaken)
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
			if err != nil {
				return err
			}
			event, err := d.Move(domain.Assigned, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now)
			if err != nil {
				return err
			}
			return errors.Join(tx.Deliveries.Update(ctx, tenant, d, sample.Published(event)), errChangedMind)
		})
		wantError(t, "InTx", err, errChangedMind)
		wantEqual(t, "the event", theOne(t, b, e).EventID, w.Event.ID)
		wantEqual(t, "the feed", len(feedOf(t, b, tenant, 1)), 1)
	})

	t.Run("an event of an endpoint goes to one, or to all others that take it", func(t *testing.T) {
		tenant := newTenant(t, b)
		subject := insertEndpoint(t, b, tenant)
		all := insertEndpoint(t, b, tenant)
		named := insertEndpoint(t, b, tenant, taking(string(domain.EventEndpointDisabled)))
		ofDeliveries := insertEndpoint(t, b, tenant, taking(domain.DeliveryEvents))
		off := insertEndpoint(t, b, tenant, disabled)
		other := insertEndpoint(t, b, newSibling(t, b, tenant))

		test := sample.EndpointEvent(domain.EventEndpointTest)
		want := domain.WebhookDelivery{
			ID: domain.WebhookDeliveryID(test.ID, subject.Slot), EndpointID: subject.ID, EventID: test.ID, EventType: test.Type,
			Status: domain.WebhookPending, DueAt: &test.OccurredAt, Trigger: domain.TriggerTest, Back: domain.WebhookFailed, CreatedAt: test.OccurredAt,
		}
		disabling := sample.EndpointEvent(domain.EventEndpointDisabled)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			wantEqual(t, "PublishTo", must(tx.Webhooks.PublishTo(ctx, subject, test))(t), want)
			return tx.Webhooks.Publish(ctx, subject, disabling)
		})
		wantEqual(t, "the test", theOne(t, b, subject), want)
		for name, e := range map[string]domain.WebhookEndpoint{"all": all, "named": named} {
			got := theOne(t, b, e)
			wantEqual(t, name, got.ID, domain.WebhookDeliveryID(disabling.ID, e.Slot))
			wantEqual(t, name+": status", got.Status, domain.WebhookPending)
		}
		wantEqual(t, "a disabled one", theOne(t, b, off).Status, domain.WebhookHeld)
		wantEqual(t, "what others get", len(sentTo(t, b, ofDeliveries))+len(sentTo(t, b, other)), 0)
		for e, payload := range map[domain.ID][]byte{subject.ID: test.Payload, all.ID: disabling.Payload} {
			due := must(b.Outbox().Due(t.Context(), e, later, 10))(t)
			if len(due) != 1 || string(due[0].Payload) != string(payload) {
				t.Errorf("due %v, want %s", due, payload)
			}
		}
		since := sample.Now
		wantEqual(t, "Tests", must(b.Read().Webhooks.Tests(t.Context(), subject.ID, since))(t), 1)
		wantEqual(t, "Tests since then", must(b.Read().Webhooks.Tests(t.Context(), subject.ID, test.OccurredAt.Add(time.Millisecond)))(t), 0)
		wantEqual(t, "Tests of another", must(b.Read().Webhooks.Tests(t.Context(), all.ID, since))(t), 0)
	})

	t.Run("an event without JSON is refused", func(t *testing.T) {
		w := sample.BookingWrite(newTenant(t, b))
		w.Event.Payload = nil
		if err := b.Book(t.Context(), w); err == nil {
			t.Error("no error")
		}
	})
}

func testWebhookDeliveries(t *testing.T, b Backend) {
	read := func() ports.WebhookReader { return b.Read().Webhooks }
	list := func(t *testing.T, e domain.WebhookEndpoint, f domain.WebhookDeliveryFilter) []domain.WebhookDelivery {
		t.Helper()
		return must(read().Deliveries(t.Context(), e.Tenant, e.ID, f, everything))(t)
	}

	t.Run("what is pending is held when its endpoint is disabled, and stays so", func(t *testing.T) {
		tenant := newTenant(t, b)
		e, other := insertEndpoint(t, b, tenant), insertEndpoint(t, b, tenant)
		for range 3 {
			bookWrite(t, b, sample.BookingWrite(tenant))
		}
		settled(t, b, tenant, sentTo(t, b, e)[0].ID, domain.WebhookSucceeded)
		failed := sentTo(t, b, e)[1]
		settled(t, b, tenant, failed.ID, domain.WebhookFailed)
		asked := changeDelivery(t, b, tenant, failed.ID, func(d *domain.WebhookDelivery) { d.Redeliver(later) })
		wantEqual(t, "a failed one that is asked for again", asked.Back, domain.WebhookFailed)
		disabled(&e)
		updateEndpoint(t, b, e)
		wantEqual(t, "its own", statusesOf(sentTo(t, b, e)), map[domain.WebhookStatus]int{domain.WebhookSucceeded: 1, domain.WebhookHeld: 2})
		for _, d := range list(t, e, domain.WebhookDeliveryFilter{Status: domain.WebhookHeld}) {
			if d.DueAt != nil || d.Trigger != domain.TriggerSchedule || d.Back != "" {
				t.Errorf("held: %+v, want it as one that is due by the schedule some day", d)
			}
		}
		wantEqual(t, "another's", statusesOf(sentTo(t, b, other)), map[domain.WebhookStatus]int{domain.WebhookPending: 3})
		e.Enabled, e.Disabled = true, ""
		updateEndpoint(t, b, e)
		wantEqual(t, "enabled again", statusesOf(sentTo(t, b, e))[domain.WebhookHeld], 2)
		e.Description = "another"
		updateEndpoint(t, b, e)
		bookWrite(t, b, sample.BookingWrite(tenant))
		wantEqual(t, "what comes now", statusesOf(sentTo(t, b, e))[domain.WebhookPending], 1)
	})

	t.Run("what is pending goes with its endpoint, and its log is not shown any more", func(t *testing.T) {
		tenant := newTenant(t, b)
		e, other := insertEndpoint(t, b, tenant), insertEndpoint(t, b, tenant)
		bookWrite(t, b, sample.BookingWrite(tenant))
		arrived := theOne(t, b, e)
		token := leaseOf(t, b, e)
		if err := b.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(arrived, sample.Arrived(later), later)}, domain.WebhookHealth{}); err != nil {
			t.Fatal(err)
		}
		bookWrite(t, b, sample.BookingWrite(tenant))
		deleteEndpoint(t, b, e)
		wantEqual(t, "Deliveries", len(sentTo(t, b, e)), 0)
		wantError(t, "Delivery", errorOf(read().Delivery(t.Context(), tenant, arrived.ID)), domain.ErrNotFound)
		wantEqual(t, "Attempts", len(must(read().Attempts(t.Context(), tenant, arrived.ID))(t)), 0)
		wantEqual(t, "Due", len(must(b.Outbox().Due(t.Context(), e.ID, later, 10))(t)), 0)
		wantEqual(t, "another's", statusesOf(sentTo(t, b, other)), map[domain.WebhookStatus]int{domain.WebhookPending: 2})
	})

	t.Run("the list goes newest first, page by page, and by filters", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		insertEndpoint(t, b, tenant) // gets the same
		var moved []*domain.Delivery
		for i := range 4 {
			w := bookWrite(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = sample.Now.Add(time.Duration(i%2) * time.Minute) }))
			d, _, err := moveLocked(t.Context(), b, tenant, w.Delivery.ID, domain.Assigned)
			if err != nil {
				t.Fatal(err)
			}
			moved = append(moved, d)
		}
		want := sentTo(t, b, e)
		wantEqual(t, "all", len(want), 8)
		if !slices.IsSortedFunc(want, func(x, y domain.WebhookDelivery) int {
			return -cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
		}) {
			t.Errorf("not newest first: %v", want)
		}
		for _, f := range []domain.WebhookDeliveryFilter{{}, {Status: domain.WebhookPending}} {
			got := pages(t, 3, func(p domain.PageRequest) ([]domain.WebhookDelivery, error) {
				return read().Deliveries(t.Context(), tenant, e.ID, f, p)
			}, func(d domain.WebhookDelivery) domain.Position {
				return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
			})
			wantEqual(t, "page by page", got, want)
		}
		settled(t, b, tenant, want[0].ID, domain.WebhookFailed)
		settled(t, b, tenant, want[5].ID, domain.WebhookSucceeded)
		settled(t, b, tenant, want[6].ID, domain.WebhookHeld)
		settled(t, b, tenant, want[7].ID, domain.WebhookFailed)
		at := func(offset time.Duration) *time.Time { return new(sample.Now.Add(offset)) }
		for name, c := range map[string]struct {
			f    domain.WebhookDeliveryFilter
			want []int // of all
		}{
			"pending":                {domain.WebhookDeliveryFilter{Status: domain.WebhookPending}, []int{1, 2, 3, 4}},
			"succeeded":              {domain.WebhookDeliveryFilter{Status: domain.WebhookSucceeded}, []int{5}},
			"failed":                 {domain.WebhookDeliveryFilter{Status: domain.WebhookFailed}, []int{0, 7}},
			"held":                   {domain.WebhookDeliveryFilter{Status: domain.WebhookHeld}, []int{6}},
			"no such status":         {domain.WebhookDeliveryFilter{Status: "no such"}, nil},
			"a type":                 {domain.WebhookDeliveryFilter{EventType: "delivery.created"}, []int{4, 5, 6, 7}},
			"another type":           {domain.WebhookDeliveryFilter{EventType: "delivery.failed"}, nil},
			"what no type can be":    {domain.WebhookDeliveryFilter{EventType: "a\x00b"}, nil},
			"after":                  {domain.WebhookDeliveryFilter{CreatedAfter: at(time.Minute)}, []int{0, 1, 2, 3, 4, 5}},
			"just after":             {domain.WebhookDeliveryFilter{CreatedAfter: at(time.Minute + 1)}, []int{0, 1, 2, 3}},
			"before":                 {domain.WebhookDeliveryFilter{CreatedBefore: at(time.Minute)}, []int{6, 7}},
			"between":                {domain.WebhookDeliveryFilter{CreatedAfter: at(time.Second), CreatedBefore: at(time.Hour)}, []int{4, 5}},
			"a type that failed":     {domain.WebhookDeliveryFilter{Status: domain.WebhookFailed, EventType: "delivery.created"}, []int{7}},
			"what is no delivery":    {domain.WebhookDeliveryFilter{DeliveryID: "nonsense"}, nil},
			"a delivery never heard": {domain.WebhookDeliveryFilter{DeliveryID: sample.ID(domain.PrefixDelivery)}, nil},
			"the far past":           {domain.WebhookDeliveryFilter{CreatedBefore: new(time.Time{})}, nil},
		} {
			var wanted []domain.ID
			for _, i := range c.want {
				wanted = append(wanted, want[i].ID)
			}
			slices.Sort(wanted)
			wantEqual(t, name, idsOf(list(t, e, c.f)), append([]domain.ID{}, wanted...))
		}
		for _, d := range moved {
			got := list(t, e, domain.WebhookDeliveryFilter{DeliveryID: d.ID})
			if len(got) != 2 || got[0].DeliveryID != d.ID || got[1].DeliveryID != d.ID || got[0].Sequence != 2 {
				t.Errorf("of a delivery: %v, want its two, newest first", got)
			}
			one := list(t, e, domain.WebhookDeliveryFilter{DeliveryID: d.ID, EventType: "delivery.assigned"})
			wantEqual(t, "of a delivery by type", len(one), 1)
		}
	})

	t.Run("a change of one is stored, and no other's", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		bookWrite(t, b, sample.BookingWrite(tenant))
		bookWrite(t, b, sample.BookingWrite(tenant))
		before := sentTo(t, b, e)
		due := later.Add(time.Minute)
		want := changeDelivery(t, b, tenant, before[0].ID, func(d *domain.WebhookDelivery) {
			d.DueAt, d.Attempts, d.Used, d.Trigger, d.Back = &due, 4, 3, domain.TriggerManual, domain.WebhookHeld
		})
		wantEqual(t, "Delivery", must(read().Delivery(t.Context(), tenant, want.ID))(t), want)
		wantFilled(t, want)
		wantEqual(t, "the list", sentTo(t, b, e), []domain.WebhookDelivery{want, before[1]})
		unknown := want
		unknown.ID = sample.ID(domain.PrefixWebhookDelivery)
		wantError(t, "one that is not there", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.Webhooks.UpdateDelivery(ctx, unknown)
		}), domain.ErrNotFound)
	})

	t.Run("two that ask for the same again decide one after the other", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		bookWrite(t, b, sample.BookingWrite(tenant))
		id := theOne(t, b, e).ID
		settled(t, b, tenant, id, domain.WebhookFailed)
		errs := together(10, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				d, err := tx.Webhooks.LockDelivery(ctx, tenant, id)
				if err != nil {
					return err
				}
				if !d.Redeliver(later) {
					return errChangedMind
				}
				return tx.Webhooks.UpdateDelivery(ctx, d)
			})
		})
		wantOneWinner(t, errs, errChangedMind)
	})
}

func testWebhookRecovery(t *testing.T, b Backend) {
	// scene has an endpoint with eight events a minute apart, the newest first:
	// two of each status, pending, succeeded, failed and held.
	scene := func(t *testing.T) (domain.WebhookEndpoint, []domain.WebhookDelivery) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		insertEndpoint(t, b, tenant)
		for i := range 8 {
			bookWrite(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = sample.Now.Add(time.Duration(i) * time.Minute) }))
		}
		all := sentTo(t, b, e)
		for i, s := range []domain.WebhookStatus{"", domain.WebhookSucceeded, domain.WebhookFailed, domain.WebhookHeld} {
			if s != "" {
				settled(t, b, tenant, all[i].ID, s)
				settled(t, b, tenant, all[i+4].ID, s)
			}
		}
		return e, sentTo(t, b, e)
	}
	long := domain.Recovery{Since: sample.Now.Add(-time.Hour), Until: sample.Now.Add(time.Hour)}

	for name, c := range map[string]struct {
		change func(*domain.Recovery)
		limit  int
		want   []int // of all, which are a minute apart and the newest first
	}{
		"all that failed or was held": {func(*domain.Recovery) {}, 100, []int{2, 3, 6, 7}},
		"what failed":                 {func(r *domain.Recovery) { r.Only = domain.WebhookFailed }, 100, []int{2, 6}},
		"what was held":               {func(r *domain.Recovery) { r.Only = domain.WebhookHeld }, 100, []int{3, 7}},
		"the oldest first":            {func(*domain.Recovery) {}, 3, []int{3, 6, 7}},
		"since then, inclusively":     {func(r *domain.Recovery) { r.Since = sample.Now.Add(4 * time.Minute) }, 100, []int{2, 3}},
		"since a moment later":        {func(r *domain.Recovery) { r.Since = sample.Now.Add(4*time.Minute + 1) }, 100, []int{2}},
		"until then, exclusively":     {func(r *domain.Recovery) { r.Until = sample.Now.Add(4 * time.Minute) }, 100, []int{6, 7}},
		"nothing":                     {func(r *domain.Recovery) { r.Until = r.Since }, 100, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e, want := scene(t)
			r := long
			c.change(&r)
			queued, running := recovered(t, b, e.ID, r, c.limit)
			if queued != len(c.want) || running {
				t.Errorf("queued %d, running %t, want %d", queued, running, len(c.want))
			}
			for _, i := range c.want {
				d := &want[i]
				d.Status, d.DueAt, d.Used, d.Trigger, d.Back = domain.WebhookPending, new(later), 0, domain.TriggerRecover, ""
			}
			wantEqual(t, "afterwards", sentTo(t, b, e), want)
		})
	}

	t.Run("one at a time, until all of it were tried", func(t *testing.T) {
		e, all := scene(t)
		queued, running := recovered(t, b, e.ID, long, 2)
		wantEqual(t, "queued", queued, 2)
		wantEqual(t, "running", running, false)
		before := sentTo(t, b, e)
		queued, running = recovered(t, b, e.ID, long, 100)
		wantEqual(t, "queued beside it", queued, 0)
		wantEqual(t, "running beside it", running, true)
		wantEqual(t, "meanwhile", sentTo(t, b, e), before)

		token := leaseOf(t, b, e)
		for i, r := range []domain.WebhookResult{sample.Arrived(later), sample.Refused(later)} {
			d := must(b.Read().Webhooks.Delivery(t.Context(), e.Tenant, all[7-i].ID))(t)
			if err := b.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(d, r, later)}, domain.WebhookHealth{}); err != nil {
				t.Fatal(err)
			}
		}
		queued, running = recovered(t, b, e.ID, long, 100)
		wantEqual(t, "queued afterwards", queued, 2)
		wantEqual(t, "running afterwards", running, false)
	})

	t.Run("what another endpoint recovers does not matter", func(t *testing.T) {
		one, _ := scene(t)
		two, _ := scene(t)
		recovered(t, b, one.ID, long, 1)
		queued, running := recovered(t, b, two.ID, long, 100)
		wantEqual(t, "queued", queued, 4)
		wantEqual(t, "running", running, false)
	})
}
