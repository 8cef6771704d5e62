package stage

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/golang/mock/gomock"

	"waybill/domain"
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

var faults = []fault{
	failsBefore, failsAfter, timesOut, timesOutAfter, callerHangsUp, answerLost, commitLost, neverTheAnswer,
}

// ofCommits reports whether only a commit can go wrong so.
func (f fault) ofCommits() bool { return f == answerLost || f == commitLost || f == neverTheAnswer }

var errInjected = errors.New("injected fault")

// Calls counts the calls of the ports that were put through it, or the commits
// among them, and makes the nth go wrong.
type Calls struct {
	ctrl   *gomock.Controller
	kind   fault
	nth    int
	hangUp context.CancelFunc

	mu    sync.Mutex
	made  int
	fired string // which call went wrong
}

func newCalls(t *testing.T, kind fault, nth int, hangUp context.CancelFunc) *Calls {
	return &Calls{ctrl: gomock.NewController(t), kind: kind, nth: nth, hangUp: hangUp}
}

// Storage covers whatever ports.Readers and ports.Stores hold, so that a call
// added later is covered too. InTx is a call as well, and its commit can get lost.
func (c *Calls) Storage(real ports.Storage) ports.Storage { return storage{c, real} }

// Bookings covers Book, whose commit can get lost.
func (c *Calls) Bookings(real ports.Bookings) ports.Bookings { return bookings{c, real} }

// Pricing covers Price.
func (c *Calls) Pricing(real ports.Pricing) ports.Pricing { return pricing{c, real} }

// call does one call of a port, or what goes wrong with it.
func (c *Calls) call(ctx context.Context, name string, commits bool, do func() error) error {
	c.mu.Lock()
	counts := commits || !c.kind.ofCommits()
	if counts {
		c.made++
	}
	now := counts && (c.made == c.nth || c.kind == neverTheAnswer && c.made > c.nth)
	if now && c.fired == "" {
		c.fired = name
	}
	c.mu.Unlock()
	if !now {
		return do()
	}
	switch c.kind {
	case failsBefore:
		return errInjected
	case failsAfter:
		return errors.Join(do(), errInjected)
	case timesOut:
		<-ctx.Done()
		return ctx.Err()
	case timesOutAfter:
		err := do()
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	case callerHangsUp:
		c.hangUp()
		return do()
	}
	if c.kind == commitLost {
		return ports.ErrOutcomeUnknown
	}
	if err := do(); err != nil && c.kind == answerLost {
		return err
	}
	return ports.ErrOutcomeUnknown
}

type storage struct {
	*Calls
	real ports.Storage
}

func (s storage) Read() ports.Readers {
	r := s.real.Read()
	return ports.Readers{
		Idempotency:     between[ports.IdempotencyReader](s.Calls, mocks.NewMockIdempotencyReader(s.ctrl), r.Idempotency),
		Tenancy:         between[ports.TenancyReader](s.Calls, mocks.NewMockTenancyReader(s.ctrl), r.Tenancy),
		Recipients:      between[ports.RecipientReader](s.Calls, mocks.NewMockRecipientReader(s.ctrl), r.Recipients),
		PickupLocations: between[ports.PickupLocationReader](s.Calls, mocks.NewMockPickupLocationReader(s.ctrl), r.PickupLocations),
		Deliveries:      between[ports.DeliveryReader](s.Calls, mocks.NewMockDeliveryReader(s.ctrl), r.Deliveries),
		Simulations:     between[ports.SimulationReader](s.Calls, mocks.NewMockSimulationReader(s.ctrl), r.Simulations),
		Webhooks:        between[ports.WebhookReader](s.Calls, mocks.NewMockWebhookReader(s.ctrl), r.Webhooks),
		Feed:            between[ports.FeedReader](s.Calls, mocks.NewMockFeedReader(s.ctrl), r.Feed),
		Operators:       between[ports.OperatorReader](s.Calls, mocks.NewMockOperatorReader(s.ctrl), r.Operators),
		Audit:           between[ports.AuditReader](s.Calls, mocks.NewMockAuditReader(s.ctrl), r.Audit),
		Platform:        between[ports.PlatformReader](s.Calls, mocks.NewMockPlatformReader(s.ctrl), r.Platform),
		Tracking:        between[ports.TrackingReader](s.Calls, mocks.NewMockTrackingReader(s.ctrl), r.Tracking),
		Persons:         between[ports.PersonReader](s.Calls, mocks.NewMockPersonReader(s.ctrl), r.Persons),
		Memberships:     between[ports.MembershipReader](s.Calls, mocks.NewMockMembershipReader(s.ctrl), r.Memberships),
		Links:           between[ports.LinkReader](s.Calls, mocks.NewMockLinkReader(s.ctrl), r.Links),
		Sessions:        between[ports.SessionReader](s.Calls, mocks.NewMockSessionReader(s.ctrl), r.Sessions),
		MoveRuns:        between[ports.MoveRunReader](s.Calls, mocks.NewMockMoveRunReader(s.ctrl), r.MoveRuns),
	}
}

func (s storage) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	return s.call(ctx, "InTx", true, func() error {
		return s.real.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			return fn(ctx, ports.Stores{
				Idempotency:     between[ports.IdempotencyStore](s.Calls, mocks.NewMockIdempotencyStore(s.ctrl), tx.Idempotency),
				Tenancy:         between[ports.TenancyStore](s.Calls, mocks.NewMockTenancyStore(s.ctrl), tx.Tenancy),
				Recipients:      between[ports.RecipientStore](s.Calls, mocks.NewMockRecipientStore(s.ctrl), tx.Recipients),
				PickupLocations: between[ports.PickupLocationStore](s.Calls, mocks.NewMockPickupLocationStore(s.ctrl), tx.PickupLocations),
				Deliveries:      between[ports.DeliveryStore](s.Calls, mocks.NewMockDeliveryStore(s.ctrl), tx.Deliveries),
				Bulks:           between[ports.BulkStore](s.Calls, mocks.NewMockBulkStore(s.ctrl), tx.Bulks),
				Simulations:     between[ports.SimulationStore](s.Calls, mocks.NewMockSimulationStore(s.ctrl), tx.Simulations),
				Webhooks:        between[ports.WebhookStore](s.Calls, mocks.NewMockWebhookStore(s.ctrl), tx.Webhooks),
				Operators:       between[ports.OperatorStore](s.Calls, mocks.NewMockOperatorStore(s.ctrl), tx.Operators),
				Audit:           between[ports.AuditStore](s.Calls, mocks.NewMockAuditStore(s.ctrl), tx.Audit),
				Persons:         between[ports.PersonStore](s.Calls, mocks.NewMockPersonStore(s.ctrl), tx.Persons),
				Memberships:     between[ports.MembershipStore](s.Calls, mocks.NewMockMembershipStore(s.ctrl), tx.Memberships),
				Links:           between[ports.LinkStore](s.Calls, mocks.NewMockLinkStore(s.ctrl), tx.Links),
				Sessions:        between[ports.SessionStore](s.Calls, mocks.NewMockSessionStore(s.ctrl), tx.Sessions),
				Mails:           between[ports.MailStore](s.Calls, mocks.NewMockMailStore(s.ctrl), tx.Mails),
				Devices:         between[ports.DeviceStore](s.Calls, mocks.NewMockDeviceStore(s.ctrl), tx.Devices),
				MoveRuns:        between[ports.MoveRunStore](s.Calls, mocks.NewMockMoveRunStore(s.ctrl), tx.MoveRuns),
			})
		})
	})
}

type bookings struct {
	*Calls
	real ports.Bookings
}

func (b bookings) Book(ctx context.Context, w ports.BookingWrite) error {
	return b.call(ctx, "Book", true, func() error { return b.real.Book(ctx, w) })
}

func (b bookings) BookRun(ctx context.Context, writes []ports.BookingWrite) (n int, err error) {
	err = b.call(ctx, "BookRun", true, func() error {
		n, err = b.real.BookRun(ctx, writes)
		return err
	})
	return n, err
}

type pricing struct {
	*Calls
	real ports.Pricing
}

func (p pricing) Price(ctx context.Context, trip domain.Trip) (quote domain.Quote, err error) {
	err = p.call(ctx, "Price", false, func() (err error) {
		quote, err = p.real.Price(ctx, trip)
		return err
	})
	return quote, err
}

func between[T any](c *Calls, double, real T) T {
	return Around(c.ctrl, double, real, func(ctx context.Context, method string, _ []reflect.Value, do func(context.Context) error) error {
		return c.call(ctx, method, false, func() error { return do(ctx) })
	})
}

// Around makes every method of the double do what call does, which may let the real one do it. All
// methods of these ports begin with a context and end with an error.
func Around[T any](ctrl *gomock.Controller, double, real T, call func(ctx context.Context, method string, args []reflect.Value,
	do func(context.Context) error) error) T {
	for method := range reflect.TypeOf(double).Methods() {
		target := reflect.ValueOf(real).MethodByName(method.Name)
		if !target.IsValid() {
			continue // EXPECT
		}
		anything := make([]any, target.Type().NumIn())
		for i := range anything {
			anything[i] = gomock.Any()
		}
		run := target.Call
		if target.Type().IsVariadic() {
			run = target.CallSlice
		}
		through := reflect.MakeFunc(target.Type(), func(args []reflect.Value) []reflect.Value {
			results := make([]reflect.Value, target.Type().NumOut())
			for i := range results {
				results[i] = reflect.Zero(target.Type().Out(i))
			}
			last := len(results) - 1
			err := call(args[0].Interface().(context.Context), method.Name, args[1:], func(ctx context.Context) error {
				args[0] = reflect.ValueOf(ctx)
				copy(results, run(args))
				err, _ := results[last].Interface().(error)
				return err
			})
			if err != nil {
				results[last] = reflect.ValueOf(&err).Elem()
			}
			return results
		})
		ctrl.RecordCallWithMethodType(double, method.Name, target.Type(), anything...).DoAndReturn(through.Interface()).AnyTimes()
	}
	return double
}
