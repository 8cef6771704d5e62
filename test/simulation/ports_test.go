package simulation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// store is the database as a process reaches it.
type store struct {
	p *process
}

func ask[T any](ctx context.Context, p *process, k kind, name string, do func(context.Context) (T, error)) (answer T, err error) {
	err = p.through(ctx, k, name, func(ctx context.Context) (err error) {
		answer, err = do(ctx)
		return err
	})
	return answer, err
}

func (s store) Read() ports.Readers {
	r := s.p.world.store.Read()
	r.Idempotency = keyReader{s.p, r.Idempotency}
	r.Tenancy = tenancyReader{r.Tenancy, s.p}
	r.Recipients = recipientReader{r.Recipients, s.p}
	r.PickupLocations = pickupReader{r.PickupLocations, s.p}
	r.Deliveries = deliveryReader{r.Deliveries, s.p}
	r.Simulations = simulationReader{r.Simulations, s.p}
	return r // what is not named here cannot fail
}

func (s store) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	name := "InTx"
	if end, ok := ctx.Deadline(); ok { // tells two of one task apart
		name += " within " + time.Until(end).String()
	}
	return s.p.through(ctx, begins, name, func(ctx context.Context) error {
		lost := fateOf(ctx) == commitLost
		err := s.p.world.store.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			tx.Idempotency = keyStore{tx.Idempotency, s.p}
			var held sign
			tx.Bulks = bulkStore{tx.Bulks, s.p, &held}
			tx.Deliveries = deliveryStore{tx.Deliveries, s.p}
			tx.Simulations = simulationStore{tx.Simulations, s.p}
			if err := fn(ctx, tx); err != nil {
				return err
			}
			if held.extended && !held.wrote {
				s.p.world.reach("a bulk gave a sign of life")
			}
			if lost {
				return errUndone
			}
			return nil
		})
		if errors.Is(err, errUndone) {
			noteIn(ctx, "commit lost")
			return ports.ErrOutcomeUnknown
		}
		return err
	})
}

func (s store) Book(ctx context.Context, w ports.BookingWrite) error {
	name := fmt.Sprintf("Book %s", w.Key.Key)
	if w.Bulk != nil {
		name = fmt.Sprintf("Book item %d", w.Bulk.Item.Index)
	}
	return s.p.through(ctx, begins, name, func(ctx context.Context) error {
		if fateOf(ctx) == commitLost {
			noteIn(ctx, "commit lost")
			return ports.ErrOutcomeUnknown
		}
		err := s.p.world.mutant.book(ctx, s.p.world, w)
		for _, r := range refusals {
			if errors.Is(err, r.err) {
				noteIn(ctx, r.fact)
			}
		}
		return err
	})
}

// BookRun goes past the mutants: those bugs are in Book.
func (s store) BookRun(ctx context.Context, writes []ports.BookingWrite) (n int, err error) {
	if s.p.world.mutant != nil {
		return 0, nil
	}
	err = s.p.through(ctx, begins, fmt.Sprintf("BookRun %d items", len(writes)), func(ctx context.Context) (err error) {
		if fateOf(ctx) == commitLost {
			noteIn(ctx, "commit lost")
			return ports.ErrOutcomeUnknown
		}
		if n, err = s.p.world.store.BookRun(ctx, writes); n > 1 {
			s.p.world.reach("items of a bulk were booked together")
		}
		if errors.Is(err, ports.ErrLeaseLost) {
			noteIn(ctx, "lease lost")
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// refusals of a booking that are worth a note.
var refusals = []struct {
	err  error
	fact string
}{
	{ports.ErrKeyTaken, "key taken"}, {ports.ErrExternalIDTaken, "external_id taken"}, {ports.ErrReferenceTaken, "reference taken"},
	{ports.ErrDirectoryChanged, "directory changed"}, {ports.ErrSimulationLimit, "limit in the commit"},
	{ports.ErrLeaseLost, "lease lost"}, {ports.ErrItemDone, "item done"},
}

// noteRival notes that a bulk is resumed while its former holder goes on.
func (w *world) noteRival(ctx context.Context) {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok || t.request == nil {
		return
	}
	for _, o := range w.open {
		if o != t && o.request != nil && o.request.use == t.request.use && !o.p.dead.Load() && o.noted("claimed") {
			w.reach("a bulk was resumed that its owner still worked on")
		}
	}
}

func noteIn(ctx context.Context, fact string) {
	if t, ok := ctx.Value(taskKey{}).(*task); ok {
		t.note(fact)
	}
}

type keyReader struct {
	p    *process
	real ports.IdempotencyReader
}

func (r keyReader) Find(ctx context.Context, t domain.Tenant, key string) (domain.KeyRecord, error) {
	return ask(ctx, r.p, reads, "Find "+key, func(ctx context.Context) (domain.KeyRecord, error) {
		return r.p.world.mutant.find(ctx, r.real, t, key)
	})
}

type tenancyReader struct {
	ports.TenancyReader
	p *process
}

func (r tenancyReader) Credential(ctx context.Context, digests ...[32]byte) (domain.Credential, error) {
	return ask(ctx, r.p, reads, "Credential", func(ctx context.Context) (domain.Credential, error) {
		return r.TenancyReader.Credential(ctx, digests...)
	})
}

type recipientReader struct {
	ports.RecipientReader
	p *process
}

func (r recipientReader) FindByPhone(ctx context.Context, t domain.Tenant, phone domain.PhoneNumber) (domain.Recipient, error) {
	return ask(ctx, r.p, reads, "FindByPhone "+string(phone), func(ctx context.Context) (domain.Recipient, error) {
		return r.RecipientReader.FindByPhone(ctx, t, phone)
	})
}

func (r recipientReader) FindAddress(ctx context.Context, t domain.Tenant, recipient domain.ID, key string) (domain.Address, error) {
	return ask(ctx, r.p, reads, "FindAddress "+string(recipient)+" "+key, func(ctx context.Context) (domain.Address, error) {
		return r.RecipientReader.FindAddress(ctx, t, recipient, key)
	})
}

type pickupReader struct {
	ports.PickupLocationReader
	p *process
}

func (r pickupReader) Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error) {
	return ask(ctx, r.p, reads, "Pickup "+string(id), func(ctx context.Context) (domain.PickupLocation, error) {
		return r.PickupLocationReader.Get(ctx, t, id)
	})
}

type deliveryReader struct {
	ports.DeliveryReader
	p *process
}

func (r deliveryReader) Get(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	return ask(ctx, r.p, reads, "Get "+string(id), func(ctx context.Context) (*domain.Delivery, error) {
		return r.DeliveryReader.Get(ctx, t, id)
	})
}

func (r deliveryReader) FindByExternalID(ctx context.Context, t domain.Tenant, id string) (*domain.Delivery, error) {
	return ask(ctx, r.p, reads, "FindByExternalID "+id, func(ctx context.Context) (*domain.Delivery, error) {
		return r.DeliveryReader.FindByExternalID(ctx, t, id)
	})
}

func (r deliveryReader) List(ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, page domain.PageRequest) ([]*domain.Delivery,
	error) {
	return ask(ctx, r.p, reads, "List", func(ctx context.Context) ([]*domain.Delivery, error) {
		return r.p.world.mutant.list(ctx, r.DeliveryReader, t, f, page)
	})
}

func (r deliveryReader) Events(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.Event, error) {
	return ask(ctx, r.p, reads, "Events "+string(id), func(ctx context.Context) ([]domain.Event, error) {
		return r.DeliveryReader.Events(ctx, t, id)
	})
}

func (r deliveryReader) Owner(ctx context.Context, id domain.ID) (domain.Tenant, error) {
	return ask(ctx, r.p, reads, "Owner "+string(id), func(ctx context.Context) (domain.Tenant, error) {
		return r.DeliveryReader.Owner(ctx, id)
	})
}

type simulationReader struct {
	ports.SimulationReader
	p *process
}

func (r simulationReader) Due(ctx context.Context, by time.Time, limit int) ([]ports.DueStep, error) {
	return ask(ctx, r.p, reads, "Due", func(ctx context.Context) ([]ports.DueStep, error) {
		return r.SimulationReader.Due(ctx, by, limit)
	})
}

func (r simulationReader) Load(ctx context.Context, t domain.Tenant) (running int, firstEnd time.Time, err error) {
	err = r.p.through(ctx, reads, "Load", func(ctx context.Context) (err error) {
		running, firstEnd, err = r.SimulationReader.Load(ctx, t)
		return err
	})
	return running, firstEnd, err
}

type keyStore struct {
	ports.IdempotencyStore
	p *process
}

func (s keyStore) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, retention time.Duration) error {
	return s.p.through(ctx, claims, "Claim "+r.Key, func(ctx context.Context) error {
		err := s.IdempotencyStore.Claim(ctx, t, r, retention)
		if errors.Is(err, ports.ErrKeyTaken) {
			noteIn(ctx, "key taken")
		}
		return err
	})
}

func (s keyStore) Complete(ctx context.Context, t domain.Tenant, key string, a domain.Answer) error {
	return s.p.through(ctx, within, "Complete "+key, func(ctx context.Context) error {
		return s.IdempotencyStore.Complete(ctx, t, key, a)
	})
}

type bulkStore struct {
	ports.BulkStore
	p    *process
	held *sign
}

// sign tells a transaction that only extends a lease from others.
type sign struct{ extended, wrote bool }

func (s bulkStore) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease,
	retention time.Duration) (ports.BulkHold, error) {
	return ask(ctx, s.p, claims, "Claim bulk "+r.Key, func(ctx context.Context) (ports.BulkHold, error) {
		hold, err := s.BulkStore.Claim(ctx, t, r, token, lease, retention)
		if err == nil {
			noteIn(ctx, "claimed")
		}
		switch {
		case errors.Is(err, ports.ErrKeyTaken):
			noteIn(ctx, "key taken")
		case err == nil && hold.ClaimID != r.ClaimID:
			noteIn(ctx, "claim kept")
			s.p.world.noteRival(ctx)
		}
		return hold, err
	})
}

func (s bulkStore) Items(ctx context.Context, t domain.Tenant, h ports.BulkHold) ([]domain.BulkItem, error) {
	return ask(ctx, s.p, within, "Items", func(ctx context.Context) ([]domain.BulkItem, error) {
		items, err := s.BulkStore.Items(ctx, t, h)
		if len(items) > 0 {
			noteIn(ctx, "items found")
		}
		return items, err
	})
}

func (s bulkStore) Extend(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	return s.p.through(ctx, within, "Extend", func(ctx context.Context) error {
		s.held.extended = true
		err := s.p.world.mutant.extend(ctx, s.BulkStore, t, h)
		if errors.Is(err, ports.ErrLeaseLost) {
			noteIn(ctx, "lease lost")
		}
		return err
	})
}

func (s bulkStore) AddItem(ctx context.Context, t domain.Tenant, h ports.BulkHold, item domain.BulkItem) error {
	return s.p.through(ctx, within, fmt.Sprint("AddItem ", item.Index), func(ctx context.Context) error {
		s.held.wrote = true
		err := s.BulkStore.AddItem(ctx, t, h, item)
		if errors.Is(err, ports.ErrItemDone) {
			noteIn(ctx, "item done")
		}
		return err
	})
}

func (s bulkStore) Finish(ctx context.Context, t domain.Tenant, h ports.BulkHold, a domain.Answer, retention time.Duration) error {
	return s.p.through(ctx, within, "Finish", func(ctx context.Context) error {
		s.held.wrote = true
		err := s.BulkStore.Finish(ctx, t, h, a, retention)
		if errors.Is(err, ports.ErrLeaseLost) {
			noteIn(ctx, "lease lost")
		}
		return err
	})
}

func (s bulkStore) Release(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	return s.p.through(ctx, within, "Release", func(ctx context.Context) error {
		return s.BulkStore.Release(ctx, t, h)
	})
}

type deliveryStore struct {
	ports.DeliveryStore
	p *process
}

func (s deliveryStore) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	return ask(ctx, s.p, within, "Lock "+string(id), func(ctx context.Context) (*domain.Delivery, error) {
		d, err := s.p.world.mutant.lock(ctx, s.DeliveryStore, t, id)
		if err == nil && !d.Simulating() {
			noteIn(ctx, "at rest")
		} else if err == nil && d.Simulation().NextStepAt.Sub(clock{s.p}.Now()) > 2*time.Second {
			noteIn(ctx, "far ahead")
		}
		return d, err
	})
}

func (s deliveryStore) Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...ports.EventWrite) error {
	return s.p.through(ctx, within, "Update "+string(d.ID), func(ctx context.Context) error {
		noteIn(ctx, "updated")
		if simulation := d.Simulation(); simulation != nil && simulation.Status == domain.SimulationCompleted {
			s.p.world.reach("a simulation was completed")
		}
		return s.p.world.mutant.update(ctx, s.DeliveryStore, t, d, events)
	})
}

type simulationStore struct {
	ports.SimulationStore
	p *process
}

func (s simulationStore) Lock(ctx context.Context, t domain.Tenant) error {
	return s.p.through(ctx, within, "Lock count", func(ctx context.Context) error { return s.SimulationStore.Lock(ctx, t) })
}

func (s simulationStore) Enter(ctx context.Context, t domain.Tenant) error {
	return s.p.through(ctx, within, "Enter", func(ctx context.Context) error {
		err := s.SimulationStore.Enter(ctx, t)
		if errors.Is(err, ports.ErrSimulationLimit) {
			noteIn(ctx, "limit in the commit")
		}
		return err
	})
}

func (s simulationStore) Leave(ctx context.Context, t domain.Tenant) error {
	return s.p.through(ctx, within, "Leave", func(ctx context.Context) error { return s.p.world.mutant.leave(ctx, s.SimulationStore, t) })
}

// pricing asks for the same fee for the same trip.
type pricing struct{ p *process }

func (s pricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	name := fmt.Sprintf("Price %s %.6f %.6f", trip.VehicleType, trip.Pickup.Latitude, trip.Dropoff.Latitude)
	return ask(ctx, s.p, prices, name, func(ctx context.Context) (domain.Quote, error) {
		quote := domain.Quote{Currency: currency, Distance: domain.Distance{Kilometres: 4.2, Source: domain.DistanceRoad}}
		switch fateOf(ctx) {
		case noPrice:
			return domain.Quote{}, domain.QuoteUnavailable(errInjected)
		case noPriceSoon:
			wait, cancel := context.WithTimeout(ctx, 2437*time.Millisecond) // never together with another timer
			defer cancel()
			<-wait.Done()
			return domain.Quote{}, domain.QuoteUnavailable(errInjected)
		case customPrice:
			noteIn(ctx, "custom quote")
			quote.RequiresCustomQuote = true
			return quote, nil
		}
		quote.Fee = &domain.Money{Minor: 2500, Currency: currency}
		return quote, nil
	})
}

// worldQueue holds each notification until the world brings it to a handler.
type worldQueue struct{ p *process }

func (b worldQueue) Notify(ctx context.Context, _ ports.JobKind, id string) error {
	return b.p.through(ctx, notifications, "Notify "+id, func(ctx context.Context) error {
		w := b.p.world
		switch fateOf(ctx) {
		case notificationIsLost:
			w.reach("a notification was lost")
			return nil
		case notificationIsDoubled:
			w.notified = append(w.notified, id)
		}
		if w.everNotified[id] > 0 {
			w.reach("a step was notified again")
		}
		w.everNotified[id]++
		w.notified = append(w.notified, id)
		return nil
	})
}

func (b worldQueue) Run(context.Context, map[ports.JobKind]ports.Handler) error { return nil }

// locks are those of the process, and sometimes those of a Redis that errs.
type locks struct {
	ports.Locks
	p *process
}

func (l locks) TryLock(ctx context.Context, name string) (release func(), acquired bool) {
	err := l.p.through(ctx, watches, "TryLock", func(ctx context.Context) error {
		release, acquired = l.Locks.TryLock(ctx, name)
		return nil
	})
	if err != nil {
		return func() {}, false
	}
	t, ok := ctx.Value(taskKey{}).(*task)
	switch {
	case !ok:
	case !acquired:
		if t.chance(l.p.world.faulty * 4) {
			t.note("lock forgotten")
			return func() {}, true
		}
		t.note("lock held")
	case t.chance(l.p.world.faulty / 4):
		release()
		t.note("lock held")
		return func() {}, false
	}
	return release, acquired
}

// limiter is that of the process; sometimes it fails.
type limiter struct {
	ports.RateLimiter
	p *process
}

func (l limiter) Take(ctx context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	if t, ok := ctx.Value(taskKey{}).(*task); ok && t.chance(l.p.world.faulty/10) {
		t.note("limiter failed")
		return ports.Allowance{}, errInjected
	}
	return l.RateLimiter.Take(ctx, buckets...)
}

// clock is that of the world, set a little wrong.
type clock struct{ p *process }

func (c clock) Now() time.Time { return domain.Millis(time.Now().Add(time.Duration(c.p.skew.Load()))) }

// identifiers sort by the moment they are drawn at, and are made of the process
// that draws them and how many it drew before.
type identifiers struct{ w *world }

func (i identifiers) next() (bytes [16]byte, t *task, n uint32) {
	t = i.w.x.current()
	if t == nil {
		t = i.w.nobody
	}
	n = t.drawn.Add(1)
	binary.BigEndian.PutUint64(bytes[:], uint64(time.Now().UnixMilli())<<16)
	binary.BigEndian.PutUint32(bytes[6:], i.w.x.released.Load())
	binary.BigEndian.PutUint32(bytes[10:], uint32(t.n))
	binary.BigEndian.PutUint16(bytes[14:], uint16(n))
	return bytes, t, n
}

func (i identifiers) ID(p domain.Prefix) domain.ID {
	bytes, _, _ := i.next()
	return domain.MakeID(p, bytes)
}

// Reference is now and then one that was drawn before.
func (i identifiers) Reference() domain.Reference {
	_, t, n := i.next()
	r := rand.New(rand.NewPCG(uint64(t.n), uint64(n)))
	if t.n > 3 && r.IntN(60) == 0 {
		return domain.MakeReference(uint64(r.IntN(4)))
	}
	return domain.MakeReference(r.Uint64())
}

func (i identifiers) APIKey(e domain.Environment) string {
	bytes, _, _ := i.next()
	return domain.MakeAPIKey(e, [32]byte(append(bytes[:], bytes[:]...)))
}

func (i identifiers) SigningSecret() [32]byte {
	bytes, _, _ := i.next()
	return [32]byte(append(bytes[:], bytes[:]...))
}
