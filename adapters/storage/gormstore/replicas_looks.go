package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// lookEvery is the interval of health checks, and lookTime limits how long a replica may take
	// to respond, besides the bound of its lag.
	lookEvery = 500 * time.Millisecond
	lookTime  = time.Second
)

// pgCluster identifies the database, and is the same wherever replication copies it.
const pgCluster = "SELECT system_identifier::text || ' ' || current_database() FROM pg_control_system()"

var errOtherDatabase = errors.New("it is a replica of another database")

// watch checks all replicas, and repeats that until close.
func (r *replicaReads) watch(ctx context.Context, primary *sql.DB) {
	var first sync.WaitGroup
	for _, one := range r.all {
		first.Go(func() { r.look(ctx, one, primary) })
	}
	first.Wait()
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, one := range r.all {
		r.looking.Go(func() {
			ticks := time.NewTicker(lookEvery)
			defer ticks.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticks.C:
					r.look(ctx, one, primary)
				}
			}
		})
	}
}

// look does with a replica what a list does. By the result it takes the replica in or leaves it
// out.
func (r *replicaReads) look(process context.Context, at *replica, primary *sql.DB) {
	ctx, cancel := context.WithTimeout(process, lookTime+r.bound)
	defer cancel()
	end, err := r.end(ctx)
	if err != nil {
		return // no replica can be judged
	}
	asked := time.Now()
	replayed, err := r.ask(ctx, at, end, primary)
	switch {
	case process.Err() != nil:
		return
	case err == nil:
		at.unreplayed, at.unreplayedAt = position{}, asked
		at.behind.Store(0)
		r.takeIn(at)
	default:
		if at.unreplayed.at <= replayed || at.unreplayed.timeline != end.timeline {
			at.unreplayed, at.unreplayedAt = end, asked
		}
		if replayed > 0 {
			at.behind.Store(max(0, end.at-replayed))
		}
		r.leaveOut(at, err)
	}
	at.lag.Store(int64(time.Since(at.unreplayedAt)))
}

// ask waits until a replica has replayed the log up to an end of it, within the bound of the lag.
// The error says why no lists may be read from it.
func (r *replicas) ask(ctx context.Context, at *replica, end position, primary *sql.DB) (replayed int64, err error) {
	conn, err := at.looks.Conn(ctx)
	if errors.Is(err, errNoReplica) {
		return 0, errNoReplica
	}
	if err != nil {
		return 0, fmt.Errorf("it does not answer: %w", endedBy(ctx, err))
	}
	defer func() { _ = conn.Close() }() // back into the pool, or broken
	if err := sameCluster(ctx, conn, primary); err != nil {
		return 0, err
	}
	within, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	if replayed, err = end.replayed(within, conn); err == nil {
		err = at.warm(ctx)
	}
	return replayed, err
}

func sameCluster(ctx context.Context, conn *sql.Conn, primary *sql.DB) error {
	var own, followed string
	if err := conn.QueryRowContext(ctx, pgCluster).Scan(&own); err != nil {
		return fmt.Errorf("it does not tell what it is: %w", endedBy(ctx, err))
	}
	if err := primary.QueryRowContext(ctx, pgCluster).Scan(&followed); err != nil {
		return fmt.Errorf("the primary does not tell what it is: %w", endedBy(ctx, err))
	}
	if own != followed {
		return errOtherDatabase
	}
	return nil
}

// warm opens a connection where a pool has none: a list has no time for that.
func (r *replica) warm(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, db := range r.pools {
		if db.Stats().OpenConnections > 0 {
			continue
		}
		conn, err := db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("it takes no connection for lists: %w", endedBy(ctx, err))
		}
		_ = conn.Close() // into the pool
	}
	return nil
}
