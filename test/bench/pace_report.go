package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// countCalls counts system calls by perf. Where it may not count, that is told in place of them.
func (s *paceSubject) countCalls(ctx context.Context, r *paced, perSecond float64) error {
	processes := []struct {
		name string
		pids []int
	}{{"serve", []int{s.in.serving.cmd.Process.Pid}}, {"worker", []int{s.in.worker.cmd.Process.Pid}}}
	if r.master != 0 {
		processes = append(processes, struct {
			name string
			pids []int
		}{"Postgres", family(r.master)})
	}
	if s.in.store != nil {
		processes = append(processes, struct {
			name string
			pids []int
		}{"Redis", []int{s.in.store.pid}})
	}
	told := make([]string, len(processes))
	var group sync.WaitGroup
	for i, p := range processes {
		group.Go(func() {
			n, err := systemCalls(ctx, p.pids, r.counted)
			if told[i] = fmt.Sprintf("%s %.0f", p.name, float64(n)/(perSecond*r.counted.Seconds())); err != nil {
				told[i] = p.name + " unknown, as perf cannot count here"
			}
		})
	}
	_, err := s.load(r.counted+time.Second).at(ctx, perSecond)
	group.Wait()
	s.calls = strings.Join(told, ", ")
	return err
}

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

func switchesFor(of func(switchCounts) int) func(paceFigure) float64 {
	return func(f paceFigure) float64 { return float64(of(f.switchCounts)) / float64(max(1, f.operations)) }
}

// print is the page.
func (r *paced) print(w io.Writer, paces []int) error {
	fmt.Fprintf(w, "Creates at a pace: %d rounds of %s, interleaved; %d processors for everything, the load too\n",
		r.rounds, r.duration, runtime.NumCPU())
	fmt.Fprintf(w, "%s; load average at the start %s\n", r.about, r.loadAverage)
	fmt.Fprintf(w, "Creates begin at moments of chance, and are timed from those; %d connections, pgbench %d clients.\n"+
		"Medians of the rounds.\n", paceConnections, r.clients)
	for _, at := range r.pacesOf(paces) {
		fmt.Fprintf(w, "\n%-32s %8s %23s %9s %41s %33s\n", at.name, "creates", "ms: p50     p95     p99", "webhooks'",
			"CPU us for a create: server, worker,", "context switches for a create:")
		fmt.Fprintf(w, "%-32s %8s %23s %9s %41s %33s\n", "", "/ s", "", "p95", "Postgres, Redis, all", "server, worker, Postgres, Redis")
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
			fmt.Fprint(w, " ")
			for _, of := range []func(switchCounts) int{
				func(s switchCounts) int { return s.serve }, func(s switchCounts) int { return s.worker },
				func(s switchCounts) int { return s.postgres }, func(s switchCounts) int { return s.redis },
			} {
				fmt.Fprintf(w, " %7.1f", s.median(at.name, switchesFor(of)))
			}
			fmt.Fprintln(w)
		}
	}
	r.printCounts(w, paces[0])
	if len(r.idled) > 0 {
		fmt.Fprintf(w, "\nIdle for %s, %% of a core:\n  %s\n", r.idle, strings.Join(r.idled, "\n  "))
	}
	r.printBesideF(w)
	return told(w, r.goals(), "", "")
}

// printBesideF tells how much more processor time one takes at an ordinary load than at full load, beside
// what the machine has bare Postgres take more for the same.
func (r *paced) printBesideF(w io.Writer) {
	f := quotients(r.subjects[0].values(ordinary, inAll), r.subjects[0].values(atFull, inAll))
	if len(f) == 0 {
		return
	}
	fmt.Fprintf(w, "\nProcessor time for one at %s over that at full load, and that ratio over F's, round by round:\n", ordinary)
	fmt.Fprintf(w, "  %-32s %5.2f (%.2f to %.2f)\n", r.subjects[0].name, median(f), slices.Min(f), slices.Max(f))
	for _, s := range r.subjects[1:] {
		own := quotients(s.values(ordinary, inAll), s.values(atFull, inAll))
		if over := quotients(own, f); len(over) > 0 {
			fmt.Fprintf(w, "  %-32s %5.2f (%.2f to %.2f)   over F's %.2f (%.2f to %.2f)\n", s.name, median(own), slices.Min(own), slices.Max(own),
				median(over), slices.Min(over), slices.Max(over))
		}
	}
}

func (s *paceSubject) hookText(at string) string {
	if !s.hooked {
		return "-"
	}
	return fmt.Sprintf("%.1f", s.median(at, hookAt(0.95)))
}

// printCounts tells system calls and round trips.
func (r *paced) printCounts(w io.Writer, perSecond int) {
	if r.counted == 0 {
		return
	}
	fmt.Fprintf(w, "\nFor a create at %s: system calls, and round trips of the server\n", perSecondName(perSecond))
	for _, s := range r.subjects {
		if s.in == nil {
			continue
		}
		all := 0.0
		var kinds []string
		for _, name := range slices.SortedFunc(maps.Keys(s.trips), func(a, b string) int {
			return cmp.Or(cmp.Compare(s.trips[b], s.trips[a]), strings.Compare(a, b))
		}) {
			all += s.trips[name]
			if s.trips[name] >= 0.01 {
				kinds = append(kinds, fmt.Sprintf("    %6.2f  %s", s.trips[name], name))
			}
		}
		fmt.Fprintf(w, "  %s\n    system calls: %s\n    %.1f round trips:\n%s\n", s.name, s.calls, all, strings.Join(kinds, "\n"))
	}
}

// besideF are a figure's ratios to that of pgbench, round by round.
func (r *paced) besideF(s *paceSubject, at string, of func(paceFigure) float64) []float64 {
	return quotients(s.values(at, of), r.subjects[0].values(at, of))
}

// ordinary is the name of the pace that most installations have.
const ordinary = "200/s"

// goals are those of the ordinary load, of this build.
func (r *paced) goals() (goals []goal) {
	const share = 0.7
	for _, s := range r.subjects {
		if s.in == nil {
			continue
		}
		few, full := s.values(ordinary, inAll), s.values(atFull, inAll)
		if !s.hooked {
			goals = append(goals, atMost(s.name+": p50 / F at 200/s", "ratio", 2, 2, r.besideF(s, ordinary, latencyAt(0.5))),
				atMost(s.name+": p95 / F at 200/s", "ratio", 2, 2.5, r.besideF(s, ordinary, latencyAt(0.95))),
				atMost(s.name+": CPU / full load", "ratio", 2, 2, quotients(few, full)),
				atMost(s.name+": p99 / F at 70 %", "ratio", 2, 2, r.besideF(s, ofShare(share), latencyAt(0.99))))
			continue
		}
		goals = append(goals, atMost(s.name+": CPU / full load", "ratio", 2, 2.5, quotients(few, full)))
	}
	return goals
}
