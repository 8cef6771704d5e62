package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// measureIdle measures each installation while no request comes.
func (r *paced) measureIdle(ctx context.Context) error {
	for _, in := range r.installations { // of what the loads before left
		if err := clean(ctx, in.db); err != nil {
			return err
		}
	}
	for _, in := range r.installations {
		if err := r.only(in); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "idle: "+in.name)
		if err := pause(ctx, 2*quiet); err != nil {
			return err
		}
		begun, before := time.Now(), in.spent()
		if err := pause(ctx, r.idle); err != nil {
			return err
		}
		s, took := in.spent().since(before), time.Since(begun)
		of := func(d time.Duration) float64 { return 100 * float64(d) / float64(took) }
		r.idled = append(r.idled, fmt.Sprintf("%-32s serve %.2f, worker %.2f, Postgres %.2f, Redis %.2f, all %.2f", in.name,
			of(s.serve), of(s.worker), of(s.postgres), of(s.redis), of(s.inAll())))
	}
	return nil
}

// values are of a subject's rounds at a pace.
func (s *paceSubject) values(at string, of func(paceFigure) float64) []float64 {
	values := make([]float64, len(s.figures[at]))
	for i, f := range s.figures[at] {
		values[i] = of(f)
	}
	return values
}

func (s *paceSubject) median(at string, of func(paceFigure) float64) float64 {
	return median(s.values(at, of))
}

// latencyAt is a quantile of creates in milliseconds.
func latencyAt(q float64) func(paceFigure) float64 {
	return func(f paceFigure) float64 { return milliseconds(f.quantile(q)) }
}

func hookAt(q float64) func(paceFigure) float64 {
	return func(f paceFigure) float64 { return milliseconds(f.hooks.quantile(q)) }
}

// forOne is microseconds of processors for a create.
func forOne(of func(spent) time.Duration) func(paceFigure) float64 {
	return func(f paceFigure) float64 { return float64(f.each(of(f.spent)).Nanoseconds()) / 1000 }
}

func inAll(f paceFigure) float64 { return forOne(spent.inAll)(f) }

// print is the page.
func (r *paced) print(w io.Writer, paces []int) error {
	fmt.Fprintf(w, "Creates at a pace: %d rounds of %s, interleaved; %d processors for everything, the load too\n",
		r.rounds, r.duration, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", r.about, r.loadAverage)
	fmt.Fprintf(w, "Creates begin at moments of chance, and are timed from those; %d connections, pgbench %d clients.\n"+
		"Medians of the rounds.\n", paceConnections, r.clients)
	for _, at := range r.pacesOf(paces) {
		fmt.Fprintf(w, "\n%-32s %8s %23s %9s %41s\n", at.name, "creates", "ms: p50     p95     p99", "webhooks'",
			"CPU us for a create: server, worker,")
		fmt.Fprintf(w, "%-32s %8s %23s %9s %41s\n", "", "/ s", "", "p95", "Postgres, Redis, all")
		for _, s := range r.subjects {
			fmt.Fprintf(w, "%-32s %8.0f %7.1f %7.1f %7.1f %9s", s.name,
				s.median(at.name, func(f paceFigure) float64 { return f.perSecond }),
				s.median(at.name, latencyAt(0.5)), s.median(at.name, latencyAt(0.95)), s.median(at.name, latencyAt(0.99)), s.hookText(at.name))
			for _, of := range []func(spent) time.Duration{
				func(s spent) time.Duration { return s.serve }, func(s spent) time.Duration { return s.worker },
				func(s spent) time.Duration { return s.postgres }, func(s spent) time.Duration { return s.redis }, spent.inAll,
			} {
				fmt.Fprintf(w, " %7.0f", s.median(at.name, forOne(of)))
			}
			fmt.Fprintln(w)
		}
	}
	if len(r.idled) > 0 {
		fmt.Fprintf(w, "\nIdle for %s, %% of a core:\n  %s\n", r.idle, strings.Join(r.idled, "\n  "))
	}
	printGoals(w, r.goals())
	return nil
}

func (s *paceSubject) hookText(at string) string {
	if !s.hooked {
		return "-"
	}
	return fmt.Sprintf("%.1f", s.median(at, hookAt(0.95)))
}

// besideF are a figure's ratios to that of pgbench, round by round.
func (r *paced) besideF(s *paceSubject, at string, of func(paceFigure) float64) []float64 {
	return quotients(s.values(at, of), r.subjects[0].values(at, of))
}

// ordinary is the name of the pace that most installations have.
const ordinary = "200/s"

// goals returns the aims for the ordinary load, of this build.
func (r *paced) goals() (goals []goal) {
	for _, s := range r.subjects {
		if s.in == nil || s.hooked {
			continue
		}
		goals = append(goals, atMost(s.name+": p50 / F at 200/s", "ratio", 2, 2.5, r.besideF(s, ordinary, latencyAt(0.5))),
			atMost(s.name+": p95 / F at 200/s", "ratio", 2, 2.5, r.besideF(s, ordinary, latencyAt(0.95))),
			atMost(s.name+": CPU / F at 200/s", "ratio", 2, 2.5, r.besideF(s, ordinary, inAll)))
	}
	return goals
}
