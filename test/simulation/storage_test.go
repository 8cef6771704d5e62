package simulation

import (
	"context"
	"errors"
	"fmt"
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
			tx.Bulks = bulkStore{tx.Bulks, s.p}
			tx.Deliveries = deliveryStore{tx.Deliveries, s.p}
			tx.Simulations = simulationStore{tx.Simulations, s.p}
			if err := fn(ctx, tx); err != nil {
				return err
			}
			if lost {
				return errUndone
			}
			return nil
		})
		if errors.Is(err, errUndone) {
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
			return ports.ErrOutcomeUnknown
		}
		return s.p.world.store.Book(ctx, w)
	})
}

func (s store) BookRun(ctx context.Context, writes []ports.BookingWrite) (n int, err error) {
	err = s.p.through(ctx, begins, fmt.Sprintf("BookRun %d items", len(writes)), func(ctx context.Context) (err error) {
		if fateOf(ctx) == commitLost {
			return ports.ErrOutcomeUnknown
		}
		n, err = s.p.world.store.BookRun(ctx, writes)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
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
		return r.real.Find(ctx, t, key)
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
		return r.DeliveryReader.List(ctx, t, f, page)
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
