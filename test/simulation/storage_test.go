package simulation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
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
	r.Idempotency = around[ports.IdempotencyReader](s.p, reads, mocks.NewMockIdempotencyReader, r.Idempotency)
	r.Tenancy = around[ports.TenancyReader](s.p, reads, mocks.NewMockTenancyReader, r.Tenancy)
	r.Recipients = around[ports.RecipientReader](s.p, reads, mocks.NewMockRecipientReader, r.Recipients)
	r.PickupLocations = around[ports.PickupLocationReader](s.p, reads, mocks.NewMockPickupLocationReader, r.PickupLocations)
	r.Deliveries = around[ports.DeliveryReader](s.p, reads, mocks.NewMockDeliveryReader, r.Deliveries)
	r.Simulations = around[ports.SimulationReader](s.p, reads, mocks.NewMockSimulationReader, r.Simulations)
	return r // what is not named here cannot fail
}

// around puts the process between a port and its callers.
func around[T, D any](p *process, k kind, double func(*gomock.Controller) D, real T) T {
	ctrl := gomock.NewController(unheard{})
	return stage.Around(ctrl, any(double(ctrl)).(T), real, func(ctx context.Context, method string, args []reflect.Value,
		do func(context.Context) error) error {
		k := k
		if method == "Claim" {
			k = claims
		}
		return p.through(ctx, k, method+said(args), func(ctx context.Context) error {
			err := do(ctx)
			_, ofBulk := any(real).(ports.BulkStore)
			if t, ok := ctx.Value(taskKey{}).(*task); ok && err == nil && ofBulk && k == claims {
				t.note("claimed")
			}
			return err
		})
	})
}

// said are the arguments that tell one call from another.
func said(args []reflect.Value) (text string) {
	for _, a := range args {
		if a = reflect.Indirect(a); a.Kind() == reflect.String {
			text += " " + a.String()
		}
		for _, name := range []string{"ID", "Key", "Index"} {
			if a.Kind() == reflect.Struct && a.FieldByName(name).IsValid() {
				text += fmt.Sprint(" ", a.FieldByName(name))
			}
		}
	}
	return text
}

// unheard is told of a call that no double expects, of which there is none.
type unheard struct{}

func (unheard) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (unheard) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (s store) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	name := "InTx"
	if end, ok := ctx.Deadline(); ok { // tells two of one task apart
		name += " within " + time.Until(end).String()
	}
	return s.p.through(ctx, begins, name, func(ctx context.Context) error {
		lost := fateOf(ctx) == commitLost
		err := s.p.world.store.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			tx.Idempotency = around[ports.IdempotencyStore](s.p, within, mocks.NewMockIdempotencyStore, tx.Idempotency)
			tx.Bulks = around[ports.BulkStore](s.p, within, mocks.NewMockBulkStore, tx.Bulks)
			tx.Deliveries = around[ports.DeliveryStore](s.p, within, mocks.NewMockDeliveryStore, tx.Deliveries)
			tx.Simulations = around[ports.SimulationStore](s.p, within, mocks.NewMockSimulationStore, tx.Simulations)
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
