package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// print is the page of creates and reads.
func (c *creates) print(w io.Writer, subjects []*subject) {
	c.printHead(w, fmt.Sprintf("Creates and reads per second; HTTP: %d connections (bulks %d), pgbench: %d clients; %s deliveries to be read",
		c.connections, c.bulkConnections, pgbenchClients, amount(c.shelved)))
	fmt.Fprintf(w, "%-26s %s %9s %16s %34s\n", "", strings.Repeat(" ", max(0, 9*c.rounds-8))+"rounds", "median", "p50 / p99 ms",
		"CPU us each: server+Postgres")
	by := map[string][]measurement{}
	for _, s := range subjects {
		by[s.name] = s.rounds
		fmt.Fprintf(w, "%-26s", s.name)
		for _, m := range s.rounds {
			fmt.Fprintf(w, "%9.0f", m.perSecond)
		}
		cost := fmt.Sprintf("%.0f+%.0f", median(values(s.rounds, each(func(s spent) time.Duration { return s.serve }))),
			median(values(s.rounds, each(func(s spent) time.Duration { return s.postgres }))))
		fmt.Fprintf(w, "%10.0f %16s %34s\n", median(values(s.rounds, perSecond)), latency(s.rounds), cost)
	}
	rates := func(of, to string) []float64 { return ratios(by[of], by[to], perSecond) }
	printGoals(w, []goal{
		atLeast("creates over HTTP / F", 1.0, rates(createName, byFunction)),
		atLeast("creates with limits in Redis / without", 0.80, rates(limitedName, createName)),
		atLeast("deliveries in bulks over HTTP / F", 1.5, rates(bulkName, byFunction)),
		atLeast("gets over HTTP / G", 1.0, rates(readName, byDriver)),
		atLeast("creates over HTTP, SQLite / F", 0.4, rates(embeddedName, byFunction)),
		atMost("time of a replay / of a create, at full load", "ratio", 0.35, rates(createName, replayName)),
	})
	fmt.Fprint(w, "\nMeasured by other commands: large tables (make bench-large), webhooks (make bench ARGS=webhooks),\n"+
		"an ordinary load (make bench ARGS=pace), half an hour with background work (make soak).\n")
}

// printHead is what every page begins with.
func (b *bench) printHead(w io.Writer, what string) {
	fmt.Fprintf(w, "%s\n%d rounds of %s, interleaved; %d processors for everything, the load too\n", what, b.rounds, b.duration,
		runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n\n", b.about, b.loadAverage)
}

func perSecond(m measurement) float64 { return m.perSecond }

// values are one for each round.
func values(rounds []measurement, of func(measurement) float64) []float64 {
	all := make([]float64, len(rounds))
	for i, m := range rounds {
		all[i] = of(m)
	}
	return all
}

// at is a quantile of latencies in milliseconds.
func at(q float64) func(measurement) float64 {
	return func(m measurement) float64 { return milliseconds(m.quantile(q)) }
}

func latency(rounds []measurement) string {
	return fmt.Sprintf("%.1f / %.1f", median(values(rounds, at(0.5))), median(values(rounds, at(0.99))))
}

// each is the processor time of one operation, in microseconds.
func each(of func(spent) time.Duration) func(measurement) float64 {
	return func(m measurement) float64 {
		return float64(of(m.spent).Microseconds()) / float64(max(1, m.operations))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ratios of a figure, round by round.
func ratios(of, to []measurement, figure func(measurement) float64) []float64 {
	all := make([]float64, min(len(of), len(to)))
	for i := range all {
		all[i] = figure(of[i]) / figure(to[i])
	}
	return all
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// amount is a number as it is spoken of.
func amount(n int) string {
	switch million := 1_000_000; {
	case n >= million && n%million == 0:
		return fmt.Sprintf("%d M", n/million)
	case n >= 1000:
		return fmt.Sprintf("%s,%03d", amount(n/1000), n%1000)
	}
	return fmt.Sprint(n)
}
