package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// processesArgument makes this program measure what many processes cost that share one Postgres
// and one Redis:
//
//	go run ./test/servers -- go run ./test/bench processes
//
// The same creates a second go to 1, 2, 4 and 8 servers, and the same webhooks are sent by
// 1, 2 and 4 workers; the processes that a trial leaves out are held by SIGSTOP. So what
// grows is what each process costs by itself: smaller batches, more connections, and
// all that it asks again and again whether or not anything happens. The last is also
// measured alone, and named. As many pgbenches do F at the same paces, which tells what
// the machine takes for sharing the same work out among processes.
const processesArgument = "processes"

// processesOptions are the flags behind it.
type processesOptions struct {
	rounds   int
	duration time.Duration
	paces    string
	idle     time.Duration
	profiles string
	binary   string
	only     string
}

// Trials have as many processes as these. The first of each is what the others are compared with.
var (
	serveCounts  = []int{1, 2, 4, 8}
	workerCounts = []int{1, 2, 4}
)

// mostGrowth is the aim for the processor time of a create with the most processes over that with one.
const mostGrowth = 1.1

// bareSessions are those of each pgbench: as many as a server uses at an ordinary pace.
const bareSessions = 2

// bareStart is how long they run before they are measured.
const bareStart = 4 * time.Second

// warmTime is how long processes work before they are measured: so long that Redis has
// forgotten servers that are held.
const warmTime = 12 * time.Second

func benchProcesses(ctx context.Context) (err error) {
	var o processesOptions
	flags := flag.NewFlagSet(processesArgument, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 6*time.Second, "length of one measurement")
	flags.StringVar(&o.paces, "paces", "200,600", "creates a second, separated by commas; webhooks are sent at the first")
	flags.DurationVar(&o.idle, "idle", 20*time.Second, "also measure for so long what is spent while nothing happens; 0: not")
	flags.StringVar(&o.profiles, "profiles", "", "a directory for profiles of a server alone and of one among the most, "+
		"as go tool pprof reads them")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flags.StringVar(&o.only, "only", "", "measure only what this regular expression matches")
	_ = flags.Parse(os.Args[2:]) // it exits
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	paces, err := parsePaces(o.paces)
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: o.binary, protocol: "prepared"})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	f, err := openFleet(ctx, b)
	defer func() { err = errors.Join(err, f.close()) }()
	if err != nil {
		return err
	}
	trials := slices.DeleteFunc(fleetTrials(paces), func(t *fleetTrial) bool { return !only.MatchString(t.title()) })
	for round := range o.rounds {
		for i := range trials {
			t := trials[(i+round)%len(trials)] // another one begins each round
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, t.title())
			if err := f.measure(ctx, t, o.duration); err != nil {
				return fmt.Errorf("%s: %w", t.title(), err)
			}
		}
	}
	if o.profiles != "" {
		if err := f.profile(ctx, paces[0], o); err != nil {
			return err
		}
	}
	var idled []idleFleet
	if o.idle > 0 {
		if idled, err = f.measureIdle(ctx, o.idle); err != nil {
			return err
		}
	}
	return printFleet(os.Stdout, f, o, trials, idled)
}

// fleet is servers and workers on one database, of which some are held.
type fleet struct {
	*post           // its server and its worker are the first
	serves, workers []*server
	alone, hooked   []application // without an endpoint, and with one each
}

func openFleet(ctx context.Context, b *bench) (f *fleet, err error) {
	f = &fleet{}
	if f.post, err = openPost(ctx, b, b.binary); err != nil {
		return f, err
	}
	f.serves, f.workers = []*server{f.serving}, []*server{f.worker}
	more := func(name string, all *[]*server, most int) error {
		for n := len(*all); n < most; n++ {
			dir := filepath.Join(b.dir, fmt.Sprintf("%s-%d", name, n))
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			s, err := launch(ctx, b.binary, dir, name, f.env)
			if err != nil {
				return err
			}
			*all = append(*all, s)
		}
		return nil
	}
	if err := errors.Join(more("serve", &f.serves, slices.Max(serveCounts)),
		more("worker", &f.workers, slices.Max(workerCounts))); err != nil {
		return f, err
	}
	f.alone, f.hooked = f.neighbours[:paceApplications], f.neighbours[paceApplications:2*paceApplications]
	for _, a := range f.hooked {
		if _, err := f.addEndpoint(ctx, a, a.inboxes[0]+"/hooks"); err != nil {
			return f, err
		}
	}
	return f, f.openPgbench(ctx, f.alone[0], pgbench{clients: bareSessions, protocol: b.protocol})
}

// close ends all processes; the first of each is the post's.
func (f *fleet) close() (err error) {
	if f.post == nil {
		return nil
	}
	for _, all := range [][]*server{f.serves, f.workers} {
		for i, s := range all {
			err = errors.Join(err, s.cmd.Process.Signal(syscall.SIGCONT))
			if i > 0 {
				err = errors.Join(err, s.stop())
			}
		}
	}
	return errors.Join(err, f.post.close())
}

// run lets so many servers and workers run, and holds the others.
func (f *fleet) run(serves, workers int) (err error) {
	for _, kind := range []struct {
		all []*server
		n   int
	}{{f.serves, serves}, {f.workers, workers}} {
		for i, s := range kind.all {
			signal := syscall.SIGCONT
			if i >= kind.n {
				signal = syscall.SIGSTOP
			}
			err = errors.Join(err, s.cmd.Process.Signal(signal))
		}
	}
	return err
}

// spent is that of all processes together.
func (f *fleet) spent() (s spent) {
	s = f.post.spent()
	s.serve, s.worker = 0, 0
	for _, p := range f.serves {
		s.serve += cpuOf(p.cmd.Process.Pid)
	}
	for _, p := range f.workers {
		s.worker += cpuOf(p.cmd.Process.Pid)
	}
	return s
}

// fleetTrial is one number of processes at one pace.
type fleetTrial struct {
	pace            int
	serves, workers int
	hooked          bool // each create has a webhook, which is waited for
	bare            int  // so many pgbenches do F, and all processes are held
	figures         []paceFigure
}

func fleetTrials(paces []int) (all []*fleetTrial) {
	for _, pace := range paces {
		for _, n := range []int{1, slices.Max(workerCounts), slices.Max(serveCounts)} {
			all = append(all, &fleetTrial{pace: pace, bare: n})
		}
		for _, n := range serveCounts {
			all = append(all, &fleetTrial{pace: pace, serves: n, workers: 1})
		}
	}
	for _, n := range workerCounts {
		all = append(all, &fleetTrial{pace: paces[0], serves: 1, workers: n, hooked: true})
	}
	return all
}

func (t *fleetTrial) title() string { return perSecondName(t.pace) + ", " + t.name() }

func (t *fleetTrial) name() string {
	switch {
	case t.bare > 0:
		return "F, by " + strconv.Itoa(t.bare) + " pgbench"
	case t.hooked:
		return "create + webhook, " + counted(t.workers, "worker")
	}
	return "create, " + counted(t.serves, "server")
}

func counted(n int, what string) string {
	if n > 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// load shares the connections out among the servers that run.
func (f *fleet) load(t *fleetTrial, duration time.Duration) paceLoad {
	l := paceLoad{of: f.alone, number: func() int { return int(f.numbers.Add(1)) }, duration: duration}
	if t.hooked {
		l.of = f.hooked
	}
	for _, s := range f.serves[:t.serves] {
		l.addresses = append(l.addresses, s.address)
	}
	return l
}

// measure is one trial, from peace to peace.
func (f *fleet) measure(ctx context.Context, t *fleetTrial, duration time.Duration) error {
	if err := f.run(t.serves, t.workers); err != nil {
		return err
	}
	if t.bare > 0 {
		return f.measureBare(ctx, t, duration)
	}
	if _, err := f.load(t, warmTime).openLoop(ctx, float64(t.pace)); err != nil {
		return err
	}
	if err := f.settled(ctx); err != nil {
		return err
	}
	if _, err := f.receiver.ask(askTake); err != nil {
		return err
	}
	before := f.spent()
	m, err := f.load(t, duration).openLoop(ctx, float64(t.pace))
	if err != nil {
		return err
	}
	if t.hooked {
		if err := f.await(ctx, m.operations, patience); err != nil {
			return err
		}
	}
	figure := paceFigure{measurement: m, spent: f.spent().since(before)}
	came, err := f.receiver.ask(askTake)
	if err != nil {
		return err
	}
	if t.hooked && came.Count != m.operations {
		return fmt.Errorf("%d webhooks of %d creates have come", came.Count, m.operations)
	}
	figure.hooks = lateness(came.First)
	t.figures = append(t.figures, figure)
	return f.settled(ctx)
}

// measureBare is one trial of pgbenches side by side. What Postgres spends is read in the
// middle of their run: the start of so many sessions would count as much as what they do.
func (f *fleet) measureBare(ctx context.Context, t *fleetTrial, duration time.Duration) error {
	var figure paceFigure
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed error
	whole := bareStart + duration + time.Second
	for i := range t.bare {
		p := *f.pgbench
		p.dir = filepath.Join(f.dir, fmt.Sprintf("pgbench-%d", i))
		if err := os.MkdirAll(p.dir, 0o700); err != nil {
			return err
		}
		group.Go(func() {
			m, err := f.book(ctx, p, float64(t.pace)/float64(t.bare), whole)
			mu.Lock()
			defer mu.Unlock()
			figure.operations += m.operations
			figure.perSecond += m.perSecond
			figure.latencies = append(figure.latencies, m.latencies...)
			failed = errors.Join(failed, err)
		})
	}
	err := pause(ctx, bareStart)
	before := cpuOfTree(f.master)
	err = errors.Join(err, pause(ctx, duration))
	figure.spent.postgres = cpuOfTree(f.master) - before
	group.Wait()
	figure.operations = int(float64(figure.operations) * float64(duration) / float64(whole))
	slices.Sort(figure.latencies)
	t.figures = append(t.figures, figure)
	return errors.Join(err, failed)
}

// profile keeps what one server spends its time on, of the fewest and of the most, at the first pace.
func (f *fleet) profile(ctx context.Context, pace int, o processesOptions) error {
	for _, t := range []*fleetTrial{{pace: pace, serves: 1, workers: 1}, {pace: pace, serves: slices.Max(serveCounts), workers: 1}} {
		if err := f.run(t.serves, t.workers); err != nil {
			return err
		}
		kept := make(chan error, 1)
		go func() {
			p, err := fetchProfile(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", f.serves[0].ops, int(o.duration.Seconds())))
			if err == nil {
				err = keepProfile(p, filepath.Join(o.profiles, fmt.Sprintf("serve-of-%d.pb.gz", t.serves)))
			}
			kept <- err
		}()
		_, err := f.load(t, o.duration).openLoop(ctx, float64(t.pace))
		if err := errors.Join(err, <-kept); err != nil {
			return err
		}
	}
	return nil
}

// idleFleet is what so many processes spend while no request comes, in % of a core.
type idleFleet struct {
	serves, workers                       int
	serve, worker, postgres, redis, inAll float64
	trips                                 map[string]float64 // a second, of the one process that was added; by what was asked
}

// measureIdle measures the fewest and the most processes, and counts what one of each asks.
func (f *fleet) measureIdle(ctx context.Context, duration time.Duration) (all []idleFleet, err error) {
	for _, n := range []idleFleet{{serves: 1, workers: 1}, {serves: slices.Max(serveCounts), workers: 1},
		{serves: 1, workers: slices.Max(workerCounts)}} {
		fmt.Fprintf(os.Stderr, "idle: %d + %d\n", n.serves, n.workers)
		if err := f.run(n.serves, n.workers); err != nil {
			return nil, err
		}
		if err := pause(ctx, 2*quiet); err != nil {
			return nil, err
		}
		begun, before := time.Now(), f.spent()
		if err := pause(ctx, duration); err != nil {
			return nil, err
		}
		s, took := f.spent().since(before), time.Since(begun)
		of := func(d time.Duration) float64 { return 100 * float64(d) / float64(took) }
		n.serve, n.worker, n.postgres, n.redis, n.inAll = of(s.serve), of(s.worker), of(s.postgres), of(s.redis), of(s.inAll())
		all = append(all, n)
	}
	if err := f.run(1, 1); err != nil {
		return nil, err
	}
	for name, n := range map[string]*idleFleet{"serve": &all[1], "worker": &all[2]} {
		if n.trips, err = f.idleTrips(ctx, name, duration); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// idleTrips counts what one more process asks of Postgres and Redis in a second, once it has started.
func (f *fleet) idleTrips(ctx context.Context, name string, duration time.Duration) (trips map[string]float64, err error) {
	env, relays, err := throughRelays(f.env)
	defer func() { err = errors.Join(err, closeAll(relays)) }()
	if err != nil {
		return nil, err
	}
	s, err := launch(ctx, f.post.binary, f.dir, name, env)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := pause(ctx, 2*quiet); err != nil {
		return nil, err
	}
	countedBy(relays)
	if err := pause(ctx, duration); err != nil {
		return nil, err
	}
	trips = map[string]float64{}
	for what, n := range countedBy(relays) {
		trips[what] = float64(n) / duration.Seconds()
	}
	return trips, nil
}

// countedBy is what all relays counted since the last time.
func countedBy(relays []*relay) map[string]int {
	all := map[string]int{}
	for _, r := range relays {
		maps.Copy(all, r.take())
	}
	return all
}
