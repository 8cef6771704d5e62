package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// printProfile tells where the server's time of a create goes.
func printProfile(w io.Writer, s *subject) {
	of := func(share func(shares) float64) float64 { return s.median(costOf(share)) }
	line := func(name string, share func(shares) float64, about string) {
		fmt.Fprintf(w, "  %-24s %6.1f   %s\n", name, of(share), about)
	}
	fmt.Fprintf(w, "\nProcessor time of the server for a create, in us, by its profiles (%.0f in all):\n", s.median(serverCost))
	line("the program itself", func(h shares) float64 { return h.program }, s.groups())
	line("the database", func(h shares) float64 { return h.database }, "the store, gorm, pgx and their system calls")
	line("garbage collection", func(h shares) float64 { return h.collector },
		fmt.Sprintf("%.1f for the program, by the bytes it allocates", of(func(h shares) float64 { return h.collectorForProgram })))
	line("scheduling, network", func(h shares) float64 { return h.scheduler },
		fmt.Sprintf("%.1f for the program, by its processor time", of(func(h shares) float64 { return h.schedulerForProgram })))
	line("the profiler", func(h shares) float64 { return h.profiler }, "")
	line("not for the database", shares.forProgram, "the program with what the runtime does for it")
}

// serverCost is the server's processor time of an operation, in microseconds.
func serverCost(m measurement) float64 { return float64(m.each(m.server)) / float64(time.Microsecond) }

// costOf is a share of it.
func costOf(share func(shares) float64) func(measurement) float64 {
	return func(m measurement) float64 {
		if m.profile == nil {
			return 0
		}
		return serverCost(m) * share(m.profile.shares())
	}
}

// groups is what the program's part is for, the most first.
func (s *subject) groups() string {
	cost := map[string]float64{}
	for _, m := range s.rounds {
		if m.profile == nil {
			continue
		}
		for name := range m.profile.processor.groups {
			cost[name] = s.median(func(m measurement) float64 {
				h, own := m.profile.shares(), m.profile.processor
				return serverCost(m) * h.program * quotient(own.groups[name], own.by[forProgram])
			})
		}
	}
	names := slices.SortedFunc(maps.Keys(cost), func(a, b string) int {
		if cost[a] != cost[b] {
			return int(cost[b]*1000) - int(cost[a]*1000)
		}
		return strings.Compare(a, b)
	})
	told := make([]string, len(names))
	for i, name := range names {
		told[i] = fmt.Sprintf("%s %.1f", name, cost[name])
	}
	return strings.Join(told, ", ")
}
