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
func printReport(w io.Writer, b *bench, subjects []*subject) error {
	by := map[string]*subject{}
	for _, s := range b.subjects() {
		by[s.name] = s // without rounds where it was not measured
	}
	for _, s := range subjects {
		by[s.name] = s
	}
	recipients := "a new recipient for each"
	if b.recipients > 0 {
		recipients = fmt.Sprintf("%d recipients in turn", b.recipients)
	}
	fmt.Fprintf(w, "Creates and reads per second: %d rounds of %s, interleaved; %d processors for everything\n", b.rounds, b.duration,
		runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", b.about, b.loadAverage)
	fmt.Fprintf(w, "HTTP: %d connections (bulks %d), body %d bytes, answer %d bytes, %s; %s deliveries to be read\n",
		b.connections, b.bulkConnections, len(orderBody), len(b.pgbench.answer), recipients, amount(b.shelved))
	fmt.Fprintf(w, "pgbench: %d clients, protocol %s; a booking is %d statements, BEGIN and COMMIT not counted\n\n", b.clients, b.protocol,
		inserts())

	fmt.Fprintf(w, "%-26s %s %9s %16s %34s\n", "", strings.Repeat(" ", max(0, 9*b.rounds-8))+"rounds", "median", "p50 / p99 ms",
		"CPU us each: server+Postgres+client")
	for _, s := range subjects {
		fmt.Fprintf(w, "%-26s", s.name)
		for _, m := range s.rounds {
			fmt.Fprintf(w, "%9.0f", m.perSecond)
		}
		fmt.Fprintf(w, "%10.0f %16s %34s\n", s.median(perSecond), s.latency(), s.cost())
	}
	printRatios(w, b, by)
	printGoals(w, b.goals(by))
	fmt.Fprint(w, "\nMeasured by other commands: large tables (make bench-large), webhooks (make bench ARGS=webhooks),\n"+
		"an ordinary load (make bench ARGS=pace), half an hour with background work (make soak).\n")
	return nil
}

// goals are what is to be reached in this run; those without values were not
// measured.
func (b *bench) goals(by map[string]*subject) []goal {
	goals := []goal{
		atLeast("creates over HTTP / F", "ratio", 1.0, ratios(by[createName], by[byFunction])),
	}
	if s := by[limitedName]; s != nil {
		goals = append(goals, atLeast("creates with limits in Redis / without", "ratio", 0.80, ratios(s, by[createName])))
	}
	goals = append(goals,
		atLeast("deliveries in bulks over HTTP / F", "ratio", 1.5, ratios(by[bulkName], by[byFunction])),
		atLeast("gets over HTTP / G", "ratio", 1.0, ratios(by[readName], by[byDriver])),
	)
	if s := by[embeddedName]; s != nil {
		goals = append(goals, atLeast("creates over HTTP, SQLite / F", "ratio", 0.4, ratios(s, by[byFunction])))
	}
	goals = append(goals, atMost("time of a replay / of a create, at full load", "ratio", 2, 0.35, ratios(by[createName], by[replayName])))
	return goals
}

// printRatios is what stands beside the goals.
func printRatios(w io.Writer, b *bench, by map[string]*subject) {
	fmt.Fprintln(w, "\nMedians of other ratios:")
	line := func(what string, value float64, about string) {
		if value > 0 { // otherwise it was not measured
			fmt.Fprintf(w, "  %-48s %.2f   %s\n", what, value, about)
		}
	}
	work := func(m measurement) float64 { return float64(m.each(m.server + m.postgres)) }
	for _, o := range b.others {
		against := func(what, name, beside string) {
			values, cpu := ratios(by[name], by[beside+o.name]), quotients(by[name].values(work), by[beside+o.name].values(work))
			line(what+" / those of "+o.name, median(values), spread(values))
			line("processor time of "+what+" / of "+o.name, median(cpu), spread(cpu)+" server and Postgres")
		}
		against("creates", createName, besideName)
		against("bulks", bulkName, besideBulk)
		against("gets", readName, besideRead)
		against("creates on SQLite", embeddedName, besideFile)
	}
	line("S / F", median(ratios(by[byStatements], by[byFunction])), "")
	line("G / R", median(ratios(by[byDriver], by[byRow])), "what such a server reaches of the aim")
	line("get / R", median(ratios(by[readName], by[byRow])), "")
	everybody := func(m measurement) float64 { return float64(m.each(m.server + m.postgres + m.client)) }
	if c := by[createName].median(work); c > 0 {
		line("cost of a replay / of a create", by[replayName].median(work)/c, "by processor time of server and Postgres")
	}
	if s := by[limitedName]; s != nil {
		line("processor time of Redis for a create, in us", s.median(func(m measurement) float64 { return float64(m.each(m.redis)) / 1000 }),
			"limits, locks and news of keys")
	}
	if s := by[embeddedName]; s != nil && b.master != 0 {
		line("memory of the server on SQLite, in MiB", s.median(mebibytesUsed), "under creates")
	}
	line("memory of the server under bulks, in MiB", by[bulkName].median(mebibytesUsed), "")
	for _, o := range b.others {
		line("memory of "+o.name+", in MiB", median(by[besideName+o.name].memoryFirst()), "under creates, before any bulk")
		line("memory of "+o.name+" under bulks, in MiB", by[besideBulk+o.name].median(mebibytesUsed), "")
	}
	if f := by[byFunction].median(everybody); f > 0 && b.master != 0 {
		line("processor time of a create / of F, all included", by[createName].median(everybody)/f,
			"steadier than the rates where others use the machine too")
	}
}

// inserts counts the statements of a booking.
func inserts() int { return strings.Count(statementsSQL, "\nINSERT INTO ") }

// memoryFirst is that of the first round, if any.
func (s *subject) memoryFirst() []float64 {
	all := s.values(mebibytesUsed)
	return all[:min(1, len(all))]
}

func mebibytesUsed(m measurement) float64 { return float64(m.memory) }

func perSecond(m measurement) float64 { return m.perSecond }

func (s *subject) median(of func(measurement) float64) float64 { return median(s.values(of)) }

// values are one for each round; none where it was not measured.
func (s *subject) values(of func(measurement) float64) []float64 {
	if s == nil {
		return nil
	}
	values := make([]float64, len(s.rounds))
	for i, m := range s.rounds {
		values[i] = of(m)
	}
	return values
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

// cost is the processor time of one operation, by the process that spent it.
func (s *subject) cost() string {
	each := func(of func(measurement) time.Duration) float64 {
		return s.median(func(m measurement) float64 { return float64(m.each(of(m))) / float64(time.Microsecond) })
	}
	return fmt.Sprintf("%.0f+%.0f+%.0f",
		each(func(m measurement) time.Duration { return m.server }),
		each(func(m measurement) time.Duration { return m.postgres }),
		each(func(m measurement) time.Duration { return m.client }))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ratios of the rates, round by round.
func ratios(of, to *subject) []float64 {
	return quotients(of.values(perSecond), to.values(perSecond))
}

// quotients are of the values of each round.
func quotients(of, by []float64) []float64 {
	q := make([]float64, min(len(of), len(by)))
	for i := range q {
		q[i] = of[i] / by[i]
	}
	return q
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

// spread is the least and the most of some values; empty: there are none.
func spread(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("(%.2f to %.2f)", slices.Min(values), slices.Max(values))
}
