package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// paceArgument makes this program measure what a create takes and costs at an ordinary
// pace, far below what the machine can do:
//
//	go run ./test/servers -- go run ./test/bench pace
//
// Creates begin at moments that chance draws, whether or not earlier ones have ended,
// and each is timed from the moment at which it was to begin. pgbench does F at the
// same pace in the same way.
const paceArgument = "pace"

const (
	// paceApplications share the connections.
	paceApplications = 4
	// wakeUp is how long an installation that was held works before it is measured.
	wakeUp = 500 * time.Millisecond
	// quiet is how long the queue still asks often after it got something; nothing
	// tells when that is over.
	quiet = 2 * time.Second
)

// paced is a run.
type paced struct {
	*bench
	perSecond int
	idle      time.Duration
	pgbench   *pgbench
	subjects  []*paceSubject
}

// paceSubject is one thing that is measured in every round.
type paceSubject struct {
	name   string
	in     *installation // nil: pgbench
	rounds []measurement
	idled  spent // for as long as was asked
}

func benchPace(ctx context.Context, args []string) (err error) {
	r := &paced{}
	var o options
	flags := flagsOf(paceArgument, &o, 5, 10*time.Second)
	flags.IntVar(&r.perSecond, "pace", 200, "creates a second")
	flags.DurationVar(&r.idle, "idle", 0, "also measure for so long what is spent while nothing happens")
	_ = flags.Parse(args) // it exits
	r.bench, err = open(ctx, o)
	defer func() { err = errors.Join(err, r.stop(), r.close()) }()
	if err != nil {
		return err
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.measureIdle(ctx); err != nil {
		return err
	}
	for round := range r.rounds {
		for i := range r.subjects {
			s := r.subjects[(i+round)%len(r.subjects)] // another one begins each round
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, r.rounds, s.name)
			if err := r.measure(ctx, s, round); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	r.print(os.Stdout)
	return nil
}

func (r *paced) start(ctx context.Context) (err error) {
	r.subjects = []*paceSubject{{name: byFunction}}
	for _, s := range []*paceSubject{{name: "create, no Redis"}, {name: "create, Redis"}} {
		s.in, err = openInstallation(ctx, r.bench, s.name == "create, Redis", paceApplications)
		r.subjects = append(r.subjects, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if _, err := s.in.fill(ctx, s.in.keys[0], warmUp); err != nil { // caches, and tables of some size
			return err
		}
	}
	r.pgbench, err = openPgbench(ctx, r.bench, r.subjects[1].in.db)
	return err
}

func (r *paced) stop() (err error) {
	for _, s := range r.subjects {
		if s.in != nil {
			err = errors.Join(err, s.in.hold(syscall.SIGCONT), s.in.close())
		}
	}
	return err
}

// only lets one installation run, and none where it is nil: the others would spend what
// is counted for it in the one Postgres.
func (r *paced) only(one *installation) (err error) {
	for _, s := range r.subjects {
		signal := syscall.SIGSTOP
		if s.in == one {
			signal = syscall.SIGCONT
		}
		if s.in != nil {
			err = errors.Join(err, s.in.hold(signal))
		}
	}
	return err
}

// measure is one subject in one round. What it left to be cleaned is cleaned before the next
// one is measured, to which Postgres's own cleaning would be counted.
func (r *paced) measure(ctx context.Context, s *paceSubject, round int) error {
	if err := r.only(s.in); err != nil {
		return err
	}
	database := r.pgbench.database
	run := func(duration time.Duration) (measurement, error) {
		return r.pgbench.book(ctx, r.perSecond, duration, round)
	}
	if s.in != nil {
		database = s.in.url
		run = func(duration time.Duration) (measurement, error) {
			return s.in.creates(s.in.keys, float64(r.perSecond), duration).run(ctx)
		}
		// An installation that was held has to find out what has become due meanwhile, and to wake up.
		if _, err := run(wakeUp); err != nil {
			return err
		}
	}
	before := r.spent(s)
	m, err := run(r.duration)
	if err != nil {
		return err
	}
	m.spent = r.spent(s).since(before)
	s.rounds = append(s.rounds, m)
	return r.settle(ctx, database)
}

func (r *paced) spent(s *paceSubject) spent {
	if s.in == nil {
		return r.bench.spent(nil, nil, nil)
	}
	return s.in.spent()
}

// measureIdle measures each installation while no request comes.
func (r *paced) measureIdle(ctx context.Context) error {
	if r.idle == 0 {
		return nil
	}
	for _, s := range r.subjects[1:] { // of what the loads before left
		if err := r.settle(ctx, s.in.url); err != nil {
			return err
		}
	}
	for _, s := range r.subjects[1:] {
		if err := r.only(s.in); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "idle: "+s.name)
		if err := pause(ctx, 2*quiet); err != nil {
			return err
		}
		before := s.in.spent()
		if err := pause(ctx, r.idle); err != nil {
			return err
		}
		s.idled = s.in.spent().since(before)
	}
	return nil
}

// processors are where the time of an operation goes.
var processors = []func(spent) time.Duration{
	func(s spent) time.Duration { return s.serve }, func(s spent) time.Duration { return s.worker },
	func(s spent) time.Duration { return s.postgres }, func(s spent) time.Duration { return s.redis }, spent.inAll,
}

// print is the page.
func (r *paced) print(w io.Writer) {
	r.printHead(w, fmt.Sprintf("%d creates a second, which begin at moments of chance and are timed from those; pgbench: %d clients", r.perSecond,
		pgbenchClients))
	fmt.Fprintf(w, "%-24s %8s %23s %47s\n", "medians", "creates", "ms: p50     p95     p99", "CPU us: server, worker, Postgres, Redis, all")
	first := r.subjects[0].rounds
	var goals []goal
	for _, s := range r.subjects {
		fmt.Fprintf(w, "%-24s %8.0f %7.1f %7.1f %7.1f       ", s.name, median(values(s.rounds, perSecond)),
			median(values(s.rounds, at(0.5))), median(values(s.rounds, at(0.95))), median(values(s.rounds, at(0.99))))
		for _, of := range processors {
			fmt.Fprintf(w, " %7.0f", median(values(s.rounds, each(of))))
		}
		fmt.Fprintln(w)
		if s.in == nil {
			continue
		}
		goals = append(goals, atMost(s.name+": p50 / F", "ratio", 2.5, ratios(s.rounds, first, at(0.5))),
			atMost(s.name+": p95 / F", "ratio", 2.5, ratios(s.rounds, first, at(0.95))),
			atMost(s.name+": CPU / F", "ratio", 2.5, ratios(s.rounds, first, each(spent.inAll))))
		if r.idle > 0 {
			goals = append(goals, atMost(s.name+": idle", "% of a core", 4, []float64{100 * float64(s.idled.inAll()) / float64(r.idle)}))
		}
	}
	printGoals(w, goals)
}
