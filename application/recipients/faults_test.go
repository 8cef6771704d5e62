package recipients_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/golang/mock/gomock"

	"waybill/ports"
	"waybill/ports/mocks"
)

// fault is a way in which a call of a port goes wrong.
type fault string

const (
	failsBefore    fault = "fails before its effect"
	failsAfter     fault = "fails behind its effect"
	timesOut       fault = "hangs until its time is up"
	timesOutAfter  fault = "hangs behind its effect"
	callerHangsUp  fault = "meets a caller that hangs up"
	answerLost     fault = "commits and loses the answer"
	commitLost     fault = "loses the commit"
	neverTheAnswer fault = "commits and loses every answer"
)

var faultKinds = []fault{
	failsBefore, failsAfter, timesOut, timesOutAfter, callerHangsUp, answerLost, commitLost, neverTheAnswer,
}

var errPlanted = errors.New("planted fault")

// faults stands between the use cases and the storage and makes the nth call
// go wrong. It covers whatever ports.Readers and ports.Stores hold, so that a
// call added later is covered too.
type faults struct {
	ctrl   *gomock.Controller
	real   ports.Storage
	kind   fault
	nth    int
	hangUp context.CancelFunc

	mu    sync.Mutex
	calls int
	fired string // which call went wrong
}

func newFaults(t *testing.T, s ports.Storage, kind fault, nth int, hangUp context.CancelFunc) *faults {
	return &faults{ctrl: gomock.NewController(t), real: s, kind: kind, nth: nth, hangUp: hangUp}
}

// call does one call of a port, or what goes wrong with it.
func (f *faults) call(ctx context.Context, name string, commits bool, do func() error) error {
	f.mu.Lock()
	f.calls++
	now := f.calls == f.nth || f.kind == neverTheAnswer && commits && f.calls > f.nth
	if now && f.fired == "" {
		f.fired = name
	}
	f.mu.Unlock()
	if !now {
		return do()
	}
	switch f.kind {
	case failsBefore:
		return errPlanted
	case failsAfter:
		return errors.Join(do(), errPlanted)
	case timesOut:
		<-ctx.Done()
		return ctx.Err()
	case timesOutAfter:
		err := do()
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	case callerHangsUp:
		f.hangUp()
		return do()
	}
	if !commits {
		return do() // only a commit can lose its answer
	}
	if f.kind == commitLost {
		return ports.ErrOutcomeUnknown
	}
	if err := do(); err != nil && f.kind == answerLost {
		return err
	}
	return ports.ErrOutcomeUnknown
}

func (f *faults) Read() ports.Readers {
	r := f.real.Read()
	return ports.Readers{
		Idempotency:     between[ports.IdempotencyReader](f, mocks.NewMockIdempotencyReader(f.ctrl), r.Idempotency),
		Tenancy:         between[ports.TenancyReader](f, mocks.NewMockTenancyReader(f.ctrl), r.Tenancy),
		Recipients:      between[ports.RecipientReader](f, mocks.NewMockRecipientReader(f.ctrl), r.Recipients),
		PickupLocations: between[ports.PickupLocationReader](f, mocks.NewMockPickupLocationReader(f.ctrl), r.PickupLocations),
		Deliveries:      between[ports.DeliveryReader](f, mocks.NewMockDeliveryReader(f.ctrl), r.Deliveries),
	}
}

func (f *faults) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	return f.call(ctx, "InTx", true, func() error {
		return f.real.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			return fn(ctx, ports.Stores{
				Idempotency:     between[ports.IdempotencyStore](f, mocks.NewMockIdempotencyStore(f.ctrl), tx.Idempotency),
				Tenancy:         between[ports.TenancyStore](f, mocks.NewMockTenancyStore(f.ctrl), tx.Tenancy),
				Recipients:      between[ports.RecipientStore](f, mocks.NewMockRecipientStore(f.ctrl), tx.Recipients),
				PickupLocations: between[ports.PickupLocationStore](f, mocks.NewMockPickupLocationStore(f.ctrl), tx.PickupLocations),
				Deliveries:      between[ports.DeliveryStore](f, mocks.NewMockDeliveryStore(f.ctrl), tx.Deliveries),
			})
		})
	})
}

// between makes every method of the double do what the real one does, or what
// goes wrong. All methods of these ports begin with a context and end with an error.
func between[T any](f *faults, double, real T) T {
	for method := range reflect.TypeOf(double).Methods() {
		target := reflect.ValueOf(real).MethodByName(method.Name)
		if !target.IsValid() {
			continue // EXPECT
		}
		anything := make([]any, target.Type().NumIn())
		for i := range anything {
			anything[i] = gomock.Any()
		}
		through := reflect.MakeFunc(target.Type(), func(args []reflect.Value) []reflect.Value {
			results := make([]reflect.Value, target.Type().NumOut())
			for i := range results {
				results[i] = reflect.Zero(target.Type().Out(i))
			}
			last := len(results) - 1
			err := f.call(args[0].Interface().(context.Context), method.Name, false, func() error {
				copy(results, target.Call(args))
				err, _ := results[last].Interface().(error)
				return err
			})
			if err != nil {
				results[last] = reflect.ValueOf(&err).Elem()
			}
			return results
		})
		f.ctrl.RecordCallWithMethodType(double, method.Name, target.Type(), anything...).DoAndReturn(through.Interface()).AnyTimes()
	}
	return double
}
