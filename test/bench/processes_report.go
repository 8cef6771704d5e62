package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

// values are of a trial's rounds.
func (t *fleetTrial) values(of func(paceFigure) float64) []float64 {
	values := make([]float64, len(t.figures))
	for i, f := range t.figures {
		values[i] = of(f)
	}
	return values
}

func (t *fleetTrial) median(of func(paceFigure) float64) float64 { return median(t.values(of)) }

// row is the trial's line of the page.
func (t *fleetTrial) row() string {
	hooks := "-"
	if t.hooked {
		hooks = fmt.Sprintf("%.1f", t.median(hookAt(0.95)))
	}
	row := fmt.Sprintf("%-32s %8.0f %7.1f %7.1f %7.1f %9s", t.name(), t.median(func(f paceFigure) float64 { return f.perSecond }),
		t.median(latencyAt(0.5)), t.median(latencyAt(0.95)), t.median(latencyAt(0.99)), hooks)
	for _, of := range []func(spent) time.Duration{
		func(s spent) time.Duration { return s.serve }, func(s spent) time.Duration { return s.worker },
		func(s spent) time.Duration { return s.postgres }, func(s spent) time.Duration { return s.redis }, spent.inAll,
	} {
		row += fmt.Sprintf(" %7.0f", t.median(forOne(of)))
	}
	return row
}

// printFleet is the page.
func printFleet(w io.Writer, f *fleet, o processesOptions, trials []*fleetTrial, idled []idleFleet) error {
	fmt.Fprintf(w, "Many processes on one Postgres and one Redis: %d rounds of %s, interleaved; %d processors for everything, the load too\n",
		o.rounds, o.duration, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", f.about, f.loadAverage)
	fmt.Fprintf(w, "Creates begin at moments of chance, and are timed from those; %d connections, shared out among the servers.\n"+
		"Medians of the rounds.\n", paceConnections)
	pace := 0
	for _, t := range trials {
		if t.pace != pace {
			pace = t.pace
			fmt.Fprintf(w, "\n%-32s %8s %23s %9s %41s\n", perSecondName(pace), "creates", "ms: p50     p95     p99", "webhooks'",
				"CPU us for a create: servers, workers,")
			fmt.Fprintf(w, "%-32s %8s %23s %9s %41s\n", "", "/ s", "", "p95", "Postgres, Redis, all")
		}
		fmt.Fprintln(w, t.row())
	}
	fmt.Fprintln(w)
	var goals []goal
	for _, g := range growths(trials) {
		if g.atMost > 0 {
			goals = append(goals, g)
			continue
		}
		fmt.Fprintf(w, "%-45s %.2f (%.2f to %.2f)\n", g.name, g.value(), slices.Min(g.values), slices.Max(g.values))
	}
	printIdle(w, o.idle, idled)
	return told(w, goals, "", "")
}

func printIdle(w io.Writer, lasting time.Duration, idled []idleFleet) {
	if len(idled) == 0 {
		return
	}
	fmt.Fprintf(w, "\nIdle for %s, %% of a core:\n", lasting)
	for _, n := range idled {
		fmt.Fprintf(w, "  %-32s servers %.2f, workers %.2f, Postgres %.2f, Redis %.2f, all %.2f\n",
			counted(n.serves, "server")+", "+counted(n.workers, "worker"), n.serve, n.worker, n.postgres, n.redis, n.inAll)
	}
	for i, what := range []string{"server", "worker"} {
		trips, all := idled[i+1].trips, 0.0
		var kinds []string
		for _, name := range slices.SortedFunc(maps.Keys(trips), func(a, b string) int {
			return cmp.Or(cmp.Compare(trips[b], trips[a]), strings.Compare(a, b))
		}) {
			all += trips[name]
			kinds = append(kinds, fmt.Sprintf("    %6.2f  %s", trips[name], name))
		}
		fmt.Fprintf(w, "One idle %s asks %.1f times a second:\n%s\n", what, all, strings.Join(kinds, "\n"))
	}
}

// growths compare more processes with the fewest, round by round. There is an aim for the
// most of the program's own, and for those over the growth of F by as many.
func growths(trials []*fleetTrial) (all []goal) {
	fewest := map[string]*fleetTrial{}
	type trial struct{ pace, processes int }
	ofF := map[trial][]float64{}
	for _, t := range trials {
		kind, n, most := fmt.Sprintf("%s, servers", perSecondName(t.pace)), t.serves, slices.Max(serveCounts)
		switch {
		case t.bare > 0:
			kind, n, most = fmt.Sprintf("%s, F", perSecondName(t.pace)), t.bare, 0
		case t.hooked:
			kind, n, most = fmt.Sprintf("%s, webhooks, workers", perSecondName(t.pace)), t.workers, slices.Max(workerCounts)
		}
		if fewest[kind] == nil {
			fewest[kind] = t
			continue
		}
		aim := -1.0
		if n == most {
			aim = mostGrowth
		}
		grown := quotients(t.values(inAll), fewest[kind].values(inAll))
		all = append(all, atMost(fmt.Sprintf("%s: CPU with %d / with 1", kind, n), "ratio", 2, aim, grown))
		switch {
		case t.bare > 0:
			ofF[trial{t.pace, n}] = grown
		case n == most && ofF[trial{t.pace, n}] != nil:
			all = append(all, atMost(fmt.Sprintf("%s: the same over that of F", kind), "ratio", 2, aim, quotients(grown, ofF[trial{t.pace, n}])))
		}
	}
	return all
}
