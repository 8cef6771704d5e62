// Command bench measures how fast deliveries are created and read over HTTP, beside
// the database's own speed on the same machine and in the same run:
//
//	go run ./test/servers -- go run ./test/bench
//
// It drives the real `waybill serve`, on Postgres and on SQLite, with 64 connections
// that send as fast as they get responses. Each create has a key, an external_id and a
// recipient of its own. Two others do as much as can be done without the program, in the
// same run and on the same Postgres:
//
//	F  pgbench writes a booking with one call and one commit
//	G  a server of the same framework reads the row of a delivery by its ID
//
// Rounds are interleaved, and what counts is the median of the ratios within the rounds,
// because absolute figures drift with the machine. Everything shares the machine's
// processors, the load generator too.
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
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags of the whole run.
type options struct {
	rounds   int
	duration time.Duration
	binary   string
}

// flagsOf returns the flags that the measurements have in common.
func flagsOf(name string, o *options, rounds int, duration time.Duration) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", rounds, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", duration, "length of one measurement, whole seconds")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	return flags
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, args := benchCreates, os.Args[1:]
	if len(args) > 0 {
		named := map[string]func(context.Context, []string) error{
			webhooksArgument: benchWebhooks, largeArgument: benchLarge, paceArgument: benchPace, soakArgument: soak,
			readerArgument: serveReads, receiverArgument: receive,
		}[args[0]]
		if named != nil {
			program, args = named, args[1:]
		}
	}
	if err := program(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurement is what one round of a subject came to.
type measurement struct {
	operations int
	perSecond  float64
	latencies  []time.Duration // sorted; of pgbench a sample
	unexpected int             // answers
	example    string          // one of them
	spent
}

// quantile of the latencies.
func (m measurement) quantile(q float64) time.Duration {
	if len(m.latencies) == 0 {
		return 0
	}
	return m.latencies[min(len(m.latencies)-1, int(q*float64(len(m.latencies))))]
}

// failed reports the answers that were not as they should be.
func (m measurement) failed() error {
	if m.unexpected == 0 {
		return nil
	}
	return fmt.Errorf("%d answers were not what they should be, the first %s", m.unexpected, m.example)
}
