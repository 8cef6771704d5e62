package conformance

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// decision changes a delivery and tells what happened to it.
type decision func(d *domain.Delivery) ([]domain.Event, error)

// play changes a delivery as use cases do: the count is locked before the
// delivery, and follows. It also counts how often the storage ran it.
func play(ctx context.Context, b Backend, t domain.Tenant, id domain.ID, runs *atomic.Int64, decide decision) (d *domain.Delivery, err error) {
	err = b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		runs.Add(1)
		if err := tx.Simulations.Lock(ctx, t); err != nil {
			return err
		}
		if d, err = tx.Deliveries.Lock(ctx, t, id); err != nil {
			return err
		}
		before, ran := d.Lifecycle(), d.Simulating()
		events, err := decide(d)
		if err != nil || d.Lifecycle() == before {
			return err
		}
		switch runs := d.Simulating(); {
		case runs && !ran:
			err = tx.Simulations.Enter(ctx, t)
		case ran && !runs:
			err = tx.Simulations.Leave(ctx, t)
		}
		if err != nil {
			return err
		}
		return tx.Deliveries.Update(ctx, t, d, sample.AllPublished(events)...)
	})
	return d, err
}

// mustPlay is play that has to succeed.
func mustPlay(t testing.TB, b Backend, tenant domain.Tenant, id domain.ID, decide decision) *domain.Delivery {
	t.Helper()
	return must(play(t.Context(), b, tenant, id, new(atomic.Int64), decide))(t)
}

// nextStep does what the scenario does next, on time.
func nextStep(d *domain.Delivery) ([]domain.Event, error) {
	s := d.Simulation()
	if s.NextStepAt == nil {
		return nil, nil
	}
	event, _, err := d.Simulate(s.Step, sample.ID(domain.PrefixEvent), *s.NextStepAt)
	return []domain.Event{event}, err
}

func stopIt(d *domain.Delivery) ([]domain.Event, error) {
	d.StopSimulation(d.UpdatedAt().Add(time.Second))
	return nil, nil
}

func startIt(d *domain.Delivery) ([]domain.Event, error) {
	return nil, d.StartSimulation(sample.Plan(), d.UpdatedAt().Add(time.Second))
}

func cancelIt(d *domain.Delivery) ([]domain.Event, error) {
	event, changed, err := d.Cancel(sample.ID(domain.PrefixEvent), d.UpdatedAt().Add(time.Second))
	if !changed {
		return nil, err
	}
	return []domain.Event{event}, err
}

func testSimulations(t *testing.T, b Backend) {
	read := func() ports.DeliveryReader { return b.Read().Deliveries }

	t.Run("every state of every scenario comes back", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		bystander := book(t, b, sample.SimulatedWrite(tenant))
		for _, scenario := range domain.Scenarios() {
			w := sample.BookingTo(tenant, recipient, address)
			sample.Simulate(w, func(p *domain.Plan) { p.Scenario, p.StepSeconds = scenario, 7 })
			want, events := book(t, b, w), []domain.Event{w.Event.Event}
			for {
				got := must(read().Get(t.Context(), tenant, want.ID))(t)
				wantDelivery(t, "Get in "+string(scenario), got, want)
				wantEqual(t, "when it ends", got.Simulation().EndsAt(), want.Simulation().EndsAt())
				wantEqual(t, "Events", must(read().Events(t.Context(), tenant, want.ID))(t), events)
				if !want.Simulating() {
					break
				}
				want = mustPlay(t, b, tenant, want.ID, func(d *domain.Delivery) ([]domain.Event, error) {
					wantDelivery(t, "Lock in "+string(scenario), d, want)
					happened, err := nextStep(d)
					events = append(events, happened...)
					return happened, err
				})
				if scenario == domain.ScenarioDelivered && want.Status() == domain.InTransit {
					wantFilled(t, want.Lifecycle())
				}
			}
		}
		wantDelivery(t, "another delivery", must(read().Get(t.Context(), tenant, bystander.ID))(t), bystander)
	})

	t.Run("a change of the simulation alone needs no event", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		wantDelivery(t, "without a simulation", must(read().Get(t.Context(), tenant, w.Delivery.ID))(t), w.Delivery)
		manual := func(d *domain.Delivery) ([]domain.Event, error) {
			return nil, d.StartSimulation(domain.Plan{Scenario: domain.ScenarioManual}, d.UpdatedAt().Add(time.Second))
		}
		for _, change := range []struct {
			decide decision
			status domain.SimulationStatus
		}{
			{startIt, domain.SimulationRunning}, {stopIt, domain.SimulationStopped},
			{startIt, domain.SimulationRunning}, {stopIt, domain.SimulationStopped}, {manual, domain.SimulationIdle},
		} {
			want := mustPlay(t, b, tenant, w.Delivery.ID, change.decide)
			if s := want.Simulation(); s.Status != change.status {
				t.Fatalf("the simulation is %s, want %s", s.Status, change.status)
			}
			wantDelivery(t, "Get when it is "+string(change.status), must(read().Get(t.Context(), tenant, want.ID))(t), want)
			wantEqual(t, "Events", must(read().Events(t.Context(), tenant, want.ID))(t), []domain.Event{w.Event.Event})
		}
	})

	t.Run("several events are stored at once", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		events := []domain.Event{w.Event.Event}
		want := mustPlay(t, b, tenant, w.Delivery.ID, func(d *domain.Delivery) (happened []domain.Event, err error) {
			for i, to := range []domain.Status{domain.Assigned, domain.PickedUp, domain.InTransit} {
				event, err := d.Move(to, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), d.UpdatedAt().Add(time.Duration(i)*time.Second))
				if err != nil {
					return nil, err
				}
				happened = append(happened, event)
			}
			events = append(events, happened...)
			return happened, nil
		})
		wantDelivery(t, "Get", must(read().Get(t.Context(), tenant, want.ID))(t), want)
		wantEqual(t, "Events", must(read().Events(t.Context(), tenant, want.ID))(t), events)
	})

	t.Run("a change that was decided before an event is refused, whatever it changes", func(t *testing.T) {
		tenant := newTenant(t, b)
		for name, late := range map[string]decision{
			"only the simulation": stopIt, "the status": cancelIt,
			"both, in two steps": func(d *domain.Delivery) ([]domain.Event, error) {
				first, err := nextStep(d)
				if err != nil {
					return nil, err
				}
				second, err := nextStep(d)
				return append(first, second...), err
			},
		} {
			w := bookWrite(t, b, sample.SimulatedWrite(tenant))
			old := must(read().Get(t.Context(), tenant, w.Delivery.ID))(t)
			want := mustPlay(t, b, tenant, w.Delivery.ID, nextStep)
			timeline := must(read().Events(t.Context(), tenant, w.Delivery.ID))(t)
			events, err := late(old)
			if err != nil {
				t.Fatal(err)
			}
			err = b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Deliveries.Update(ctx, tenant, old, sample.AllPublished(events)...)
			})
			if err == nil || errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: error %v, want a failure", name, err)
			}
			wantDelivery(t, "Get after "+name, must(read().Get(t.Context(), tenant, want.ID))(t), want)
			wantEqual(t, "Events", must(read().Events(t.Context(), tenant, want.ID))(t), timeline)
		}
	})

	t.Run("the simulation of what does not exist is not found", func(t *testing.T) {
		tenant := newTenant(t, b)
		missing := sample.SimulatedWrite(tenant).Delivery
		theirs := book(t, b, sample.SimulatedWrite(newTenant(t, b)))
		for _, d := range []*domain.Delivery{missing, theirs} {
			d.StopSimulation(sample.Now.Add(time.Hour))
			wantError(t, "Update", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Deliveries.Update(ctx, tenant, d)
			}), domain.ErrNotFound)
		}
	})
}

func testDueSteps(t *testing.T, b Backend) {
	due := func(t *testing.T, by time.Time, limit int) []ports.DueStep {
		t.Helper()
		return must(b.Read().Simulations.Due(t.Context(), by, limit))(t)
	}
	wantDue := func(t *testing.T, what string, got []ports.DueStep, want ...ports.DueStep) {
		t.Helper()
		if len(want) == 0 && len(got) == 0 {
			return
		}
		wantEqual(t, what, got, want)
	}
	stepOf := func(d *domain.Delivery) ports.DueStep {
		s := d.Simulation()
		return ports.DueStep{Delivery: d.ID, Done: s.Step, DueAt: *s.NextStepAt}
	}
	wantLoad := func(t *testing.T, tenant domain.Tenant, running int, firstEnd time.Time) {
		t.Helper()
		n, end, err := b.Read().Simulations.Load(t.Context(), tenant)
		if err != nil || n != running || !end.Equal(firstEnd) {
			t.Errorf("a load of %d, the first of which ends at %v (error %v), want %d and %v", n, end, err, running, firstEnd)
		}
	}
	always := sample.Now.Add(1000 * time.Hour)

	// Nobody else writes to this database, so that all there is can be told.
	wantDue(t, "where nothing was ever started", due(t, always, 10))
	tenant := newTenant(t, b)
	sibling, stranger := newSibling(t, b, tenant), newTenant(t, b)
	wantLoad(t, tenant, 0, time.Time{})
	paced := func(of domain.Tenant, seconds int) *domain.Delivery {
		return book(t, b, sample.SimulatedWrite(of, func(p *domain.Plan) { p.StepSeconds = seconds }))
	}
	third, first, fourth, second := paced(tenant, 30), paced(stranger, 10), paced(sibling, 40), paced(tenant, 20)
	all := []ports.DueStep{stepOf(first), stepOf(second), stepOf(third), stepOf(fourth)}

	t.Run("steps come by their time, of all applications", func(t *testing.T) {
		wantDue(t, "Due", due(t, always, 10), all...)
		wantDue(t, "the first two", due(t, always, 2), all[:2]...)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			wantDue(t, "Due in a transaction", must(tx.Simulations.Due(ctx, always, 3))(t), all[:3]...)
			return nil
		})
	})

	t.Run("a step is due at its time and not before", func(t *testing.T) {
		for by, want := range map[time.Duration]int{
			-time.Hour: 0, -time.Millisecond: 0, -time.Nanosecond: 0, 0: 1, 999 * time.Microsecond: 1,
			10 * time.Second: 2, 30*time.Second - time.Nanosecond: 3, 30 * time.Second: 4,
		} {
			wantDue(t, "Due "+by.String()+" from the first", due(t, all[0].DueAt.Add(by), 10), all[:want]...)
		}
	})

	t.Run("the load is an application's own, and in the sandbox only", func(t *testing.T) {
		wantLoad(t, tenant, 2, *second.Simulation().EndsAt())
		wantLoad(t, sibling, 1, *fourth.Simulation().EndsAt())
		wantLoad(t, stranger, 1, *first.Simulation().EndsAt())
		wantLoad(t, live(tenant), 0, time.Time{})
		wantLoad(t, newTenant(t, b), 0, time.Time{})
		wantEqual(t, "Running", must(b.Read().Simulations.Running(t.Context()))(t), 4)
	})

	t.Run("only what runs is due and counts", func(t *testing.T) {
		for range 3 {
			book(t, b, sample.BookingWrite(tenant))
			book(t, b, sample.BookingWrite(live(tenant)))
		}
		stopped, cancelled, completed := paced(tenant, 1), paced(tenant, 1), paced(tenant, 1)
		mustPlay(t, b, tenant, stopped.ID, nextStep)
		mustPlay(t, b, tenant, stopped.ID, stopIt)
		mustPlay(t, b, tenant, cancelled.ID, cancelIt)
		for completed.Simulating() {
			completed = mustPlay(t, b, tenant, completed.ID, nextStep)
		}
		wantDue(t, "Due", due(t, always, 10), all...)
		wantLoad(t, tenant, 2, *second.Simulation().EndsAt())
		wantEqual(t, "Running", must(b.Read().Simulations.Running(t.Context()))(t), 4)
	})

	t.Run("a step that is done makes room for the next", func(t *testing.T) {
		first = mustPlay(t, b, stranger, first.ID, nextStep) // due with the second now
		first = mustPlay(t, b, stranger, first.ID, nextStep) // due with the third
		got := due(t, always, 10)
		if len(got) != 4 || got[0] != all[1] || stepOf(first).Done != 2 {
			t.Fatalf("due %+v", got)
		}
		if both := [2]ports.DueStep{got[1], got[2]}; both != [2]ports.DueStep{all[2], stepOf(first)} && both != [2]ports.DueStep{stepOf(first), all[2]} {
			t.Errorf("due %+v", got)
		}
		wantLoad(t, stranger, 1, *first.Simulation().EndsAt())
	})

	t.Run("a step that was late puts off the end", func(t *testing.T) {
		before := *first.Simulation().EndsAt()
		first = mustPlay(t, b, stranger, first.ID, func(d *domain.Delivery) ([]domain.Event, error) {
			event, _, err := d.Simulate(2, sample.ID(domain.PrefixEvent), d.Simulation().NextStepAt.Add(5*time.Second))
			return []domain.Event{event}, err
		})
		wantLoad(t, stranger, 1, before.Add(5*time.Second))
	})
}

func testSimulationCounts(t *testing.T, b Backend) {
	enter := func(tenant domain.Tenant) error {
		return b.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error { return tx.Simulations.Enter(ctx, tenant) })
	}
	leave := func(tenant domain.Tenant) error {
		return b.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error { return tx.Simulations.Leave(ctx, tenant) })
	}

	t.Run("of many at once as many are let in as there may be", func(t *testing.T) {
		tenant := newTenant(t, b)
		errs := together(4*domain.MaxRunningSimulations, func(int) error { return enter(tenant) })
		wantWinners(t, errs, domain.MaxRunningSimulations, ports.ErrSimulationLimit)
		wantRoom(t, b, tenant, 0)
		if err := leave(tenant); err != nil {
			t.Fatal(err)
		}
		wantWinners(t, together(10, func(int) error { return enter(tenant) }), 1, ports.ErrSimulationLimit)
	})

	t.Run("a count belongs to one application", func(t *testing.T) {
		tenant := newTenant(t, b)
		sibling := newSibling(t, b, tenant)
		for range 3 {
			if err := enter(tenant); err != nil {
				t.Fatal(err)
			}
		}
		wantRoom(t, b, tenant, domain.MaxRunningSimulations-3)
		wantRoom(t, b, sibling, domain.MaxRunningSimulations)
		wantRoom(t, b, newTenant(t, b), domain.MaxRunningSimulations)
	})

	t.Run("no count goes below zero", func(t *testing.T) {
		tenant := newTenant(t, b)
		for range 2 {
			if err := leave(tenant); err == nil {
				t.Error("one that was never counted left")
			}
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Simulations.Lock(ctx, tenant) })
		}
		if err := errors.Join(enter(tenant), leave(tenant)); err != nil {
			t.Fatal(err)
		}
		if err := leave(tenant); err == nil {
			t.Error("one left twice")
		}
		wantRoom(t, b, tenant, domain.MaxRunningSimulations)
	})

	t.Run("who comes and goes at once is counted right", func(t *testing.T) {
		tenant := newTenant(t, b)
		for range domain.MaxRunningSimulations - 5 {
			if err := enter(tenant); err != nil {
				t.Fatal(err)
			}
		}
		var stayed atomic.Int64
		for _, err := range together(30, func(i int) error {
			for range 3 {
				switch err := enter(tenant); {
				case errors.Is(err, ports.ErrSimulationLimit):
					continue
				case err != nil:
					return err
				}
				if i%10 == 0 {
					stayed.Add(1)
					return nil
				}
				if err := leave(tenant); err != nil {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		wantRoom(t, b, tenant, 5-int(stayed.Load()))
	})

	t.Run("what is taken back was never counted", func(t *testing.T) {
		tenant := newTenant(t, b)
		if err := enter(tenant); err != nil {
			t.Fatal(err)
		}
		for _, step := range []func(context.Context, ports.SimulationStore) error{
			func(ctx context.Context, s ports.SimulationStore) error { return s.Enter(ctx, tenant) },
			func(ctx context.Context, s ports.SimulationStore) error { return s.Leave(ctx, tenant) },
		} {
			wantError(t, "InTx", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return errors.Join(step(ctx, tx.Simulations), errChangedMind)
			}), errChangedMind)
			wantRoom(t, b, tenant, domain.MaxRunningSimulations-1)
		}
	})

	t.Run("a lock holds until the transaction ends", func(t *testing.T) {
		for name, hold := range map[string]func(context.Context, ports.Stores, domain.Tenant) error{
			"Lock":  func(ctx context.Context, tx ports.Stores, t domain.Tenant) error { return tx.Simulations.Lock(ctx, t) },
			"Enter": func(ctx context.Context, tx ports.Stores, t domain.Tenant) error { return tx.Simulations.Enter(ctx, t) },
		} {
			tenant := newTenant(t, b)
			var inside, met atomic.Int64
			for _, err := range together(20, func(int) error {
				return b.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error {
					if err := hold(ctx, tx, tenant); err != nil {
						return err
					}
					if inside.Add(1) > 1 {
						met.Add(1)
					}
					defer inside.Add(-1)
					// A statement's time for another one to come in, if it can.
					runtime.Gosched()
					_, _, err := tx.Simulations.Load(ctx, tenant)
					return err
				})
			}) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if n := met.Load(); n > 0 {
				t.Errorf("%s: two were inside at the same time, %d times", name, n)
			}
		}
	})
}

// errLookedAround takes back what was done to learn something.
var errLookedAround = errors.New("only looking")

// wantRoom fails unless exactly so many more simulations are let in.
func wantRoom(t testing.TB, b Backend, tenant domain.Tenant, want int) {
	t.Helper()
	room := 0
	err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		for room = 0; room <= domain.MaxRunningSimulations; room++ {
			switch err := tx.Simulations.Enter(ctx, tenant); {
			case errors.Is(err, ports.ErrSimulationLimit):
				return errLookedAround
			case err != nil:
				return err
			}
		}
		return errLookedAround
	})
	if !errors.Is(err, errLookedAround) || room != want {
		t.Errorf("there is room for %d more simulations (error %v), want %d", room, err, want)
	}
}

// fillSimulations leaves room for so many.
func fillSimulations(t testing.TB, b Backend, tenant domain.Tenant, room int) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for range domain.MaxRunningSimulations - room {
			if err := tx.Simulations.Enter(ctx, tenant); err != nil {
				return err
			}
		}
		return nil
	})
}

func testSimulatedBookings(t *testing.T, b Backend) {
	const most = domain.MaxRunningSimulations

	t.Run("a booking whose simulation runs is counted, and no other", func(t *testing.T) {
		tenant := newTenant(t, b)
		for range 2 {
			wantStored(t, b, bookWrite(t, b, sample.SimulatedWrite(tenant)))
		}
		wantRoom(t, b, tenant, most-2)
		wantStored(t, b, bookWrite(t, b, sample.BookingWrite(tenant)))
		wantStored(t, b, bookWrite(t, b, sample.BookingWrite(live(tenant))))
		wantStored(t, b, bookWrite(t, b, sample.SimulatedWrite(tenant, func(p *domain.Plan) { p.Scenario = domain.ScenarioManual })))
		wantRoom(t, b, tenant, most-2)
		wantEqual(t, "Running", must(b.Read().Simulations.Running(t.Context()))(t), 2)
	})

	t.Run("one too many is refused, and nothing of it is stored", func(t *testing.T) {
		tenant := newTenant(t, b)
		fillSimulations(t, b, tenant, 1)
		last := bookWrite(t, b, sample.SimulatedWrite(tenant))
		refused := sample.SimulatedWrite(tenant)
		wantRefused(t, b, refused, ports.ErrSimulationLimit)
		nameless := sample.Recipient(func(r *domain.Recipient) { r.Name = "" })
		addRecipient(t, b, tenant, nameless)
		known := sample.BookingTo(tenant, nameless, sample.Address(nameless.ID))
		known.Recipient.Name, known.FillName, known.NewAddress = "Efua Mensah", true, true
		sample.Simulate(known)
		wantRefused(t, b, known, ports.ErrSimulationLimit)
		wantRoom(t, b, tenant, 0)

		// What does not run goes through, and so do others'.
		wantStored(t, b, bookWrite(t, b, sample.BookingWrite(tenant)))
		wantStored(t, b, bookWrite(t, b, sample.SimulatedWrite(newSibling(t, b, tenant))))
		mustPlay(t, b, tenant, last.Delivery.ID, cancelIt)
		wantStored(t, b, bookWrite(t, b, refused))
		wantRoom(t, b, tenant, 0)
	})

	t.Run("the same booking again finds itself, though there is no room any more", func(t *testing.T) {
		tenant := newTenant(t, b)
		fillSimulations(t, b, tenant, 1)
		w := bookWrite(t, b, sample.SimulatedWrite(tenant))
		wantError(t, "the repeated booking", b.Book(t.Context(), w), ports.ErrKeyTaken)
		wantStored(t, b, w)
	})

	t.Run("a booking that is refused is not counted", func(t *testing.T) {
		tenant := newTenant(t, b)
		earlier := bookWrite(t, b, sample.SimulatedWrite(tenant))
		sameOrder := sample.BookingTo(tenant, earlier.Recipient, earlier.Address, func(b *domain.Booking) { b.ExternalID = earlier.Delivery.ExternalID })
		sameReference := sample.BookingTo(tenant, earlier.Recipient, earlier.Address, func(b *domain.Booking) { b.Reference = earlier.Delivery.Reference })
		known := sample.BookingWrite(tenant)
		known.Recipient.PhoneNumber = earlier.Recipient.PhoneNumber
		nowhere := sample.BookingTo(tenant, sample.Recipient(), earlier.Address)
		sameKey := sample.BookingWrite(tenant)
		sameKey.Key.Key = earlier.Key.Key
		for _, c := range []struct {
			w    ports.BookingWrite
			want error
		}{
			{sameOrder, ports.ErrExternalIDTaken}, {sameReference, ports.ErrReferenceTaken}, {known, ports.ErrDirectoryChanged},
			{nowhere, domain.ErrNotFound}, {sameKey, ports.ErrKeyTaken},
		} {
			sample.Simulate(c.w)
			wantRefused(t, b, c.w, c.want)
		}
		wantRoom(t, b, tenant, most-1)
	})

	t.Run("an item of a bulk is counted, or refused and not recorded", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		item := func(index int) ports.BookingWrite {
			w := sample.SimulatedWrite(q.tenant)
			w.Bulk = &ports.BulkItemMark{Hold: h, Item: domain.BulkItem{Index: index, Created: true, Result: []byte("{}")}}
			return w
		}
		fillSimulations(t, b, q.tenant, 1)
		one := bookWrite(t, b, item(0))
		wantBooked(t, b, one)
		wantRefused(t, b, item(1), ports.ErrSimulationLimit)
		wantError(t, "the first item again", b.Book(t.Context(), one), ports.ErrItemDone)
		wantEqual(t, "the items", q.items(t, h), []domain.BulkItem{one.Bulk.Item})
		wantRoom(t, b, q.tenant, 0)
	})

	t.Run("of many at once as many are booked as there may be", func(t *testing.T) {
		const room = 20
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		fillSimulations(t, b, tenant, room)
		errs := together(4*room, func(int) error {
			w := sample.BookingTo(tenant, recipient, address)
			sample.Simulate(w)
			return b.Book(context.Background(), w)
		})
		wantWinners(t, errs, room, ports.ErrSimulationLimit)
		running, _, err := b.Read().Simulations.Load(t.Context(), tenant)
		if err != nil || running != room {
			t.Errorf("%d run (error %v), want %d", running, err, room)
		}
		wantRoom(t, b, tenant, 0)
	})
}

func testSimulationRaces(t *testing.T, b Backend) {
	t.Run("nothing happens behind a stop", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		for range 10 {
			w := sample.BookingTo(tenant, recipient, address)
			sample.Simulate(w)
			id := book(t, b, w).ID
			seen := -1 // events when the stop was answered
			for _, err := range together(6, func(i int) error {
				if i > 0 {
					_, err := play(context.Background(), b, tenant, id, new(atomic.Int64), nextStep)
					return err
				}
				d, err := play(context.Background(), b, tenant, id, new(atomic.Int64), stopIt)
				if err == nil {
					seen = d.Lifecycle().Sequence
				}
				return err
			}) {
				if err != nil {
					t.Error(err)
				}
			}
			d := must(b.Read().Deliveries.Get(t.Context(), tenant, id))(t)
			events := must(b.Read().Deliveries.Events(t.Context(), tenant, id))(t)
			if s := d.Simulation(); s.Status != domain.SimulationStopped || s.Step != seen-1 || len(events) != seen || d.Lifecycle().Sequence != seen {
				t.Fatalf("stopped with %d events; now %d, sequence %d, %+v", seen, len(events), d.Lifecycle().Sequence, s)
			}
		}
		wantRoom(t, b, tenant, domain.MaxRunningSimulations)
	})

	t.Run("a step happens once, whoever does it", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.SimulatedWrite(tenant))
		due := *w.Delivery.Simulation().NextStepAt
		var happened atomic.Int64
		for _, err := range together(racers, func(int) error {
			_, err := play(context.Background(), b, tenant, w.Delivery.ID, new(atomic.Int64), func(d *domain.Delivery) ([]domain.Event, error) {
				event, isDue, err := d.Simulate(0, sample.ID(domain.PrefixEvent), due.Add(time.Hour))
				if !isDue {
					return nil, err
				}
				happened.Add(1)
				return []domain.Event{event}, err
			})
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if events := must(b.Read().Deliveries.Events(t.Context(), tenant, w.Delivery.ID))(t); happened.Load() != 1 || len(events) != 2 {
			t.Errorf("the step happened %d times, and there are %d events", happened.Load(), len(events))
		}
	})

	t.Run("all that happens at once ends with a right count and without a deadlock", func(t *testing.T) {
		const workers, long = 8, time.Second
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		fillSimulations(t, b, tenant, 10) // so that the limit is met
		var shared [4]atomic.Pointer[domain.Delivery]
		var plays, runs atomic.Int64
		end := time.Now().Add(long)
		for _, err := range together(workers, func(worker int) error {
			for turn := worker; time.Now().Before(end); turn++ {
				place := &shared[turn%len(shared)]
				d := place.Load()
				if d == nil || turn%workers == 0 {
					w := sample.BookingTo(tenant, recipient, address)
					sample.Simulate(w, func(p *domain.Plan) { p.Scenario = domain.Scenarios()[1+turn%10] })
					switch err := b.Book(context.Background(), w); {
					case err == nil:
						place.Store(w.Delivery)
					case !errors.Is(err, ports.ErrSimulationLimit):
						return err
					}
					continue
				}
				plays.Add(1)
				_, err := play(context.Background(), b, tenant, d.ID, &runs, []decision{nextStep, nextStep, nextStep, stopIt, startIt, cancelIt}[turn%6])
				if err != nil && !errors.As(err, new(*domain.Error)) && !errors.Is(err, ports.ErrSimulationLimit) {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		// A deadlock shows as a transaction that the storage ran again.
		if plays.Load() != runs.Load() {
			t.Errorf("%d changes took %d transactions", plays.Load(), runs.Load())
		}
		if plays.Load() < workers {
			t.Errorf("only %d changes within %s", plays.Load(), long)
		}
		running, _, err := b.Read().Simulations.Load(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		wantRoom(t, b, tenant, 10-running)
	})
}
