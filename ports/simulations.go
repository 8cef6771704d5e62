package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// ErrSimulationLimit means that the application runs as many simulations as it may.
var ErrSimulationLimit = errors.New("the limit of running simulations is reached")

// DueStep is a step of a running simulation. It is outdated where it is not the next step of the
// simulation's own state.
type DueStep struct {
	Delivery domain.ID
	Done     int // steps before this one
	DueAt    time.Time
}

// SimulationReader reads running simulations of the sandbox.
type SimulationReader interface {
	// Due lists steps of all applications that are due at the given time, the earliest first.
	Due(ctx context.Context, by time.Time, limit int) ([]DueStep, error)
	// Load returns how many simulations the application runs, and when the first of them ends if
	// none is late. The time is zero when none runs.
	Load(ctx context.Context, t domain.Tenant) (running int, firstEnd time.Time, err error)
	// Running counts the running simulations of all applications.
	Running(ctx context.Context) (int, error)
}

// SimulationStore counts the running simulations of each application, so that a limit holds for
// concurrent starts too.
//
// The count is the first lock of a transaction: a use case that may begin or end a simulation calls
// Lock or Enter before DeliveryStore.Lock.
type SimulationStore interface {
	SimulationReader
	// Lock locks the application's count until the transaction ends.
	Lock(ctx context.Context, t domain.Tenant) error
	// Enter adds one to the count, or returns ErrSimulationLimit.
	Enter(ctx context.Context, t domain.Tenant) error
	// Leave subtracts one from the count, and fails where it is zero.
	Leave(ctx context.Context, t domain.Tenant) error
}
