package main

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// fewest latencies of which a p99 says anything, and samples that show whether
// something stays as it is; and how many minutes it takes until it may, as tables
// are cleaned and vacuumed by the minute.
const (
	fewestSpans   = 1000
	fewestSamples = 6
	fewestMinutes = 10
	// paceKept is the p50 from which on requests wait for those before them: such
	// latencies tell of the machine.
	paceKept = 250 * time.Millisecond
)

// flatness is the middle of the last third of values as a multiple of that of the
// third before; what is before that may still rise. Few values show nothing.
func flatness(values []float64) []float64 {
	n := len(values)
	if n < fewestSamples {
		return nil
	}
	before, last := median(values[n/3:2*n/3]), median(values[2*n/3:])
	if before == 0 {
		return nil
	}
	return []float64{last / before}
}

// of is a figure of each sample.
func (s *soaking) of(figure func(moment) float64) []float64 {
	values := make([]float64, len(s.samples))
	for i, one := range s.samples {
		values[i] = figure(one)
	}
	return values
}

// goals are what the run is judged by; those without values could not be judged.
func (s *soaking) goals() (goals []goal) {
	for _, of := range []*stream{&s.created, &s.read} {
		g := atMost("p99 of "+of.name+" beside cleaning / others", "ratio", 1.5, nil)
		beside, others := s.watch.split(of.spans)
		if min(len(beside.latencies), len(others.latencies)) >= fewestSpans && max(beside.quantile(0.5), others.quantile(0.5)) < paceKept {
			g.values = []float64{float64(beside.quantile(0.99)) / float64(others.quantile(0.99))}
		}
		goals = append(goals, g)
	}
	flat := func(name string, figure func(moment) float64) {
		g := atMost(name, "ratio", 1.1, nil)
		if s.minutes >= fewestMinutes {
			g.values = flatness(s.of(figure))
		}
		goals = append(goals, g)
	}
	flat("size of idempotency_keys / a third before", func(one moment) float64 {
		return float64(one.tables[cleaned[0]].heap + one.tables[cleaned[0]].indexes)
	})
	for _, name := range cleaned[1:] { // rows of the first come and go with each minute
		flat("bytes a row of "+name, func(one moment) float64 { return one.tables[name].each() })
	}
	flat("memory of the server", func(one moment) float64 { return float64(one.serve) })
	flat("memory of the worker", func(one moment) float64 { return float64(one.worker) })
	flat("goroutines of the server", func(one moment) float64 { return float64(one.serveGoes) })
	flat("goroutines of the worker", func(one moment) float64 { return float64(one.workerGoes) })
	return goals
}

// print is the page.
func (s *soaking) print(w io.Writer) {
	fmt.Fprintf(w, "%g minutes of %d creates with a webhook, as many reads and %d simulations a second; %d processors for everything\n",
		s.minutes, s.perSecond, s.simulations, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", s.about, s.loadAverage)
	fmt.Fprintf(w, "Idempotency keys are kept for %s; %d events a second are made that are older than they are kept.\n\n", s.retention,
		s.perSecond)

	var cleaning time.Duration
	for _, c := range s.watch.spans {
		cleaning += c.ended.Sub(c.begun)
	}
	fmt.Fprintf(w, "p50 / p99 ms; there was cleaning %d times, for %.0f s in all\n", len(s.watch.spans), cleaning.Seconds())
	for _, of := range []*stream{&s.created, &s.read, &s.simulate} {
		beside, others := s.watch.split(of.spans)
		fmt.Fprintf(w, "  %-12s beside cleaning %6.1f / %6.1f (%d)   others %6.1f / %6.1f (%d)\n", of.name,
			milliseconds(beside.quantile(0.5)), milliseconds(beside.quantile(0.99)), len(beside.latencies),
			milliseconds(others.quantile(0.5)), milliseconds(others.quantile(0.99)), len(others.latencies))
	}

	fmt.Fprintf(w, "\n%-9s %7s %7s %11s", "minutes", "serve", "worker", "goroutines")
	for _, name := range cleaned {
		fmt.Fprintf(w, "%34s", name)
	}
	fmt.Fprintf(w, "\n%-9s %7s %7s %11s", "", "MiB", "MiB", "")
	for range cleaned {
		fmt.Fprintf(w, "%34s", "table+indexes MB, live/dead rows")
	}
	fmt.Fprintln(w)
	for i, one := range s.samples {
		fmt.Fprintf(w, "%-9.1f %7d %7d %11s", float64(i+1)*s.samplesEvery().Minutes(), one.serve, one.worker,
			fmt.Sprintf("%d+%d", one.serveGoes, one.workerGoes))
		for _, name := range cleaned {
			t := one.tables[name]
			fmt.Fprintf(w, "%34s", fmt.Sprintf("%.1f+%.1f, %d/%d", float64(t.heap)/1e6, float64(t.indexes)/1e6, t.live, t.dead))
		}
		fmt.Fprintln(w)
	}
	goals := s.goals()
	for _, g := range goals {
		if len(g.values) == 0 {
			fmt.Fprintf(w, "not judged, as the run is too short or the pace was not kept: %s\n", g.name)
		}
	}
	printGoals(w, goals)
}
