package periodic

import (
	"context"
	"log/slog"
	"time"
)

const (
	// movesEvery is how often a process looks for runs of moves that no process works
	// on: those whose process died, and those that took longer than their request.
	movesEvery = time.Second
	// movesAtOnce is for how long one look works on a run, and movesLimit ends it where
	// the database says nothing.
	movesAtOnce = 5 * time.Second
	movesLimit  = 30 * time.Second
)

type mover interface {
	GoOn(ctx context.Context, patience time.Duration) (worked bool, err error)
}

// Moves carries runs of moves to their end. Any number of processes may do it.
func Moves(m mover) Job {
	return Job{Name: "moves", Every: movesEvery, Limit: movesLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			worked, err := m.GoOn(ctx, movesAtOnce)
			if worked && err == nil {
				return 1, nil
			}
			return 0, err
		}}
}
