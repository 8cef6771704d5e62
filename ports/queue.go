package ports

import "context"

// JobKind names jobs that have workers of their own, so that slow work of one kind holds
// up no other.
type JobKind string

// JobSimulation is for the steps of simulations.
const JobSimulation JobKind = "simulation"

// Queue notifies workers that there is something to do. It is an alarm clock and keeps
// nothing: the jobs and their due times are in the storage, and the process that looks
// there repeats lost notifications. So an adapter may forget every notification.
type Queue interface {
	// Notify asks for a run of the kind's handler for the ID that begins after
	// this call. Any number of notifications before the run begins are one; while handlers
	// run for the ID, a few. It gives up within a second.
	Notify(ctx context.Context, kind JobKind, id string) error
	// Run calls the handlers, in this process, for the notifications of all processes, until
	// ctx ends; then it waits for those that run. They are let finish: their
	// context does not end with ctx, but a minute after they began. A handler
	// may be called for the same ID more than once, and at the same time. One
	// that panics has run.
	Run(ctx context.Context, handlers map[JobKind]Handler) error
}

// Handler does what is due for an ID. It returns no error: a job that fails is
// still due, and is notified again.
type Handler func(ctx context.Context, id string)
