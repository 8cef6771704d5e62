package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/periodic"
	"waybill/adapters/storage/gormstore"
	"waybill/test/overlay"
)

// cleaningArgument makes this program measure what cleaning takes from creates:
//
//	go run ./test/servers -- go run ./test/bench cleaning
//
// Creates come at a steady pace, with cleaning beside them and without, in turn: unlike a
// look at which creates happened to be beside it (soak.go), this does not count slow
// moments as cleaning that took long. What is cleaned are expired keys, and events and
// webhooks that are too old, with their attempts.
const cleaningArgument = "cleaning"

//go:embed cleaning.sql
var cleaningSQL string

// cleansNothing leaves the cleaning to this program.
var cleansNothing = overlay.Edit{File: "cmd/waybill/service.go", Old: " s.jobs.Task(periodic.Cleaning(s.store, s.log)),"}

// besideCleaning is what the p99 of creates may be beside cleaning.
const besideCleaning = 1.1

type cleaningOptions struct {
	rounds, rows, pace int
	duration           time.Duration
}

// cleanup is a server on a database with what is to be cleaned.
type cleanup struct {
	*bench
	serving         *server
	store           *gormstore.Store
	db              *pgx.Conn
	load            paceLoad
	without, beside []measurement
	removed         int
}

func benchCleaning(ctx context.Context) (err error) {
	var o cleaningOptions
	flags := flag.NewFlagSet(cleaningArgument, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.IntVar(&o.rows, "rows", 200_000, "webhooks, events and keys that are to be cleaned")
	flags.IntVar(&o.pace, "pace", 200, "creates a second")
	flags.DurationVar(&o.duration, "duration", 8*time.Second, "length of a measurement")
	_ = flags.Parse(os.Args[2:]) // it exits
	dir, err := os.MkdirTemp("", "waybill-cleaning-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := overlay.Build(ctx, dir, []overlay.Edit{cleansNothing})
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: binary, connections: paceConnections})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	c := &cleanup{bench: b}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	if err := c.set(ctx, o); err != nil {
		return err
	}
	for round := range 2 * o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round/2+1, o.rounds)
		if err := c.measure(ctx, (round/2+round)%2 == 1, o); err != nil {
			return err
		}
	}
	return c.print(os.Stdout, o)
}

// set serves a database with what is to be cleaned.
func (c *cleanup) set(ctx context.Context, o cleaningOptions) error {
	database, err := c.createDatabase(ctx, "cleaning")
	if err != nil {
		return err
	}
	if c.serving, err = startServer(ctx, c.options, c.binary, database, c.dir); err != nil {
		return err
	}
	if c.db, err = pgx.Connect(ctx, database); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if c.store, err = gormstore.Open(ctx, database, gormstore.Options{Logger: log}); err != nil {
		return err
	}
	var numbers atomic.Int64
	c.load = paceLoad{addresses: []string{c.serving.address}, duration: o.duration, number: func() int { return int(numbers.Add(1)) }}
	for _, key := range c.serving.keys {
		c.load.of = append(c.load.of, application{key: key})
	}
	if _, err := c.db.Exec(ctx, cleaningSQL, o.rows); err != nil {
		return fmt.Errorf("make what is to be cleaned: %w", err)
	}
	warm := c.load
	warm.duration = 2 * time.Second
	if _, err := warm.at(ctx, float64(o.pace)); err != nil {
		return err
	}
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := c.db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (c *cleanup) close(ctx context.Context) (err error) {
	if c.db != nil {
		err = c.db.Close(context.WithoutCancel(ctx))
	}
	if c.store != nil {
		err = errors.Join(err, c.store.Close())
	}
	if c.serving != nil {
		err = errors.Join(err, c.serving.stop())
	}
	return err
}

// measure takes creates, beside cleaning as a worker does it or without.
func (c *cleanup) measure(ctx context.Context, beside bool, o cleaningOptions) error {
	before, err := c.left(ctx)
	if err != nil {
		return err
	}
	during, stop := context.WithCancel(ctx)
	defer stop()
	var cleaning sync.WaitGroup
	var failed error
	if beside {
		job := periodic.Cleaning(c.store, slog.New(slog.DiscardHandler))
		cleaning.Go(func() {
			for during.Err() == nil && failed == nil {
				var rest time.Duration
				if rest, failed = job.Do(ctx); failed == nil {
					_ = pause(during, rest)
				}
			}
		})
	}
	m, err := c.load.at(ctx, float64(o.pace))
	stop()
	cleaning.Wait()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	after, err := c.left(ctx)
	if err != nil {
		return err
	}
	if !beside {
		if after != before {
			return fmt.Errorf("%d webhooks were cleaned while none was to be", before-after)
		}
		c.without = append(c.without, m)
		return nil
	}
	if after == 0 {
		return errors.New("everything was cleaned before the end; give more -rows")
	}
	c.beside = append(c.beside, m)
	c.removed += before - after
	return nil
}

// left is how many old webhooks there are.
func (c *cleanup) left(ctx context.Context) (n int, err error) {
	err = c.db.QueryRow(ctx, "SELECT count(*) FROM webhook_deliveries").Scan(&n)
	return n, err
}

// pooled is the latencies of all rounds.
func pooled(rounds []measurement) (all measurement) {
	for _, m := range rounds {
		all.latencies = append(all.latencies, m.latencies...)
	}
	slices.Sort(all.latencies)
	return all
}

func (c *cleanup) print(w io.Writer, o cleaningOptions) error {
	fmt.Fprintf(w, "%d creates a second, with cleaning beside them and without, %d rounds of %s each; %d processors for everything\n",
		o.pace, o.rounds, o.duration, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", c.about, c.loadAverage)
	for i, rounds := range [][]measurement{c.without, c.beside} {
		m := pooled(rounds)
		fmt.Fprintf(w, "creates %-17s p50 %.1f ms, p99 %.1f, most %.1f\n", []string{"without", "beside cleaning"}[i],
			milliseconds(m.quantile(0.5)), milliseconds(m.quantile(0.99)), milliseconds(m.quantile(1)))
	}
	fmt.Fprintf(w, "%s webhooks were cleaned, with their events and attempts, and keys\n", amount(c.removed))
	var goals []goal
	for _, q := range []float64{0.5, 0.99} {
		g := atMost(fmt.Sprintf("p%.0f of creates beside cleaning / without", 100*q), "ratio", 2, besideCleaning, nil)
		for i := range c.beside {
			g.values = append(g.values, ratio(milliseconds(c.beside[i].quantile(q)), milliseconds(c.without[i].quantile(q))))
		}
		goals = append(goals, g)
	}
	return told(w, goals, "", "")
}
