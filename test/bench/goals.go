package main

import (
	"errors"
	"fmt"
	"io"
	"os"
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

// reach is how far the value is along the way to the aim, where it is 1.
func (g goal) reach() float64 {
	if g.atLeast > 0 {
		return g.value() / g.atLeast
	}
	return g.value() / g.atMost
}

func (g goal) verdict() string {
	if g.missed() {
		return "MISSED"
	}
	return "met"
}

// printGoals is a line for each, with the extremes of its rounds, and the same as
// bars.
func printGoals(w io.Writer, goals []goal) {
	fmt.Fprintf(w, "\n%-44s %-12s %9s %21s %10s  %s\n", "Goals", "in", "median", "(rounds)", "aim", "verdict")
	for _, g := range goals {
		spread := fmt.Sprintf("(%.*f to %.*f)", g.digits, slices.Min(g.values), g.digits, slices.Max(g.values))
		fmt.Fprintf(w, "%-44s %-12s %9.*f %21s %10s  %s\n", g.name, g.unit, g.digits, g.value(), spread, g.aim(), g.verdict())
	}
	fmt.Fprintln(w)
	printBars(w, goals)
}

// told prints the goals and, where a file is named, draws them.
func told(w io.Writer, goals []goal, title, file string) error {
	goals = slices.DeleteFunc(goals, func(g goal) bool { return len(g.values) == 0 })
	if len(goals) == 0 {
		return nil
	}
	printGoals(w, goals)
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(plot(f, title, goals), f.Close())
}
