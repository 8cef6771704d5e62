package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// printReport is the page.
func printReport(w io.Writer, b *bench, subjects []*subject) {
	by := map[string]*subject{}
	for _, s := range subjects {
		by[s.name] = s
	}
	recipients := "a new recipient for each"
	if b.recipients > 0 {
		recipients = fmt.Sprintf("%d recipients in turn", b.recipients)
	}
	fmt.Fprintf(w, "Creates per second: %d rounds of %s, interleaved; %d processors for everything\n", b.rounds, b.duration, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", b.about, b.loadAverage)
	fmt.Fprintf(w, "HTTP: %d connections, body %d bytes, answer %d bytes, %s\n", b.connections, len(orderBody), len(b.pgbench.answer), recipients)
	fmt.Fprintf(w, "pgbench: %d clients, protocol %s; a booking is %d statements, BEGIN and COMMIT not counted\n\n", b.clients, b.protocol, inserts())

	fmt.Fprintf(w, "%-26s %s %9s %16s %34s\n", "", strings.Repeat(" ", 9*b.rounds-8)+"rounds", "median", "p50 / p99 ms", "CPU us each: server+Postgres+client")
	for _, s := range subjects {
		fmt.Fprintf(w, "%-26s", s.name)
		for _, m := range s.rounds {
			fmt.Fprintf(w, "%9.0f", m.perSecond)
		}
		fmt.Fprintf(w, "%10.0f %16s %34s\n", s.median(perSecond), s.latency(), s.cost())
	}

	fmt.Fprintln(w, "\nMedians of the ratios within a round:")
	ratio := func(what string, of, to *subject, goal string) {
		r := ratios(of, to)
		fmt.Fprintf(w, "  %-48s %.2f   (%.2f to %.2f)   %s\n", what, median(r), slices.Min(r), slices.Max(r), goal)
	}
	ratio("create / F", by[createName], by[byFunction], "goal 0.90")
	ratio("create / S", by[createName], by[byStatements], "goal 1.4")
	ratio("S / F", by[byStatements], by[byFunction], "")
	if s := by[embeddedName]; s != nil {
		ratio("create on SQLite / F", s, by[byFunction], "goal 0.30")
	}
	fmt.Fprintf(w, "  %-48s %.2f   by time at full load, goal at most 0.25\n", "cost of a replay / of a create",
		median(ratios(by[createName], by[replayName])))
	work := func(m measurement) float64 { return float64(m.each(m.server + m.postgres)) }
	everybody := func(m measurement) float64 { return float64(m.each(m.server + m.postgres + m.client)) }
	if by[createName].median(work) > 0 {
		fmt.Fprintf(w, "  %-48s %.2f   by processor time of server and Postgres\n", "", by[replayName].median(work)/by[createName].median(work))
	}

	if f := by[byFunction].median(everybody); f > 0 && b.master != 0 {
		fmt.Fprintf(w, "  %-48s %.2f   steadier than the rates where others use the machine too\n", "processor time of a create / of F, all included",
			by[createName].median(everybody)/f)
	}

	fmt.Fprintf(w, "\ncreate p99 %.1f ms, goal at most 25; memory of the server at most %s, goal at most 60 MiB\n",
		by[createName].median(func(m measurement) float64 { return milliseconds(m.quantile(0.99)) }), memoryOf(b.postgres))
	if b.sqlite != nil {
		fmt.Fprintf(w, "memory of the server on SQLite at most %s\n", memoryOf(b.sqlite))
	}
}

// inserts counts the statements of a booking.
func inserts() int { return strings.Count(statementsSQL, "\nINSERT INTO ") }

func memoryOf(s *server) string {
	if mib := memory(s.cmd.Process.Pid); mib > 0 {
		return fmt.Sprintf("%d MiB", mib)
	}
	return "unknown"
}

func perSecond(m measurement) float64 { return m.perSecond }

func (s *subject) median(of func(measurement) float64) float64 {
	values := make([]float64, len(s.rounds))
	for i, m := range s.rounds {
		values[i] = of(m)
	}
	return median(values)
}

func (s *subject) latency() string {
	if len(s.rounds) == 0 || len(s.rounds[0].latencies) == 0 {
		return ""
	}
	at := func(q float64) float64 {
		return s.median(func(m measurement) float64 { return milliseconds(m.quantile(q)) })
	}
	return fmt.Sprintf("%.1f / %.1f", at(0.5), at(0.99))
}

// cost is the processor time of one operation, by who spent it.
func (s *subject) cost() string {
	each := func(of func(measurement) time.Duration) float64 {
		return s.median(func(m measurement) float64 { return float64(m.each(of(m)).Microseconds()) })
	}
	return fmt.Sprintf("%.0f+%.0f+%.0f",
		each(func(m measurement) time.Duration { return m.server }),
		each(func(m measurement) time.Duration { return m.postgres }),
		each(func(m measurement) time.Duration { return m.client }))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ratios of the rates, round by round.
func ratios(of, to *subject) []float64 {
	r := make([]float64, len(of.rounds))
	for i := range r {
		r[i] = of.rounds[i].perSecond / to.rounds[i].perSecond
	}
	return r
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
