package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// paceArgument makes this program measure what a create takes and costs at an ordinary
// pace, far below what the machine can do:
//
//	go run ./test/servers -- go run ./test/bench pace
//
// Creates begin at moments that chance draws, whether or not earlier ones have ended,
// and each is timed from the moment at which it was to begin. pgbench does F at the
// same pace in the same way. Each round has everything once at full load, and at a
// share of what it then did.
const paceArgument = "pace"

// paceOptions are the flags behind it.
type paceOptions struct {
	rounds   int
	duration time.Duration
	paces    string
	share    float64
	idle     time.Duration
	binary   string
	beside   string
	only     string
}

func benchPace(ctx context.Context) (err error) {
	var o paceOptions
	flags := flag.NewFlagSet(paceArgument, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 10*time.Second, "length of one measurement, whole seconds")
	flags.StringVar(&o.paces, "paces", "200,20", "creates a second, separated by commas")
	flags.Float64Var(&o.share, "share", 0.7, "of full load, a pace of its own; 0: neither this nor full load is measured")
	flags.DurationVar(&o.idle, "idle", 0, "also measure for so long what is spent while nothing happens")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flags.StringVar(&o.beside, "beside", "", "other builds of the program, NAME=PATH,NAME=PATH, to be measured in the same run")
	flags.StringVar(&o.only, "only", "", "measure only F and what this regular expression matches")
	_ = flags.Parse(os.Args[2:]) // it exits
	paces, err := parsePaces(o.paces)
	if err != nil {
		return err
	}
	b, err := open(ctx, options{binary: o.binary, clients: 16, protocol: "prepared"})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	run := &paced{bench: b, paceOptions: o}
	defer func() { err = errors.Join(err, run.close()) }()
	if err := run.openAll(ctx); err != nil {
		return err
	}
	if o.idle > 0 {
		if err := run.measureIdle(ctx); err != nil {
			return err
		}
	}
	for round := range o.rounds {
		for _, at := range run.pacesOf(paces) {
			for i := range run.subjects {
				// Another one begins each round.
				s := run.subjects[(i+round)%len(run.subjects)]
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %s\n", round+1, o.rounds, at.name, s.name)
				if err := run.measure(ctx, s, at); err != nil {
					return fmt.Errorf("%s, %s: %w", at.name, s.name, err)
				}
			}
		}
	}
	return run.print(os.Stdout, paces)
}

func parsePaces(text string) (paces []int, err error) {
	for name := range strings.SplitSeq(text, ",") {
		pace, err := strconv.Atoi(strings.TrimSpace(name))
		if err != nil || pace < 1 {
			return nil, fmt.Errorf("-paces: %q is no number of creates a second", name)
		}
		paces = append(paces, pace)
	}
	return paces, nil
}

// pace is how many creates a second there are: a number, or a share of full load.
type pace struct {
	name      string
	perSecond float64 // 0: as fast as they are answered
	share     float64 // of full load; 0: perSecond counts
}

const atFull = "full load"

func ofShare(share float64) string { return fmt.Sprintf("%.0f %% of full load", 100*share) }

func perSecondName(n int) string { return strconv.Itoa(n) + "/s" }

// pacesOf are the paces of a round. Full load is first: the others are shares of it.
func (r *paced) pacesOf(paces []int) (all []pace) {
	if r.share > 0 {
		all = append(all, pace{name: atFull}, pace{name: ofShare(r.share), share: r.share})
	}
	for _, n := range paces {
		all = append(all, pace{name: perSecondName(n), perSecond: float64(n)})
	}
	return all
}

// paced is a run.
type paced struct {
	*bench
	paceOptions
	installations []*installation
	subjects      []*paceSubject
	idled         []string
}

// installation is a server, a worker, and applications of two kinds.
type installation struct {
	*post
	name   string
	alone  []application // without an endpoint
	hooked []application // with one each
}

// paceSubject is what is measured at each pace.
type paceSubject struct {
	name   string
	in     *installation // nil: pgbench
	hooked bool          // each create has a webhook, which is waited for

	figures map[string][]paceFigure // by the name of the pace
}

// paceFigure is what one round came to.
type paceFigure struct {
	measurement
	hooks measurement // from the event to the arrival of its webhook
	spent
}

// pgbenchF is the subject that does F.
const pgbenchF = "F  pgbench, one call"

// wakeUp is how long an installation that was held works before it is measured.
const wakeUp = 500 * time.Millisecond

const (
	// paceApplications share the connections.
	paceApplications = 4
	paceConnections  = paceApplications * perApplication
)

func (r *paced) openAll(ctx context.Context) error {
	only, err := regexp.Compile(r.paceOptions.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	names, binaries := otherBuilds(r.beside)
	names, binaries = append([]string{""}, names...), append([]string{r.binary()}, binaries...)
	r.subjects = []*paceSubject{{name: pgbenchF}}
	for i, name := range names {
		if name != "" {
			name = ", " + name
		}
		for _, store := range []string{"no Redis", "Redis"} {
			chosen := slices.DeleteFunc([]*paceSubject{{name: "create, " + store + name}, {name: "create + webhook, " + store + name, hooked: true}},
				func(s *paceSubject) bool { return !only.MatchString(s.name) })
			if len(chosen) == 0 {
				continue
			}
			in, err := openInstallation(ctx, r.bench, store+name, binaries[i], store == "Redis")
			r.installations = append(r.installations, in)
			if err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
			for _, s := range chosen {
				s.in = in
			}
			r.subjects = append(r.subjects, chosen...)
		}
	}
	if len(r.installations) == 0 {
		return fmt.Errorf("there is nothing that -only %q matches", r.paceOptions.only)
	}
	for _, s := range r.subjects {
		s.figures = map[string][]paceFigure{}
		if s.in == nil {
			continue
		}
		if _, err := s.load(2 * time.Second).closedLoop(ctx); err != nil { // caches, and tables of some size
			return err
		}
	}
	in := r.installations[0]
	return in.openPgbench(ctx, in.alone[0], pgbench{clients: r.clients, protocol: r.protocol})
}

// binary is the program that is measured; it was built where none was named.
func (r *paced) binary() string { return r.bench.binary }

func openInstallation(ctx context.Context, b *bench, name, binary string, shared bool) (in *installation, err error) {
	in = &installation{name: name}
	if shared {
		in.post, err = openPost(ctx, b, binary)
	} else {
		in.post, err = openPostOn(ctx, b, binary, nil)
	}
	if err != nil {
		return in, err
	}
	in.alone, in.hooked = in.neighbours[:paceApplications], in.neighbours[paceApplications:2*paceApplications]
	for _, a := range in.hooked {
		if _, err := in.addEndpoint(ctx, a, a.inboxes[0]+"/hooks"); err != nil {
			return in, err
		}
	}
	return in, nil
}

func (r *paced) close() (err error) {
	for _, in := range r.installations {
		if in.post != nil {
			err = errors.Join(err, in.hold(syscall.SIGCONT), in.close())
		}
	}
	return err
}

// only lets one installation run, and none where it is nil: the others would spend what
// is counted for it in the one Postgres.
func (r *paced) only(one *installation) (err error) {
	for _, in := range r.installations {
		if in == one {
			err = errors.Join(err, in.hold(syscall.SIGCONT))
			continue
		}
		err = errors.Join(err, in.hold(syscall.SIGSTOP))
	}
	return err
}

func (in *installation) hold(signal syscall.Signal) (err error) {
	for _, s := range []*server{in.serving, in.worker} {
		if s != nil {
			err = errors.Join(err, s.cmd.Process.Signal(signal))
		}
	}
	return err
}

// number is one of a create that was not used before.
func (in *installation) number() int { return int(in.numbers.Add(1)) }

// load is the subject's creates.
func (s *paceSubject) load(duration time.Duration) paceLoad {
	of := s.in.alone
	if s.hooked {
		of = s.in.hooked
	}
	return paceLoad{addresses: []string{s.in.serving.address}, of: of, number: s.in.number, duration: duration}
}

// measure is one subject at one pace, from peace to peace: what it left to be cleaned is cleaned before the
// next one is measured, to which Postgres's own cleaning would be counted.
func (r *paced) measure(ctx context.Context, s *paceSubject, at pace) error {
	if err := r.load(ctx, s, at); err != nil {
		return err
	}
	if s.in != nil {
		return clean(ctx, s.in.db)
	}
	return r.on(ctx, r.onFunc, func(db *pgx.Conn) error { return clean(ctx, db) })
}

func (r *paced) load(ctx context.Context, s *paceSubject, at pace) error {
	perSecond := at.perSecond
	if at.share > 0 {
		full := s.figures[atFull]
		perSecond = at.share * full[len(full)-1].perSecond
	}
	if err := r.only(s.in); err != nil {
		return err
	}
	if s.in == nil {
		before := cpuOfTree(r.master)
		m, err := r.book(ctx, *r.pgbench, perSecond, r.duration)
		f := paceFigure{measurement: m, spent: spent{postgres: cpuOfTree(r.master) - before}}
		s.figures[at.name] = append(s.figures[at.name], f)
		return err
	}
	// An installation that was held has to find out what has become due meanwhile, and to wake up.
	if _, err := s.load(wakeUp).at(ctx, perSecond); err != nil {
		return err
	}
	if err := s.in.settled(ctx); err != nil {
		return err
	}
	if _, err := s.in.receiver.ask(askTake); err != nil {
		return err
	}
	spent := s.in.spent()
	m, err := s.load(r.duration).at(ctx, perSecond)
	if err != nil {
		return err
	}
	f := paceFigure{measurement: m}
	if s.hooked {
		if err := s.in.await(ctx, m.operations, patience); err != nil {
			return err
		}
	}
	f.spent = s.in.spent().since(spent)
	came, err := s.in.receiver.ask(askTake)
	if err != nil {
		return err
	}
	if s.hooked && came.Count != m.operations {
		return fmt.Errorf("%d webhooks of %d creates have come", came.Count, m.operations)
	}
	f.hooks = lateness(came.First)
	s.figures[at.name] = append(s.figures[at.name], f)
	return s.in.settled(ctx)
}
