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

	fmt.Fprintf(w, "%-48s %s %9s  %s\n", "", strings.Repeat(" ", 9*o.rounds-7)+"rounds", "median", "aim")
	for _, t := range trials {
		for i, f := range t.figures {
			name := t.name
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(w, "%-25s %-22s", name, f.name)
			values := make([]float64, len(t.outcomes))
			for i, o := range t.outcomes {
				values[i] = f.of(o)
				fmt.Fprintf(w, "%9.*f", f.digits, values[i])
			}
			fmt.Fprintf(w, "%11.*f  %s\n", f.digits, median(values), f.judged(median(values)))
		}
	}
}

// judged is the aim, and whether it is missed.
func (f figure) judged(value float64) string {
	aim, missed := "", false
	switch {
	case f.atLeast > 0:
		aim, missed = fmt.Sprintf(">= %.0f", f.atLeast), value < f.atLeast
	case f.atMost >= 0:
		aim, missed = fmt.Sprintf("<= %.0f", f.atMost), value > f.atMost
	}
	if missed {
		aim += ", missed"
	}
	return aim
}
