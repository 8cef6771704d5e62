package main

import (
	"fmt"
	"slices"
	"time"
)

// figure is a line of the report.
type figure struct {
	name    string
	of      func(outcome) float64
	digits  int
	atLeast float64 // the aim; 0: none
	atMost  float64 // the aim; below 0: none
}

// comparison is a line that sets a figure of one trial against that of another.
type comparison struct {
	figure
	with *trial
	by   func(own, other float64) float64
	// against is what is compared with of the other trial; nil: the same figure.
	against func(outcome) float64
}

func ratio(own, other float64) float64      { return own / other }
func difference(own, other float64) float64 { return own - other }

// values are a figure in each round.
func (t *trial) values(of func(outcome) float64) []float64 {
	values := make([]float64, len(t.outcomes))
	for i, o := range t.outcomes {
		values[i] = of(o)
	}
	return values
}

// values compares within the rounds, and what was not measured in each with the
// median of the other.
func (c comparison) values(t *trial) []float64 {
	against := c.against
	if against == nil {
		against = c.of
	}
	values, others := t.values(c.of), c.with.values(against)
	for i := range values {
		other := median(others)
		if len(others) == len(values) {
			other = others[i]
		}
		values[i] = c.by(values[i], other)
	}
	return values
}

var (
	rate = figure{"per second", func(o outcome) float64 { return float64(o.Count) / last(o) }, 0, 4000, -1}

	throughput = append([]figure{
		rate,
		{"per CPU-second", func(o outcome) float64 { return float64(o.Count) / o.inAll().Seconds() }, 0, 3000, -1},
	}, processors...)
)

// processors are where the time of a webhook goes.
var processors = []figure{
	{"CPU us: serve", each(func(s spent) time.Duration { return s.serve }), 0, 0, -1},
	{"CPU us: worker", each(func(s spent) time.Duration { return s.worker }), 0, 0, -1},
	{"CPU us: Postgres", each(func(s spent) time.Duration { return s.postgres }), 0, 0, -1},
	{"CPU us: Redis", each(func(s spent) time.Duration { return s.redis }), 0, 0, -1},
	{"not counted: receiver", each(func(s spent) time.Duration { return s.receiver }), 0, 0, -1},
}

// latency is in milliseconds; the aim is for the p95.
func latency(aim float64) []figure {
	at := func(q float64, from func(outcome, arrival) time.Time) func(outcome) float64 {
		return func(o outcome) float64 { return milliseconds(o.quantile(q, from)) }
	}
	return append([]figure{
		{"p50 ms", at(0.5, eventOf), 1, 0, -1}, p95(aim), {"p99 ms", at(0.99, eventOf), 1, 0, -1},
		{"p50 ms after answer", at(0.5, answerOf), 1, 0, -1}, {"p95 ms after answer", at(0.95, answerOf), 1, 0, -1},
	}, processors...) // the creates are in them
}

func p95(aim float64) figure {
	return figure{"p95 ms", func(o outcome) float64 { return milliseconds(o.quantile(0.95, eventOf)) }, 1, 0, aim}
}

// each is the processor time of one webhook, in microseconds.
func each(of func(spent) time.Duration) func(outcome) float64 {
	return func(o outcome) float64 { return float64(of(o.spent).Microseconds()) / float64(o.Count) }
}

func missing(o outcome) float64 { return float64(o.expected - o.Count) }
func repeats(o outcome) float64 { return float64(o.Again) }
func latest(o outcome) float64  { return o.quantile(1, eventOf).Seconds() }

// last is when the last webhook came, in seconds after the beginning.
func last(o outcome) float64 { return o.end().Sub(o.begun).Seconds() }

// end returns when the last webhook came.
func (o outcome) end() (at time.Time) {
	for _, a := range o.First {
		if a.Came.After(at) {
			at = a.Came
		}
	}
	return at
}

// within is what came while it was measured.
func (o outcome) within() outcome {
	if o.took > 0 {
		end := o.begun.Add(o.took)
		o.First = slices.DeleteFunc(o.First, func(a arrival) bool { return a.Came.After(end) })
		o.Count = len(o.First)
	}
	return o
}

// Moments from which an arrival is late.
func eventOf(_ outcome, a arrival) time.Time  { return a.Happened }
func answerOf(o outcome, a arrival) time.Time { return o.answered[a.Order] }

// quantile returns a quantile of the time from a create until its webhook arrived.
func (o outcome) quantile(q float64, from func(outcome, arrival) time.Time) time.Duration {
	m := measurement{}
	for _, a := range o.First {
		m.latencies = append(m.latencies, a.Came.Sub(from(o, a)))
	}
	slices.Sort(m.latencies)
	return m.quantile(q)
}

// judged is the aim, and whether it is missed.
func (f figure) judged(value float64) string {
	aim, missed := "", false
	switch {
	case f.atLeast > 0:
		aim, missed = fmt.Sprintf(">= %g", f.atLeast), value < f.atLeast
	case f.atMost >= 0:
		aim, missed = fmt.Sprintf("<= %g", f.atMost), value > f.atMost
	}
	if missed {
		aim += ", missed"
	}
	return aim
}
