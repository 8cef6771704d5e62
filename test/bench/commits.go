package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// committers are the connections that commit at a steady pace.
const committers = 4

// commits is the limit of any latency that has a commit in it: one row of a
// payload's size at a steady pace, and nothing else, on the same Postgres.
func (p *post) commits(ctx context.Context, perSecond int, duration time.Duration) (o outcome, err error) {
	if _, err := p.db.Exec(ctx, "CREATE TABLE IF NOT EXISTS bench_commits (id bigserial PRIMARY KEY, payload bytea)"); err != nil {
		return o, err
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	next, failed := make(chan struct{}), make(chan error, committers)
	for range committers {
		db, err := pgx.Connect(ctx, p.db.Config().ConnString())
		if err != nil {
			close(next)
			return o, err
		}
		group.Go(func() {
			defer db.Close(context.WithoutCancel(ctx))
			row := make([]byte, 1400)
			var err error
			for range next {
				begun := time.Now()
				if err == nil {
					_, err = db.Exec(ctx, "INSERT INTO bench_commits (payload) VALUES ($1)", row)
				}
				mu.Lock()
				o.commits = append(o.commits, time.Since(begun))
				mu.Unlock()
			}
			failed <- err
		})
	}
	begun := time.Now()
	for i := range perSecond * int(duration/time.Second) {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		next <- struct{}{}
	}
	close(next)
	group.Wait()
	for range committers {
		err = errors.Join(err, <-failed)
	}
	slices.Sort(o.commits)
	return o, err
}

// committed is a quantile of bare commits, in milliseconds.
func committed(name string, q float64) figure {
	return figure{name, func(o outcome) float64 {
		return milliseconds(measurement{latencies: o.commits}.quantile(q))
	}, 1, 0, -1}
}
