package main

import (
	"fmt"
	"io"
	"runtime"
)

// printLarge is the page.
func printLarge(w io.Writer, l *library, readings []*reading) error {
	fmt.Fprintf(w, "Reads of large tables: %d rounds of %s, interleaved; %d processors for everything\n", l.rounds, l.duration,
		runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", l.about, l.loadAverage)
	for _, v := range l.volumes {
		fmt.Fprintf(w, "%s deliveries, %s recipients, %s events in the feed: %d MB, filled in %.0f s\n",
			amount(v.rows), amount(v.recipients()), amount(v.events()), v.bytes/1e6, v.took.Seconds())
	}
	fmt.Fprintf(w, "\n%-38s", "p50 / p99 in ms, and answers a second")
	for _, v := range l.volumes {
		fmt.Fprintf(w, "%26s", amount(v.rows))
	}
	fmt.Fprintf(w, "%14s\n", "p99 grows by")
	var goals []goal
	for _, r := range readings {
		fmt.Fprintf(w, "%-38s", r.name())
		for _, rounds := range r.rounds {
			s := subject{rounds: rounds}
			fmt.Fprintf(w, "%18s %7.0f", s.latency(), s.median(perSecond))
		}
		fmt.Fprintf(w, "%14.2f\n", median(r.growth(0.99)))
		if r.goal {
			goals = append(goals, atMost("p99 of "+r.name(), "ratio", 2, 1.1, r.growth(0.99)))
		}
	}
	first, last := l.volumes[0].rows, l.volumes[len(l.volumes)-1].rows
	return told(w, goals, fmt.Sprintf("Waybill with %s deliveries beside %s: medians of %d rounds", amount(last), amount(first), l.rounds),
		l.plot)
}
