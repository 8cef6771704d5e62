package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

// printWebhooks is the page.
func printWebhooks(w io.Writer, p *post, o webhookOptions, trials []*trial) {
	size := 0
	for _, t := range trials {
		size = max(size, t.outcomes[0].Bytes)
	}
	fmt.Fprintf(w, "Webhooks: %d rounds, interleaved; %d processors for everything, the receiver too\n", o.rounds, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", p.about, p.loadAverage)
	fmt.Fprintf(w, "A payload has %d bytes, a backlog %d webhooks. Latencies are from the timestamp of the\n", size, o.backlog)
	fmt.Fprint(w, "event, which is before its commit, until all of the request has been received.\n\n")

	fmt.Fprintf(w, "%-51s %s %9s  %s\n", "", strings.Repeat(" ", max(0, 9*o.rounds-7))+"rounds", "median", "aim")
	for _, t := range trials {
		for _, t := range t.inTurn(0) {
			t.print(w, o.rounds)
		}
	}
}

// print is a line for each figure.
func (t *trial) print(w io.Writer, rounds int) {
	name := t.name
	line := func(f figure, values []float64) {
		fmt.Fprintf(w, "%-28s %-22s", name, f.name)
		for _, v := range values {
			fmt.Fprintf(w, "%9.*f", f.digits, v)
		}
		blank := strings.Repeat(" ", 9*max(0, rounds-len(values)))
		fmt.Fprintf(w, "%s%11.*f  %s\n", blank, f.digits, median(values), f.judged(median(values)))
		name = ""
	}
	for _, f := range t.figures {
		line(f, t.values(f.of))
	}
	for _, c := range t.comparisons {
		line(c.figure, c.values(t))
	}
}

// amount is a number as it is spoken of.
func amount(n int) string {
	switch million := 1_000_000; {
	case n >= million && n%million == 0:
		return fmt.Sprintf("%d M", n/million)
	case n >= 1000:
		return fmt.Sprintf("%s,%03d", amount(n/1000), n%1000)
	}
	return fmt.Sprint(n)
}
