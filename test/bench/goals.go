package main

import (
	"fmt"
	"io"
	"slices"
)

// goal is a row of what is to be reached.
type goal struct {
	name    string
	unit    string
	values  []float64 // one for each round
	digits  int
	atLeast float64 // the aim; 0: none
	atMost  float64 // the aim; below 0: none
}

// atLeast is a goal that is missed below.
func atLeast(name, unit string, aim float64, values []float64) goal {
	return goal{name, unit, values, 2, aim, -1}
}

// atMost is a goal that is missed above.
func atMost(name, unit string, digits int, aim float64, values []float64) goal {
	return goal{name, unit, values, digits, 0, aim}
}

func (g goal) value() float64 { return median(g.values) }

func (g goal) missed() bool {
	if g.atLeast > 0 {
		return g.value() < g.atLeast
	}
	return g.atMost >= 0 && g.value() > g.atMost
}

// aim is what the goal says; it is printed as far as it has digits.
func (g goal) aim() string {
	if g.atLeast > 0 {
		return fmt.Sprintf(">= %g", g.atLeast)
	}
	return fmt.Sprintf("<= %g", g.atMost)
}

func (g goal) verdict() string {
	if g.missed() {
		return "MISSED"
	}
	return "met"
}

// printGoals prints a line for each goal that was measured, with the extremes of its
// rounds.
func printGoals(w io.Writer, goals []goal) {
	goals = slices.DeleteFunc(goals, func(g goal) bool { return len(g.values) == 0 })
	if len(goals) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-44s %-12s %9s %21s %10s  %s\n", "Aims", "in", "median", "(rounds)", "aim", "verdict")
	for _, g := range goals {
		spread := fmt.Sprintf("(%.*f to %.*f)", g.digits, slices.Min(g.values), g.digits, slices.Max(g.values))
		fmt.Fprintf(w, "%-44s %-12s %9.*f %21s %10s  %s\n", g.name, g.unit, g.digits, g.value(), spread, g.aim(), g.verdict())
	}
}
