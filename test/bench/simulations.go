package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/domain"
)

// simulationsArgument makes this program measure how late the steps of simulations
// come, on a server and a worker with a Redis between them.
const simulationsArgument = "simulations"

// simulationOptions are the flags behind it.
type simulationOptions struct {
	pending     int
	stepSeconds int
	binary      string
	plot        string
}

// scenarioMeasured is one whose steps come at a steady pace.
const scenarioMeasured = domain.ScenarioDelivered

// simulatedOrder is a create whose delivery then moves by itself.
func simulatedOrder(stepSeconds int) string {
	end := strings.LastIndexByte(orderBody, '}')
	return orderBody[:end] + fmt.Sprintf(`, "sandbox": {"scenario": "%s", "step_seconds": %d}}`, scenarioMeasured, stepSeconds)
}

func benchSimulations(ctx context.Context) (err error) {
	var o simulationOptions
	flags := flag.NewFlagSet(simulationsArgument, flag.ExitOnError)
	flags.IntVar(&o.pending, "pending", 5000, "how many simulations run at a time")
	flags.IntVar(&o.stepSeconds, "step-seconds", 15, "how long each waits between two steps")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flags.StringVar(&o.plot, "plot", "", "a file into which the goals are drawn, as SVG")
	_ = flags.Parse(os.Args[2:]) // it exits
	b, err := open(ctx, options{binary: o.binary})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	r, err := openRehearsal(ctx, b, o)
	defer func() { err = errors.Join(err, r.close()) }()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.awaitEnd(ctx); err != nil {
		return err
	}
	lateness, err := r.lateness(ctx)
	if err != nil {
		return err
	}
	return r.print(os.Stdout, lateness, time.Since(begun))
}

// rehearsal is a server, a worker, and simulations that they play.
type rehearsal struct {
	*bench
	simulationOptions
	db       *pgx.Conn
	store    *ownRedis
	serving  *server
	worker   *server
	enrolled customers
}

// openRehearsal starts everything. What it returns must be closed, also after an
// error.
func openRehearsal(ctx context.Context, b *bench, o simulationOptions) (r *rehearsal, err error) {
	r = &rehearsal{bench: b, simulationOptions: o}
	if r.store, err = startRedis(ctx); err != nil {
		return r, err
	}
	database, err := b.createDatabase(ctx, "simulations")
	if err != nil {
		return r, err
	}
	if r.db, err = pgx.Connect(ctx, database); err != nil {
		return r, err
	}
	if err := command(ctx, b.binary, database, nil, "migrate", "up"); err != nil {
		return r, err
	}
	applications := (o.pending + domain.MaxRunningSimulations - 1) / domain.MaxRunningSimulations
	if r.enrolled, err = enroll(ctx, b.binary, database, domain.Sandbox, applications); err != nil {
		return r, err
	}
	env := append(settings(database), "WAYBILL_REDIS_URL="+r.store.url)
	if r.serving, err = launch(ctx, b.binary, b.dir, "serve", env); err != nil {
		return r, err
	}
	r.worker, err = launch(ctx, b.binary, b.dir, "worker", env)
	return r, err
}

// close undoes openRehearsal, also one that stopped half-way; the bench is its own.
func (r *rehearsal) close() error {
	var err error
	for _, s := range []*server{r.worker, r.serving} {
		if s != nil {
			err = errors.Join(err, s.stop())
		}
	}
	if r.db != nil {
		err = errors.Join(err, r.db.Close(context.Background()))
	}
	if r.store != nil {
		err = errors.Join(err, r.store.stop())
	}
	return err
}

// start orders the simulations, spread over the time of a step: so steps are due
// at a steady pace, too.
func (r *rehearsal) start(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	pace := time.Duration(r.stepSeconds) * time.Second / time.Duration(r.pending)
	next := make(chan int)
	var group sync.WaitGroup
	for _, key := range r.enrolled.keys {
		c, err := dialWith(ctx, r.serving.sandbox, postRequest(r.serving.sandbox, key, "/v1/deliveries", "bench-order-"+placeholder,
			simulatedOrder(r.stepSeconds)))
		if err != nil {
			fail(err)
			break
		}
		group.Go(func() {
			defer c.net.Close()
			for range domain.MaxRunningSimulations { // each application has as many as it may
				number, more := <-next
				if !more {
					return
				}
				a, err := c.create(number, number)
				if err == nil && a.status != http.StatusCreated {
					err = fmt.Errorf("a create was answered %d: %s", a.status, a.body)
				}
				if err != nil {
					fail(err)
					return
				}
			}
		})
	}
	begun := time.Now()
	for i := range r.pending {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * pace)))
		select {
		case next <- i + 1:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// awaitEnd waits until none runs any more.
func (r *rehearsal) awaitEnd(ctx context.Context) error {
	steps := 0
	for _, s := range scenarioMeasured.Steps() {
		steps += s.Wait
	}
	for deadline := time.Now().Add(time.Duration(steps*r.stepSeconds)*time.Second + time.Minute); ; {
		var running int
		if err := r.db.QueryRow(ctx, "SELECT count(*) FROM deliveries WHERE simulation_next_at IS NOT NULL").Scan(&running); err != nil ||
			running == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d simulations still run a minute after they should have ended", running)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// lateness is of each step after the moment it was due, sorted; below zero it came
// early. What a delivery lacks of its steps is an error.
func (r *rehearsal) lateness(ctx context.Context) ([]time.Duration, error) {
	steps := scenarioMeasured.Steps()
	rows, err := r.db.Query(ctx, "SELECT array_agg(occurred_at ORDER BY sequence), array_agg(status ORDER BY sequence) FROM delivery_events "+
		"GROUP BY delivery_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var late []time.Duration
	for rows.Next() {
		var at []time.Time
		var statuses []string
		if err := rows.Scan(&at, &statuses); err != nil {
			return nil, err
		}
		if len(at) != 1+len(steps) {
			return nil, fmt.Errorf("a delivery has %d events, want %d: %v", len(at), 1+len(steps), statuses)
		}
		for i, step := range steps {
			if statuses[i+1] != string(step.To) {
				return nil, fmt.Errorf("a delivery went %v", statuses)
			}
			late = append(late, at[i+1].Sub(at[i])-time.Duration(step.Wait*r.stepSeconds)*time.Second)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(late) != r.pending*len(steps) {
		return nil, fmt.Errorf("there were %d steps, want %d", len(late), r.pending*len(steps))
	}
	slices.Sort(late)
	return late, nil
}

func (r *rehearsal) print(w io.Writer, late []time.Duration, took time.Duration) error {
	early, _ := slices.BinarySearch(late, 0)
	m := measurement{latencies: late}
	fmt.Fprintf(w, "Simulations: %s at a time, %d s between two steps, %s steps in %.0f s; %d processors for everything\n",
		amount(r.pending), r.stepSeconds, amount(len(late)), took.Seconds(), runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", r.about, r.loadAverage)
	fmt.Fprintf(w, "A step is late by the time of its event after that of the one before and what it was to wait.\n\n")
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		fmt.Fprintf(w, "  p%-4g %8.1f ms\n", q*100, milliseconds(m.quantile(q)))
	}
	return told(w, []goal{
		atMost("p99 of how late a step is", "ms", 1, 150, []float64{milliseconds(m.quantile(0.99))}),
		atMost("steps that came early", "", 0, 0, []float64{float64(early)}),
	}, fmt.Sprintf("Waybill beside its limits: %s simulations at a time", amount(r.pending)), r.plot)
}
