package main

import (
	"fmt"
	"io"
	"slices"
)

// goal is a row of what is to be reached.
type goal struct {
	name   string
	unit   string
	values []float64 // one for each round
	aim    float64
	most   bool // it is missed above the aim, not below
}

func atLeast(name string, aim float64, values []float64) goal {
	return goal{name, "ratio", values, aim, false}
}

func atMost(name, unit string, aim float64, values []float64) goal {
	return goal{name, unit, values, aim, true}
}

// printGoals prints a line for each goal that was measured, with the extremes of its
// rounds.
func printGoals(w io.Writer, goals []goal) {
	fmt.Fprintf(w, "\n%-48s %-12s %9s %21s %10s  %s\n", "Aims", "in", "median", "(rounds)", "aim", "verdict")
	for _, g := range goals {
		if len(g.values) == 0 {
			continue
		}
		value, sign, verdict := median(g.values), ">=", "met"
		if g.most {
			sign = "<="
		}
		if g.most && value > g.aim || !g.most && value < g.aim {
			verdict = "MISSED"
		}
		spread := fmt.Sprintf("(%.2f to %.2f)", slices.Min(g.values), slices.Max(g.values))
		fmt.Fprintf(w, "%-48s %-12s %9.2f %21s %10s  %s\n", g.name, g.unit, value, spread, fmt.Sprintf("%s %g", sign, g.aim), verdict)
	}
}
