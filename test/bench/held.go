package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// heldRate is how many creates a second there are through phases, each with a webhook.
const heldRate = 200

// phase is a part of a long run: it lasts until run returns.
type phase struct {
	name string
	run  func(ctx context.Context) error
}

// stretch is what was measured in a part of a phase.
type stretch struct {
	phase      string
	begun, end time.Time
	spent
	dead       int64 // versions of webhooks that Postgres has not taken away
	deadLeases int64
}

// phased is a long run of a steady pace.
type phased struct {
	*post
	rate      int
	begun     time.Time
	stretches []stretch
	came      map[int]arrival // the first of each create
	again     int
}

// held is a steady pace before, beside and after a snapshot that is held for so long.
func (p *post) held(ctx context.Context, duration, around time.Duration) (*phased, error) {
	if err := p.warm(ctx); err != nil {
		return nil, err
	}
	pausing := func(ctx context.Context) error { return pause(ctx, around) }
	return p.throughPhases(ctx, heldRate, duration/15, []phase{
		{"before", pausing},
		{"held", func(ctx context.Context) (err error) {
			snapshot, err := p.takeSnapshot(ctx)
			if err != nil {
				return err
			}
			return errors.Join(pause(ctx, duration), snapshot.Close(context.WithoutCancel(ctx)))
		}},
		{"after", pausing},
	})
}

// takeSnapshot takes one as pg_dump does, which lasts as long as the connection.
func (p *post) takeSnapshot(ctx context.Context) (*pgx.Conn, error) {
	db, err := pgx.ConnectConfig(ctx, p.db.Config())
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM webhook_endpoints"} {
		if _, err := db.Exec(ctx, statement); err != nil {
			return nil, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
		}
	}
	return db, nil
}

// throughPhases creates at a steady pace while the phases follow each other, and
// measures each in stretches of at most so long.
func (p *post) throughPhases(ctx context.Context, perSecond int, each time.Duration, phases []phase) (*phased, error) {
	if err := p.settled(ctx); err != nil {
		return nil, err
	}
	if err := clean(ctx, p.db); err != nil {
		return nil, err
	}
	if _, err := p.receiver.ask(askTake); err != nil {
		return nil, err
	}
	p.answered = nil
	run := &phased{post: p, rate: perSecond, begun: time.Now(), came: map[int]arrival{}}
	ordering, stop := context.WithCancel(ctx)
	defer stop()
	ordered := make(chan error, 1)
	go func() { ordered <- p.order(ordering, []application{p.one}, math.MaxInt, perSecond) }()
	for _, ph := range phases {
		if err := run.through(ctx, ph, each, ordered); err != nil {
			return nil, fmt.Errorf("%s: %w", ph.name, err)
		}
	}
	stop()
	if err := <-ordered; !errors.Is(err, context.Canceled) {
		return nil, err
	}
	for deadline := time.Now().Add(patience); run.lost() > 0 && time.Now().Before(deadline); {
		if err := errors.Join(pause(ctx, 100*time.Millisecond), run.take()); err != nil {
			return nil, err
		}
	}
	return run, nil
}

// through measures one phase.
func (p *phased) through(ctx context.Context, ph phase, each time.Duration, ordered <-chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- ph.run(ctx) }()
	for over := false; !over; {
		s, before := stretch{phase: ph.name, begun: time.Now()}, p.spent()
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			over = true
		case err := <-ordered:
			return errors.Join(errors.New("the creates have ended"), err)
		case <-time.After(each):
		}
		s.end, s.spent = time.Now(), p.spent().since(before)
		sizes, err := sizesOf(ctx, p.db)
		if err != nil {
			return err
		}
		s.dead, s.deadLeases = sizes["webhook_deliveries"].dead, sizes["webhook_leases"].dead
		if err := p.take(); err != nil {
			return err
		}
		if s.end.Sub(s.begun) < each/10 {
			continue // what a timer leaves over
		}
		p.stretches = append(p.stretches, s)
		p.line(os.Stderr, s)
	}
	return nil
}

// take gets what came since it was last called.
func (p *phased) take() error {
	a, err := p.receiver.ask(askTake)
	p.again += a.Again
	for _, one := range a.First {
		if _, twice := p.came[one.Order]; twice {
			p.again++
			continue
		}
		p.came[one.Order] = one
	}
	return err
}

// lost is how many creates were answered whose webhook has not come.
func (p *phased) lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := 0
	for create := range p.answered {
		if _, came := p.came[create]; !came {
			lost++
		}
	}
	return lost
}

// during are the latencies of the events of some stretches, from the event to the arrival.
func (p *phased) during(of ...stretch) (m measurement) {
	for _, a := range p.came {
		if slices.ContainsFunc(of, func(s stretch) bool { return !a.Happened.Before(s.begun) && a.Happened.Before(s.end) }) {
			m.latencies = append(m.latencies, a.Came.Sub(a.Happened))
		}
	}
	slices.Sort(m.latencies)
	return m
}

// ofPhase are its stretches.
func (p *phased) ofPhase(name string) (of []stretch) {
	for _, s := range p.stretches {
		if s.phase == name {
			of = append(of, s)
		}
	}
	return of
}

func quantiles(m measurement) string {
	text := fmt.Sprintf("%9d", len(m.latencies))
	for _, q := range []float64{0.5, 0.95, 0.99, 1} {
		text += fmt.Sprintf("%9.1f", milliseconds(m.quantile(q)))
	}
	return text
}

// line is that of one stretch.
func (p *phased) line(w io.Writer, s stretch) {
	took := s.end.Sub(s.begun)
	share := func(of time.Duration) float64 { return 100 * float64(of) / float64(took) }
	fmt.Fprintf(w, "%-8s %6s to %6s %s%11d%9d%9.0f%9.0f%9.0f\n", s.phase, clock(s.begun.Sub(p.begun)), clock(s.end.Sub(p.begun)),
		quantiles(p.during(s)),
		s.dead, s.deadLeases, share(s.serve), share(s.worker), share(s.postgres))
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// print is the page; middles are the phases that are set against the first.
func (p *phased) print(w io.Writer, title string, middles ...string) {
	fmt.Fprintf(w, "%s; %d creates a second, each with a webhook; %d processors for everything\n%s\n", title, p.rate, runtime.NumCPU(),
		p.about)
	fmt.Fprint(w, "Latencies are in milliseconds, from the timestamp of the event, which is before its commit.\n\n")
	fmt.Fprintf(w, "%-25s%9s%9s%9s%9s%9s%11s%9s%27s\n", "", "webhooks", "p50", "p95", "p99", "max", "dead", "dead", "% of a core:")
	fmt.Fprintf(w, "%-25s%45s%11s%9s%9s%9s%9s\n", "", "", "webhooks", "leases", "serve", "worker", "Postgres")
	for _, s := range p.stretches {
		p.line(w, s)
	}
	fmt.Fprintln(w)
	for i, s := range p.stretches {
		if i == 0 || p.stretches[i-1].phase != s.phase {
			fmt.Fprintf(w, "%-25s%s\n", "all "+s.phase, quantiles(p.during(p.ofPhase(s.phase)...)))
		}
	}
	before := p.during(p.ofPhase("before")...)
	than := func(d time.Duration) float64 { return ratio(milliseconds(d), milliseconds(before.quantile(0.95))) }
	for _, middle := range middles {
		beside := p.ofPhase(middle)
		var worst time.Duration
		for _, s := range beside {
			worst = max(worst, p.during(s).quantile(0.95))
		}
		fmt.Fprintf(w, "p95, %s / before: %.2f; of its worst part %.2f (aim: <= 1.5)\n", middle, than(p.during(beside...).quantile(0.95)),
			than(worst))
	}
	fmt.Fprintf(w, "lost: %d of %d; repeated: %d\n", p.lost(), len(p.answered), p.again)
}

// failed tells what makes the run worthless, whatever its figures.
func (p *phased) failed() error {
	if n := p.lost(); n > 0 {
		return fmt.Errorf("%d webhooks did not arrive", n)
	}
	return nil
}
