// Command bench measures how fast deliveries are created and read over HTTP, beside
// the database's own speed on the same machine and in the same run:
//
//	go run ./test/servers -- go run ./test/bench
//
// It drives the real `waybill serve`, on Postgres and on SQLite, with 64 connections
// that send as fast as they get responses. Each create has a key, an external_id and a
// recipient of its own. In the same run, on the same Postgres, pgbench writes the same
// rows into the same tables:
//
//	S  statement by statement, one booking a commit
//	F  in one call of a function, the least that a booking with a commit of its own can cost
//	R  reads single rows by their IDs
//
// A server of the same framework takes the same requests: H does nothing, G reads the
// row by its ID. Rounds are interleaved, and what counts is the median of the ratios
// within the rounds, because absolute figures drift with the machine. Everything shares
// the machine's processors, the load generator too.
//
// It prints one page with the aims and whether they are met, and fails when a response
// was not the expected one.
//
// With an argument it measures something else: webhooks (webhooks.go), creates at an
// ordinary pace (pace.go), requests on large tables (large.go), or a busy half hour
// with all background work (soak.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rounds      int
	duration    time.Duration
	warmUp      time.Duration
	connections int
	clients     int
	protocol    string
	recipients  int
	embedded    bool
	redis       bool
	shelf       int
	binary      string
	beside      string
	only        string

	bulkConnections int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program := benchCreates
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case webhooksArgument:
			program = benchWebhooks
		case largeArgument:
			program = benchLarge
		case paceArgument:
			program = benchPace
		case soakArgument:
			program = soak
		case helloArgument:
			program = hello
		case receiverArgument:
			program = receive
		}
	}
	if err := program(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func benchCreates(ctx context.Context) error {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flag.DurationVar(&o.duration, "duration", 6*time.Second, "length of one measurement, whole seconds")
	flag.DurationVar(&o.warmUp, "warm-up", 2*time.Second, "unmeasured load before the first round")
	flag.IntVar(&o.connections, "connections", 64, "HTTP connections")
	flag.IntVar(&o.clients, "clients", 16, "pgbench clients")
	flag.StringVar(&o.protocol, "protocol", "prepared", "how pgbench sends statements: prepared, extended or simple")
	flag.IntVar(&o.recipients, "recipients", 0, "send to this many recipients in turn; 0: a new one each time, as pgbench does")
	flag.BoolVar(&o.embedded, "embedded", true, "measure SQLite as well")
	flag.BoolVar(&o.redis, "redis", true, "measure creates with limits in Redis as well")
	flag.IntVar(&o.shelf, "shelf", 200_000, "deliveries there are to be read")
	flag.IntVar(&o.bulkConnections, "bulk-connections", 16, "HTTP connections that send bulks")
	flag.StringVar(&o.beside, "beside", "", "other builds of the program, NAME=PATH,NAME=PATH, to be measured in the same run")
	flag.StringVar(&o.only, "only", "", "measure only what this regular expression matches")
	flag.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flag.Parse()
	return run(ctx, o)
}

func run(ctx context.Context, o options) (err error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	b, err := prepare(ctx, o)
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	subjects := slices.DeleteFunc(b.subjects(), func(s *subject) bool { return !only.MatchString(s.name) })
	if len(subjects) == 0 {
		return fmt.Errorf("there is nothing that -only %q matches", o.only)
	}
	for round := range o.rounds {
		for i := range subjects {
			// Another one begins each round, so that none always runs on what
			// the same other one left behind.
			s := subjects[(i+round)%len(subjects)]
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, s.name)
			m, err := s.measure(ctx, round)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.rounds = append(s.rounds, m)
		}
	}
	if err := printReport(os.Stdout, b, subjects); err != nil {
		return err
	}
	for _, s := range subjects {
		for _, m := range s.rounds {
			if m.unexpected > 0 {
				return fmt.Errorf("%s: %d answers were not what they should be, the first %s", s.name, m.unexpected, m.example)
			}
		}
	}
	return nil
}

// subject is one thing that is measured in every round.
type subject struct {
	name    string
	measure func(ctx context.Context, round int) (measurement, error)
	rounds  []measurement
}

// measurement is one of them in one round.
type measurement struct {
	operations int
	perSecond  float64
	latencies  []time.Duration // sorted; of pgbench a sample
	unexpected int             // answers
	example    string          // one of them

	// Processor time spent in this round; zero where it cannot be read.
	server, postgres, redis, client time.Duration
	memory                          int // of the server at most, in MiB
}

// each is the processor time of one operation.
func (m measurement) each(of time.Duration) time.Duration {
	if m.operations == 0 {
		return 0
	}
	return of / time.Duration(m.operations)
}

// quantile of the latencies.
func (m measurement) quantile(q float64) time.Duration {
	if len(m.latencies) == 0 {
		return 0
	}
	return m.latencies[min(len(m.latencies)-1, int(q*float64(len(m.latencies))))]
}
