package main

import (
	"fmt"
	"io"
	"runtime"
)

// largeGrowth is what a p99 may grow by.
const largeGrowth = 1.15

// printLarge is the page.
func printLarge(w io.Writer, l *library) error {
	fmt.Fprintf(w, "A year of deliveries: %d rounds of %s, interleaved, %d requests a second of each kind at once; %d processors for "+
		"everything\n", l.rounds, l.largeOptions.duration, l.pace, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", l.about, l.loadAverage)
	for _, v := range l.volumes {
		fmt.Fprintf(w, "%s deliveries: %d MB, filled in %.0f s\n", amount(v.rows), v.bytes/1e6, v.took.Seconds())
	}
	first, last := l.volumes[0], l.volumes[len(l.volumes)-1]
	if last.rows < l.asked {
		fmt.Fprintf(w, "%s were asked for: the disk had no room for them\n", amount(l.asked))
	}
	fmt.Fprintf(w, "\n%-24s", "p50 / p99 in ms")
	for _, v := range l.volumes {
		fmt.Fprintf(w, "%18s", amount(v.rows))
	}
	fmt.Fprintf(w, "%28s%28s\n", "p50 grows by", "p99 grows by")
	var goals []goal
	for i, k := range kinds {
		fmt.Fprintf(w, "%-24s", k.name)
		for _, v := range l.volumes {
			fmt.Fprintf(w, "%18s", (&subject{rounds: v.rounds[i]}).latency())
		}
		for _, q := range []float64{0.5, 0.99} {
			g := growth(first.rounds[i], last.rounds[i], q)
			fmt.Fprintf(w, "%28s", fmt.Sprintf("%.2f %s", median(g), spread(g)))
		}
		fmt.Fprintln(w)
		goals = append(goals, atMost("p99 of "+k.name, "ratio", 2, largeGrowth, growth(first.rounds[i], last.rounds[i], 0.99)))
	}
	printGoals(w, goals)
	return nil
}

// growth is a latency with many rows as a multiple of that with few, in each round.
func growth(few, many []measurement, q float64) []float64 {
	values := make([]float64, len(few))
	for i := range values {
		values[i] = float64(many[i].quantile(q)) / float64(few[i].quantile(q))
	}
	return values
}
