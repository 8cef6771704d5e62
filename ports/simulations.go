package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// ErrSimulationLimit means that the application runs as many simulations as it may.
var ErrSimulationLimit = errors.New("the limit of running simulations is reached")

// DueStep is a step of a running simulation. The simulation's own state says
// which step that is; a DueStep that is not its next one is out of date.
type DueStep struct {
	Delivery domain.ID
	Done     int // steps before this one
	DueAt    time.Time
}

// SimulationReader tells what runs in the sandbox.
type SimulationReader interface {
	// Due lists steps that are due by then, of all applications, the earliest first.
	Due(ctx context.Context, by time.Time, limit int) ([]DueStep, error)
	// Load is how many simulations the application runs, and when the first of
	// them ends if none is late; the zero time when none runs.
	Load(ctx context.Context, t domain.Tenant) (running int, firstEnd time.Time, err error)
	// Running counts those of all applications.
	Running(ctx context.Context) (int, error)
}

// SimulationStore counts the running simulations of each application, so that a
// limit holds for concurrent starts too.
//
// Of the locks of a transaction the count is the first: a use case that may begin
// or end a simulation calls Lock or Enter before DeliveryStore.Lock.
type SimulationStore interface {
	SimulationReader
	// Lock holds the application's count until the transaction ends.
	Lock(ctx context.Context, t domain.Tenant) error
	// Enter counts one more, or answers ErrSimulationLimit.
	Enter(ctx context.Context, t domain.Tenant) error
	// Leave counts one less, and fails where none is counted.
	Leave(ctx context.Context, t domain.Tenant) error
}
