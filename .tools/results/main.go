// Command results prints one table of a run of tests, from what `go test -json` wrote into the
// files that are named: how many passed, failed and were skipped, why those were skipped, the
// ten slowest, and the total.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json`.
type event struct {
	Time    time.Time
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// result is how a test, or without a name a package, ended.
type result struct {
	name   string
	action string
	took   float64
	part   bool // of another test
}

type results struct {
	tests, packages []result
	reasons         map[string]int    // how many tests were skipped for it
	last            map[string]string // the last line that a test wrote
	first, end      time.Time
}

func main() {
	r := results{reasons: map[string]int{}, last: map[string]string{}}
	for _, name := range os.Args[1:] {
		if err := r.read(name); err != nil {
			fmt.Fprintln(os.Stderr, "results:", err)
			os.Exit(1)
		}
	}
	r.print()
}

func (r *results) read(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil { // other lines are of the compiler
			r.take(e)
		}
	}
	return lines.Err()
}

func (r *results) take(e event) {
	if !e.Time.IsZero() {
		if r.first.IsZero() {
			r.first = e.Time
		}
		r.end = e.Time
	}
	name := strings.TrimPrefix(e.Package, "waybill/")
	if e.Test != "" {
		name += " " + e.Test
	}
	switch e.Action {
	case "output":
		line := strings.TrimSpace(e.Output)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			r.last[name] = line
		}
	case "pass", "fail", "skip":
		ended := result{name: name, action: e.Action, took: e.Elapsed, part: strings.Contains(e.Test, "/")}
		if e.Test == "" {
			r.packages = append(r.packages, ended)
			return
		}
		r.tests = append(r.tests, ended)
		if e.Action == "skip" {
			_, reason, _ := strings.Cut(r.last[name], ": ") // behind the place in the source
			r.reasons[reason]++
		}
	}
}

func (r *results) print() {
	counts := map[string]int{}
	for _, t := range r.tests {
		counts[t.action]++
	}
	fmt.Printf("\n%d passed, %d failed, %d skipped in %s\n", counts["pass"], counts["fail"], counts["skip"], r.end.Sub(r.first).Round(time.Second))
	for _, t := range r.tests {
		if t.action == "fail" {
			fmt.Println("  failed:", t.name)
		}
	}
	for _, p := range r.packages { // one that panics or does not compile ends no test
		if p.action == "fail" {
			fmt.Println("  failed:", p.name)
		}
	}
	reasons := make([]string, 0, len(r.reasons))
	for reason := range r.reasons {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(r.reasons[b]-r.reasons[a], cmp.Compare(a, b)) })
	for _, reason := range reasons {
		fmt.Printf("  skipped %d: %s\n", r.reasons[reason], reason)
	}
	slowest("packages", r.packages)
	slowest("tests", slices.DeleteFunc(r.tests, func(t result) bool { return t.part }))
}

// slowest prints the ten that took longest. A test in parallel with others has waited for them.
func slowest(what string, all []result) {
	slices.SortStableFunc(all, func(a, b result) int { return cmp.Compare(b.took, a.took) })
	fmt.Printf("  slowest %s:\n", what)
	for _, r := range all[:min(10, len(all))] {
		fmt.Printf("  %8.1f s  %s\n", r.took, r.name)
	}
}
