package ports

import "context"

// JobKind names background jobs that have their own workers, so that slow jobs of one kind do not
// delay other kinds.
type JobKind string

// JobSimulation is the kind for steps of simulations.
const JobSimulation JobKind = "simulation"

// Queue notifies workers that there is something to do. It stores nothing: the jobs and their due
// times are in the storage, and the process that looks there repeats lost notifications. So an
// adapter may lose any notification.
type Queue interface {
	// Notify requests a run of the kind's handler for the ID that begins after this call. Any
	// number of notifications before the run begins cause one run; while handlers run for the ID, a
	// few. It gives up within a second.
	Notify(ctx context.Context, kind JobKind, id string) error
	// Run calls the handlers in this process for the notifications of all processes until ctx ends.
	// Then it waits for running handlers, whose context ends a minute after they began, not with
	// ctx. A handler may be called for the same ID more than once, and concurrently. A panic ends
	// its run like a return.
	Run(ctx context.Context, handlers map[JobKind]Handler) error
}

// Handler does what is due for an ID. It returns no error: a failed job stays due and is notified
// again.
type Handler func(ctx context.Context, id string)
