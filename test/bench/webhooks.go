package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"
)

// webhooksArgument makes this program measure webhooks:
//
//	go run ./test/servers -- go run ./test/bench webhooks
//
// A server and a worker of the program run on one Postgres and on a Redis of
// their own. What is sent to is a process beside them that answers at once.
// Events are those of real creates over HTTP: for a backlog while the worker is
// held back with SIGSTOP, for latencies at a steady pace.
const webhooksArgument = "webhooks"

// webhookOptions are the flags behind it.
type webhookOptions struct {
	rounds   int
	duration time.Duration
	backlog  int
	only     string
	binary   string
	beside   string
}

func benchWebhooks(ctx context.Context) (err error) {
	var o webhookOptions
	flags := flag.NewFlagSet(webhooksArgument, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 8*time.Second, "length of one measurement of latencies")
	flags.IntVar(&o.backlog, "backlog", 16000, "webhooks that wait when one of throughput begins")
	flags.StringVar(&o.only, "only", "", "measure only what this regular expression matches, and what it is compared with")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flags.StringVar(&o.beside, "beside", "", "other builds of the program, NAME=PATH,NAME=PATH, each with processes of its own: "+
		"every trial is one of them, too, in the same round, and set against it")
	_ = flags.Parse(os.Args[2:]) // it exits
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: o.binary})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	p, err := openPost(ctx, b, b.binary)
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return err
	}
	if err := p.warm(ctx); err != nil {
		return err
	}
	trials := chosen(p.trials(o), only)
	if len(trials) == 0 {
		return fmt.Errorf("there is nothing that -only %q matches", o.only)
	}
	names, binaries := otherBuilds(o.beside)
	for i, name := range names {
		other, otherErr := openPost(ctx, b, binaries[i])
		defer func() { err = errors.Join(err, other.close()) }()
		if otherErr == nil {
			otherErr = other.warm(ctx)
		}
		if otherErr != nil {
			return fmt.Errorf("%s: %w", name, otherErr)
		}
		for _, t := range trials {
			t.setBeside(name, other.trials(o))
		}
	}
	for round := range o.rounds {
		for _, t := range ofRound(trials, round, o.rounds) {
			for _, t := range t.inTurn(round) {
				fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, t.name)
				if err := t.on.measure(ctx, t); err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
			}
		}
	}
	printWebhooks(os.Stdout, p, o, trials)
	for _, t := range trials {
		for _, t := range t.inTurn(0) {
			if n := slices.Max(t.lost); n > 0 {
				return fmt.Errorf("%s: %d webhooks did not arrive", t.name, n)
			}
		}
	}
	return nil
}

// trial is one thing that is measured in every round.
type trial struct {
	name        string
	on          *post
	run         func(ctx context.Context) (outcome, error)
	figures     []figure
	comparisons []comparison
	once        bool     // by its length: only at the end of the last round
	others      []*trial // the same of other builds

	outcomes []outcome
	lost     []int
}

// outcome is what one round of a trial came to.
type outcome struct {
	expected int // webhooks
	begun    time.Time
	took     time.Duration     // what is later does not count; 0: everything does
	answered map[int]time.Time // when each create was
	commits  []time.Duration   // sorted; of those that are measured alone
	arrivals
	spent // before it began; once it is over, meanwhile
}

// trials are what every round measures.
func (p *post) trials(o webhookOptions) []*trial {
	drain := func(name string, a application) *trial {
		return &trial{name: name, figures: throughput, run: func(ctx context.Context) (outcome, error) { return p.drain(ctx, a, o.backlog) }}
	}
	steady := func(name string, perSecond, hung int, figures []figure) *trial {
		return &trial{name: name, figures: figures, run: func(ctx context.Context) (outcome, error) {
			return p.steady(ctx, perSecond, hung, o.duration)
		}}
	}
	commit := committed("p95 ms", 0.95)
	bare := &trial{name: "200/s, commits alone", figures: []figure{committed("p50 ms", 0.5), commit, committed("p99 ms", 0.99)},
		run: func(ctx context.Context) (outcome, error) { return p.commits(ctx, 200, o.duration) }}
	loaded := steady("200/s", 200, 0, latency(-1))
	loaded.comparisons = []comparison{{figure: figure{"p95 over a commit's, ms", p95(-1).of, 1, 0, 40}, with: bare, by: difference, against: commit.of}}
	all := []*trial{
		drain("backlog to 1 endpoint", p.one),
		drain("backlog to 4 endpoints", p.four),
		drain("backlog to 16 endpoints", p.sixteen),
		steady("20/s", 20, 0, latency(-1)),
		bare,
		loaded,
		steady("20/s beside 1 hung", 20, 1, latency(120)),
		steady("20/s beside 50 hung", 20, mostNeighbours, latency(120)),
		{name: "200/s, FLUSHALL twice", figures: []figure{{"lost", missing, 0, 0, 0}, {"latest, s", latest, 1, 0, -1}},
			run: func(ctx context.Context) (outcome, error) { return p.flushed(ctx, o.duration) }},
		{name: "kill -9 with a backlog", figures: []figure{{"last event after s", last, 1, 0, 10}, {"lost", missing, 0, 0, 0},
			{"repeated", repeats, 0, 0, -1}},
			run: func(ctx context.Context) (outcome, error) { return p.killed(ctx, o.backlog/4) }},
	}
	for _, t := range all {
		t.on = p
	}
	return all
}

// setBeside has a trial measured on another build, too, and compared by the first two of its figures: those are what it is for.
func (t *trial) setBeside(build string, all []*trial) {
	for _, other := range all {
		if other.name != t.name || t.once {
			continue
		}
		other.name += ", " + build
		other.comparisons = nil
		t.others = append(t.others, other)
		for _, f := range t.figures[:min(2, len(t.figures))] {
			t.comparisons = append(t.comparisons, comparison{figure: figure{f.name + " / " + build, f.of, 2, 0, -1}, with: other, by: ratio})
		}
	}
}

// inTurn is a trial on all builds, each round with another one first.
func (t *trial) inTurn(round int) (turn []*trial) {
	all := append([]*trial{t}, t.others...)
	for i := range all {
		turn = append(turn, all[(i+round)%len(all)])
	}
	return turn
}

// chosen are the trials that a pattern matches, and those they are compared with.
func chosen(trials []*trial, only *regexp.Regexp) []*trial {
	wanted := map[*trial]bool{}
	for _, t := range trials {
		if only.MatchString(t.name) {
			wanted[t] = true
			for _, c := range t.comparisons {
				wanted[c.with] = true
			}
		}
	}
	return slices.DeleteFunc(trials, func(t *trial) bool { return !wanted[t] })
}

// ofRound is what is measured in a round. Each round begins with another one;
// what is measured only once comes at the end, where it disturbs nothing.
func ofRound(trials []*trial, round, rounds int) (turn []*trial) {
	for i := range trials {
		if t := trials[(i+round)%len(trials)]; !t.once {
			turn = append(turn, t)
		}
	}
	for _, t := range trials {
		if t.once && round == rounds-1 {
			turn = append(turn, t)
		}
	}
	return turn
}

// patience is how long is waited for what may never come.
const patience = 30 * time.Second

// measure runs a trial once, from peace to peace.
func (p *post) measure(ctx context.Context, t *trial) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	// Each trial starts after the work that autovacuum does by the minute.
	// Without it Postgres knows nothing of tables that are so recent, and goes by
	// any index.
	if err := clean(ctx, p.db); err != nil {
		return err
	}
	if _, err := p.receiver.ask(askTake); err != nil {
		return err
	}
	p.answered = nil
	before := p.spent()
	o, err := t.run(ctx)
	if err != nil {
		return err
	}
	if err := p.await(ctx, o.expected, patience); err != nil {
		return err
	}
	if err := p.settled(ctx); err != nil {
		return err
	}
	if o.spent == (spent{}) {
		o.spent = before
	}
	if o.took == 0 {
		o.spent = p.spent().since(o.spent)
	}
	if o.arrivals, err = p.receiver.ask(askTake); err != nil {
		return err
	}
	o.answered = p.answered
	o = o.within()
	t.outcomes, t.lost = append(t.outcomes, o), append(t.lost, o.expected-o.Count)
	return nil
}

// warm brings caches to temperature, and makes tables of some size.
func (p *post) warm(ctx context.Context) error {
	_, err := p.drain(ctx, p.one, 4000)
	return err
}

// drain is a backlog with nothing beside it.
func (p *post) drain(ctx context.Context, a application, webhooks int) (o outcome, err error) {
	events := webhooks / len(a.inboxes)
	if err := p.backlog(ctx, a, events); err != nil {
		return o, err
	}
	o.expected, o.spent = events*len(a.inboxes), p.spent()
	o.begun, err = p.letGo()
	return o, err
}

// steady is one application's events at a steady pace, beside as many events of
// other applications whose endpoint never answers.
func (p *post) steady(ctx context.Context, perSecond, hung int, duration time.Duration) (o outcome, err error) {
	beside, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	neighbours := p.neighbours[:hung]
	var endpoints []string
	for _, n := range neighbours {
		id, err := p.addEndpoint(ctx, n, n.inboxes[0]+hangPath)
		if err != nil {
			stop()
			return o, err
		}
		endpoints = append(endpoints, id)
	}
	o.expected = perSecond * int(duration/time.Second)
	go func() {
		if hung == 0 {
			ended <- nil
			return
		}
		ended <- p.order(beside, neighbours, o.expected, perSecond)
	}()
	err = p.order(ctx, []application{p.one}, o.expected, perSecond)
	stop()
	if besideErr := <-ended; !errors.Is(besideErr, context.Canceled) {
		err = errors.Join(err, besideErr)
	}
	for i, id := range endpoints {
		err = errors.Join(err, p.removeEndpoint(ctx, neighbours[i], id))
	}
	return o, err
}

// flushed is a steady pace while Redis forgets everything, twice.
func (p *post) flushed(ctx context.Context, duration time.Duration) (o outcome, err error) {
	const perSecond = 200
	ended := make(chan error, 1)
	o.expected = perSecond * int(duration/time.Second)
	go func() { ended <- p.order(ctx, []application{p.one}, o.expected, perSecond) }()
	for range 2 {
		if err = pause(ctx, duration/3); err == nil {
			err = p.store.client.FlushAll(ctx).Err()
		}
		if err != nil {
			break
		}
	}
	return o, errors.Join(err, <-ended)
}

// killed is the end of a worker in the middle of a backlog, and another one.
func (p *post) killed(ctx context.Context, webhooks int) (o outcome, err error) {
	if err := p.backlog(ctx, p.one, webhooks); err != nil {
		return o, err
	}
	o.expected = webhooks
	if _, err := p.letGo(); err != nil {
		return o, err
	}
	if err := p.await(ctx, webhooks/4, patience); err != nil {
		return o, err
	}
	o.begun, err = p.replaceWorker(ctx)
	return o, err
}
