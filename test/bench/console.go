package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// consoleArgument makes this program measure the console of the staff over many deliveries:
//
//	go run ./test/servers -- go run ./test/bench console
//
// It measures how long its pages take, what consoles that are open and nothing else cost
// in processor time, and what they and a report take from creates on live. What is with
// consoles and what is without them take turns in every round.
const consoleArgument = "console"

// What the console may take.
const (
	consolePageWithin  = 100 * time.Millisecond
	consoleTableWithin = time.Second // a table of a year
	consolesShare      = 2.0         // % of one core, more than without consoles
	consolesSlow       = 1.1         // p95 of creates beside them
)

// fewestLogged are enough to go back to one that is not among the newest.
const fewestLogged = 100_000

type consoleOptions struct {
	rows, open int
	log        int
	rounds     int
	calls      int
	anew       int
	consoles   int
	idle       time.Duration
	duration   time.Duration
	between    time.Duration
	paces      string
	share      float64
	parts      bool
	step       bool
	binary     string
}

func benchConsole(ctx context.Context) (err error) {
	var o consoleOptions
	flags := flag.NewFlagSet(consoleArgument, flag.ExitOnError)
	flags.IntVar(&o.rows, "rows", 1_000_000, "deliveries")
	flags.IntVar(&o.open, "open", 20_000, "of them that are open")
	flags.IntVar(&o.log, "log", 10_000_000, "requests in the log")
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.IntVar(&o.calls, "calls", 40, "how often a page is asked for in a round")
	flags.IntVar(&o.anew, "anew", 3, "how often a page is asked for in a round when what all consoles share is too old")
	flags.IntVar(&o.consoles, "consoles", 50, "people with the board open")
	flags.DurationVar(&o.idle, "idle", 20*time.Second, "length of a measurement of processor time")
	flags.DurationVar(&o.duration, "duration", 8*time.Second, "length of a measurement of creates")
	flags.DurationVar(&o.between, "between", time.Second, "pause between a report and the next one beside creates")
	flags.StringVar(&o.paces, "paces", "200", "creates a second, separated by commas; empty: a share of full load alone")
	flags.Float64Var(&o.share, "share", 0.7, "of full load, a pace of its own")
	flags.BoolVar(&o.parts, "parts", false, "measure creates beside the consoles alone and beside the report alone too")
	flags.BoolVar(&o.step, "step", false, "wait for a line of the standard input before each round, so that others may have the machine "+
		"meanwhile")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	_ = flags.Parse(os.Args[2:]) // it exits
	var paces []int
	if o.paces != "" {
		if paces, err = parsePaces(o.paces); err != nil {
			return err
		}
	}
	if o.open < 1 || o.open > o.rows {
		return fmt.Errorf("-open %d: give at least one and at most the %d of -rows", o.open, o.rows)
	}
	if o.log < fewestLogged {
		return fmt.Errorf("-log %d: give at least %d, so that there are requests to go back to", o.log, fewestLogged)
	}
	b, err := open(ctx, options{binary: o.binary, connections: paceConnections})
	c := &company{bench: b, consoleOptions: o}
	defer func() { err = errors.Join(err, c.close()) }()
	if err != nil {
		return err
	}
	if err := b.room(ctx, o.rows); err != nil {
		return err
	}
	if err := c.set(ctx); err != nil {
		return err
	}
	pages, anew, lines := c.pages(), anewPages(), bufio.NewScanner(os.Stdin)
	loads := []*consoleLoad{{name: ofShare(o.share), share: o.share}}
	for _, n := range paces {
		loads = append(loads, &consoleLoad{name: perSecondName(n), perSecond: float64(n)})
	}
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
		if o.step && !lines.Scan() {
			return errors.New("the standard input ended before the last round")
		}
		for _, p := range pages { // others may have had the memory: what is read the first time is not measured
			_, _ = c.get(ctx, p.path(round*o.calls))
		}
		for i := range pages {
			if err := c.look(ctx, pages[(i+round)%len(pages)], round, o.calls); err != nil {
				return err
			}
		}
		if err := c.lookAnew(ctx, anew, round); err != nil {
			return err
		}
		for i := range 2 {
			if err := c.rest(ctx, (i+round)%2 == 1); err != nil {
				return err
			}
		}
		for _, l := range loads {
			if err := c.book(ctx, l, round); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
		if err := c.finish(ctx); err != nil {
			return fmt.Errorf("finish what was booked: %w", err)
		}
	}
	return c.print(os.Stdout, append(anew, pages...), loads)
}

func (l *consoleLoad) p95(with int) (values []float64) {
	for _, m := range l.figures[with] {
		values = append(values, milliseconds(m.quantile(.95)))
	}
	return values
}

func (c *company) print(w io.Writer, pages []*portalPage, loads []*consoleLoad) error {
	fmt.Fprintf(w, "The console: %s deliveries, %s of them open, %s requests in the log, %d MB, filled in %.0f s; %d rounds, %d calls of a "+
		"page in each, one after the other\n%s; load average at the start %s\n\n%-64s%10s%10s%10s%10s\n",
		amount(c.rows), amount(c.open), amount(c.log), c.bytes/1e6, c.filled.Seconds(),
		c.rounds, c.calls, c.about, c.loadAverage, "ms", "p50", "p95", "most", "kB")
	slowest := 0.0
	for _, p := range pages {
		slices.Sort(p.took)
		at := func(q float64) float64 { return milliseconds(p.took[min(len(p.took)-1, int(q*float64(len(p.took))))]) }
		missed := ""
		if at(.95) > milliseconds(p.within) {
			missed = "  missed"
		}
		if p.within == consolePageWithin {
			slowest = max(slowest, at(.95))
		}
		fmt.Fprintf(w, "%-64s%10.1f%10.1f%10.1f%10.0f%s\n", p.name, at(.5), at(.95), at(1), float64(p.bytes)/1000,
			missed)
	}
	more := make([]float64, len(c.idled[0]))
	for i := range more {
		more[i] = c.idled[1][i] - c.idled[0][i]
	}
	fmt.Fprintf(w, "\n%% of a core, server and Postgres, in %s: without consoles %.1f %s, with %d %.1f %s\n", c.idle, median(c.idled[0]),
		spread(c.idled[0]), c.consoles, median(c.idled[1]), spread(c.idled[1]))
	goals := []goal{atMost("p95 of the slowest page", "ms", 0, milliseconds(consolePageWithin), []float64{slowest}),
		atMost(fmt.Sprintf("%d consoles open", c.consoles), "% of a core", 2, consolesShare, more)}
	for _, l := range loads {
		alone := l.p95(0)
		fmt.Fprintf(w, "creates, %s, p95 in ms: by themselves %.1f %s; %d reports read\n", l.name, median(alone), spread(alone), l.reports)
		for with, beside := range []string{besideConsoles: "consoles", besideReport: "a report", besideConsoles | besideReport: "both"} {
			p95 := l.p95(with)
			if beside == "" || len(p95) == 0 {
				continue
			}
			fmt.Fprintf(w, "    beside %s %.1f %s\n", beside, median(p95), spread(p95))
			goals = append(goals, atMost("creates, "+l.name+": p95 beside "+beside, "ratio", 2, consolesSlow, quotients(p95, alone)))
		}
	}
	return told(w, goals, "", "")
}
