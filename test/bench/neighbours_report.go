package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// neighbourAim is how many times as long a p95 may be beside an attack.
const neighbourAim = 2

// kindOfRequest is one kind of request, in each round.
type kindOfRequest struct {
	name string
	of   func(nightly) measurement
}

var requests = []kindOfRequest{
	{"create", func(n nightly) measurement { return n.creates }},
	{"get", func(n nightly) measurement { return n.gets }},
}

// quantiles are in milliseconds, in each round.
func (n *night) quantiles(of func(nightly) measurement, q float64) []float64 {
	values := make([]float64, len(n.results))
	for i, r := range n.results {
		values[i] = milliseconds(of(r).quantile(q))
	}
	return values
}

// beside are the quantiles as multiples of those of another night in the same round.
func (n *night) beside(other *night, of func(nightly) measurement, q float64) []float64 {
	values := n.quantiles(of, q)
	for i, v := range other.quantiles(of, q) {
		values[i] /= v
	}
	return values
}

func (n *night) failures() []float64 {
	values := make([]float64, len(n.results))
	for i, r := range n.results {
		values[i] = float64(r.failed)
	}
	return values
}

// answered is what the attack was told, of all rounds.
func (n *night) answered() string {
	all := map[int]int{}
	for _, r := range n.results {
		for status, count := range r.answers {
			all[status] += count
		}
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(all)) {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "none"
		}
		parts = append(parts, fmt.Sprintf("%s: %d", name, all[status]))
	}
	return strings.Join(parts, ", ")
}

// printNeighbours compares each attack with the nights before it, of which the first
// is without any.
func printNeighbours(w io.Writer, s *street, nights []*night) error {
	fmt.Fprintf(w, "Live requests of one business beside attacks of one sandbox key of another: %d rounds of %s; %d processors for "+
		"everything\n",
		s.rounds, s.duration, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", s.about, s.loadAverage)
	fmt.Fprintf(w, "%d connections, a request every %s each, half of them creates; limit of a key %s; %s locations, %s events\n\n",
		s.victims, s.interval, s.rate, amount(s.locations), amount(s.events))
	fmt.Fprintf(w, "%-12s", "median of ms")
	for _, of := range requests {
		fmt.Fprintf(w, " %10s %10s %12s", of.name+" p50", "p95", "worst p95")
	}
	fmt.Fprintf(w, "  failed  answers to the attack\n")
	for _, n := range nights {
		fmt.Fprintf(w, "%-12s", n.name)
		for _, of := range requests {
			p95 := n.quantiles(of.of, 0.95)
			fmt.Fprintf(w, " %10.1f %10.1f %12.1f", median(n.quantiles(of.of, 0.5)), median(p95), slices.Max(p95))
		}
		failed := 0.0
		for _, f := range n.failures() {
			failed += f
		}
		fmt.Fprintf(w, "  %6.0f  %s\n", failed, n.answered())
		for _, r := range n.results {
			if r.example != "" {
				fmt.Fprintf(w, "  such as %.300s\n", r.example)
				break
			}
		}
	}
	return told(w, neighbourGoals(nights), "Waybill beside its limits: noisy neighbours", s.plot)
}

func neighbourGoals(nights []*night) []goal {
	var goals []goal
	failed := make([]float64, len(nights[0].results))
	for _, n := range nights {
		for i, f := range n.failures() {
			failed[i] += f
		}
		if n.name == alone {
			continue
		}
		for _, of := range requests {
			goals = append(goals, atMost("p95 of a live "+of.name+" beside "+n.name, "x alone", 2, neighbourAim, n.beside(nights[0], of.of, 0.95)))
		}
	}
	// Each one counts, whatever the median.
	return append(goals, atMost("live answers that were not what they should be", "", 0, 0, []float64{slices.Max(failed)}))
}
