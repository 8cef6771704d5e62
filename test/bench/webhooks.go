package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"
)

// webhooksArgument makes this program measure webhooks:
//
//	go run ./test/servers -- go run ./test/bench webhooks
//
// A server and a worker of the program run on one Postgres and on a Redis of
// their own. What is sent to is a process beside them that answers at once.
// Events are those of real creates over HTTP: for a backlog while the worker is
// held back with SIGSTOP, for latencies at a pace.
const webhooksArgument = "webhooks"

// post is an installation whose webhooks are received.
type post struct {
	*installation
	receiver *receiver
}

// openPost starts everything. The first application has an endpoint that answers. What it
// returns must be closed, also after an error.
func openPost(ctx context.Context, b *bench, settingsBesides ...string) (p *post, err error) {
	p = &post{}
	if p.installation, err = openInstallation(ctx, b, true, 2, settingsBesides...); err != nil {
		return p, err
	}
	if p.receiver, err = startReceiver(); err != nil {
		return p, err
	}
	_, err = p.addEndpoint(ctx, p.keys[0], p.receiver.address+"/hooks")
	return p, err
}

func (p *post) close() error { return errors.Join(p.installation.close(), p.receiver.stop()) }

// trial is one thing that is measured in every round. It calls begin when what counts begins,
// and tells how many webhooks are to come.
type trial struct {
	name   string
	run    func(ctx context.Context, begin func()) (expected int, err error)
	rounds []measurement
}

func benchWebhooks(ctx context.Context, args []string) (err error) {
	var o options
	flags := flagsOf(webhooksArgument, &o, 5, 8*time.Second)
	backlog := flags.Duration("backlog", 3*time.Second, "for how long creates are sent whose webhooks wait")
	_ = flags.Parse(args) // it exits
	b, err := open(ctx, o)
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	p, err := openPost(ctx, b)
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return err
	}
	bench, err := openBareCommits(ctx, p)
	if err != nil {
		return err
	}
	commits := &trial{name: "200/s, commits alone"}
	trials := []*trial{
		{name: "200/s", run: p.steady(200, o.duration)},
		{name: "20/s", run: p.steady(20, o.duration)},
		{name: "20/s beside 1 hung", run: p.besideHung(20, o.duration)},
		{name: "backlog", run: p.backlog(*backlog)},
	}
	for round := range o.rounds {
		for i := range trials {
			t := trials[(i+round)%len(trials)] // another one begins each round
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, t.name)
			if err := p.measure(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		m, err := bench.commit(ctx, 200, o.duration)
		if err != nil {
			return fmt.Errorf("%s: %w", commits.name, err)
		}
		commits.rounds = append(commits.rounds, m)
	}
	p.print(os.Stdout, append(trials, commits))
	return nil
}

// openBareCommits warms the installation and makes a database for bare commits.
func openBareCommits(ctx context.Context, p *post) (*pgbench, error) {
	if _, err := p.fill(ctx, p.keys[0], time.Second); err != nil {
		return nil, err
	}
	return openPgbench(ctx, p.bench, p.db)
}

// patience is how long is waited for what may never come.
const patience = 30 * time.Second

// measure runs a trial once, from peace to peace.
func (p *post) measure(ctx context.Context, t *trial) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	if err := p.settle(ctx, p.url); err != nil {
		return err
	}
	if _, err := p.receiver.ask(askTake); err != nil {
		return err
	}
	var begun time.Time
	var before spent
	expected, err := t.run(ctx, func() { begun, before = time.Now(), p.spent() })
	if err != nil {
		return err
	}
	if err := p.await(ctx, expected); err != nil {
		return err
	}
	if err := p.settled(ctx); err != nil {
		return err
	}
	m := measurement{spent: p.spent().since(before)}
	came, err := p.receiver.ask(askTake)
	if err != nil {
		return err
	}
	var last time.Time
	for _, a := range came.First {
		m.latencies = append(m.latencies, a.Came.Sub(a.Happened))
		last = a.Came
	}
	if m.operations = len(came.First); m.operations != expected {
		return fmt.Errorf("%d webhooks of %d creates have come", m.operations, expected)
	}
	slices.Sort(m.latencies)
	m.perSecond = float64(m.operations) / last.Sub(begun).Seconds()
	t.rounds = append(t.rounds, m)
	return nil
}

// await waits until so many webhooks have come, or it has taken too long.
func (p *post) await(ctx context.Context, n int) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		a, err := p.receiver.ask(askCount)
		if err != nil || a.Count >= n {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// steady is events at a pace.
func (p *post) steady(perSecond float64, duration time.Duration) func(context.Context, func()) (int, error) {
	return func(ctx context.Context, begin func()) (int, error) {
		begin()
		m, err := p.creates(p.keys[:1], perSecond, duration).run(ctx)
		return m.operations, err
	}
}

// besideHung is events at a pace, beside as many of another application whose endpoint
// never answers.
func (p *post) besideHung(perSecond float64, duration time.Duration) func(context.Context, func()) (int, error) {
	return func(ctx context.Context, begin func()) (int, error) {
		endpoint, err := p.addEndpoint(ctx, p.keys[1], p.receiver.address+hangPath)
		if err != nil {
			return 0, err
		}
		hung := make(chan error, 1)
		go func() {
			_, err := p.creates(p.keys[1:2], perSecond, duration).run(ctx)
			hung <- err
		}()
		n, err := p.steady(perSecond, duration)(ctx, begin)
		err = errors.Join(err, <-hung)
		_, removeErr := p.call(ctx, p.keys[1], http.MethodDelete, "/webhook-endpoints/"+endpoint, "")
		return n, errors.Join(err, removeErr)
	}
}

// afterwards is how long a server writes what it keeps of requests, once a second, after the
// last one: no part of what webhooks cost.
const afterwards = 3 * time.Second

// backlog is webhooks that have waited, as the worker was held back, with nothing beside them.
func (p *post) backlog(duration time.Duration) func(context.Context, func()) (int, error) {
	return func(ctx context.Context, begin func()) (int, error) {
		if err := p.worker.Signal(syscall.SIGSTOP); err != nil {
			return 0, err
		}
		n, err := p.fill(ctx, p.keys[0], duration)
		if err == nil {
			err = pause(ctx, afterwards)
		}
		if err == nil {
			err = p.settle(ctx)
		}
		begin()
		return n, errors.Join(err, p.worker.Signal(syscall.SIGCONT))
	}
}

// print is the page.
func (p *post) print(w io.Writer, trials []*trial) {
	p.printHead(w, "Webhooks, from the timestamp of the event, which is before its commit, until all of the request was received")
	fmt.Fprintf(w, "%-24s %8s %23s %47s\n", "medians", "per s", "ms: p50     p95     p99", "CPU us: server, worker, Postgres, Redis, all")
	by := map[string][]measurement{}
	for _, t := range trials {
		by[t.name] = t.rounds
		fmt.Fprintf(w, "%-24s %8.0f %7.1f %7.1f %7.1f       ", t.name, median(values(t.rounds, perSecond)),
			median(values(t.rounds, at(0.5))), median(values(t.rounds, at(0.95))), median(values(t.rounds, at(0.99))))
		for _, of := range processors {
			fmt.Fprintf(w, " %7.0f", median(values(t.rounds, each(of))))
		}
		fmt.Fprintln(w)
	}
	beyond := values(by["200/s"], at(0.95))
	for i, commit := range values(by["200/s, commits alone"], at(0.95)) {
		beyond[i] -= commit
	}
	perCPU := func(m measurement) float64 { return 1e6 / each(spent.inAll)(m) }
	fmt.Fprintf(w, "\n%.0f webhooks of a backlog in a second of processors\n", median(values(by["backlog"], perCPU)))
	printGoals(w, []goal{
		atMost("p95 at 200/s, beyond a bare commit's", "ms", 40, beyond),
		atMost("p95 at 20/s beside 1 hung", "ms", 120, values(by["20/s beside 1 hung"], at(0.95))),
	})
}
