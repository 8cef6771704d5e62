package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// part is the part of the work that a sample of a profile is spent on.
type part int

const (
	forProgram   part = iota // HTTP, JSON, rules: everything but the database
	forDatabase              // the store, gorm, pgx, and their system calls
	forCollector             // of garbage
	forScheduler             // the runtime on its own: finding work, waiting for the network
	forProfiler              // which would not be there without the measurement
	parts
)

// owners are packages that decide which part a sample counts for: the innermost
// one on the stack does. All others, such as net or the domain, work for their
// caller.
var owners = []struct {
	prefix string
	part   part
}{
	{"waybill/adapters/storage", forDatabase},
	{"github.com/jackc", forDatabase},
	{"gorm.io", forDatabase},
	{"database/sql", forDatabase},
	{"waybill/application", forProgram},
	{"waybill/adapters", forProgram},
	{"waybill/cmd", forProgram},
	{"main", forProgram},
	{"github.com/gin-gonic", forProgram},
	{"net/http", forProgram},
	{"log/slog", forProgram},
	{"github.com/prometheus", forProgram},
	{"github.com/redis", forProgram},
}

// groups say what the program does in its part, again by the innermost.
var groups = []struct{ prefix, name string }{
	{"waybill/adapters/web/strictjson", "JSON"},
	{"waybill/adapters/web/views", "JSON"},
	{"encoding/json", "JSON"},
	{"github.com/go-json-experiment", "JSON"},
	{"waybill/adapters/httpapi", "the API"},
	{"net/http", "net/http"},
	{"github.com/gin-gonic", "gin"},
	{"waybill/application", "use cases"},
	{"waybill/domain", "use cases"},
	{"waybill/adapters/ratelimit", "limits and locks"},
	{"waybill/adapters/locks", "limits and locks"},
	{"github.com/redis", "limits and locks"},
	{"log/slog", "logs and metrics"},
	{"github.com/prometheus", "logs and metrics"},
	{"waybill/adapters/normalizer", "phones and addresses"},
	{"waybill/adapters/identifiers", "identifiers"},
	{"waybill/adapters/keydigest", "keys"},
	{"waybill/adapters/pricing", "prices"},
	{"waybill/adapters", "other adapters"},
	{"waybill/cmd", "other adapters"},
}

var collectors = []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.bgsweep", "runtime.bgscavenge"}

// packageOf is the package of a function as symbols name it.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		return function[:slash+dot]
	}
	return function
}

// below tells whether a package is that of a prefix or lies in it.
func below(pkg, prefix string) bool {
	rest, ok := strings.CutPrefix(pkg, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// spenderOf is the part that a stack, innermost function first, counts for, and
// of the program itself the kind of work.
func spenderOf(stack []string) (part, string) {
	owner, group := parts, ""
	for _, function := range stack {
		if slices.ContainsFunc(collectors, func(c string) bool { return strings.HasPrefix(function, c) }) {
			return forCollector, ""
		}
		pkg := packageOf(function)
		if below(pkg, "runtime/pprof") || below(pkg, "net/http/pprof") {
			return forProfiler, ""
		}
		if owner == parts {
			for _, o := range owners {
				if below(pkg, o.prefix) {
					owner = o.part
					break
				}
			}
		}
		if group == "" {
			for _, g := range groups {
				if below(pkg, g.prefix) {
					group = g.name
					break
				}
			}
		}
	}
	switch owner {
	case parts:
		return forScheduler, ""
	case forProgram:
		return owner, cmp.Or(group, "other")
	}
	return owner, ""
}

// spending is a profile by parts, in the profile's unit.
type spending struct {
	by     [parts]int64
	groups map[string]int64 // of the program's part
}

// spendingOf sums one kind of value, such as cpu or alloc_space.
func spendingOf(p *profile.Profile, kind string) (spending, error) {
	s := spending{groups: map[string]int64{}}
	value := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == kind })
	if value < 0 {
		return s, fmt.Errorf("the profile has no %s", kind)
	}
	for _, sample := range p.Sample {
		var stack []string
		for _, l := range sample.Location {
			for _, line := range l.Line { // inlined ones first
				stack = append(stack, line.Function.Name)
			}
		}
		spender, group := spenderOf(stack)
		s.by[spender] += sample.Value[value]
		if group != "" {
			s.groups[group] += sample.Value[value]
		}
	}
	return s, nil
}

// profiled is what a server did in one round, by processor time and by what it
// allocated, for which garbage is collected.
type profiled struct{ processor, allocated spending }

// shares are parts of all processor time: what each part used itself, and at last
// what was used for the program, with what the runtime did for it. Garbage is
// shared out by the bytes allocated, scheduling by processor time.
type shares struct {
	program, database, collector, scheduler, profiler float64
	collectorForProgram, schedulerForProgram          float64
}

func (p profiled) shares() shares {
	var all int64
	for _, n := range p.processor.by {
		all += n
	}
	of := func(n int64) float64 { return quotient(n, all) }
	by := p.processor.by
	s := shares{of(by[forProgram]), of(by[forDatabase]), of(by[forCollector]), of(by[forScheduler]), of(by[forProfiler]), 0, 0}
	s.collectorForProgram = s.collector * quotient(p.allocated.by[forProgram], p.allocated.by[forProgram]+p.allocated.by[forDatabase])
	s.schedulerForProgram = s.scheduler * quotient(by[forProgram], by[forProgram]+by[forDatabase])
	return s
}

// forProgram is all of what is not for the database.
func (s shares) forProgram() float64 {
	return s.program + s.collectorForProgram + s.schedulerForProgram
}

func quotient(of, by int64) float64 {
	if by == 0 {
		return 0
	}
	return float64(of) / float64(by)
}

// record profiles a server while it works for the duration of a measurement; a profile
// that is kept has the name of its kind after the prefix.
func (b *bench) record(ctx context.Context, s *server, prefix string, round int, during func() (measurement, error)) (m measurement,
	err error) {
	type answer struct {
		profile *profile.Profile
		err     error
	}
	fetch := func(name string) <-chan answer {
		c := make(chan answer, 1)
		go func() {
			p, err := fetchProfile(ctx, fmt.Sprintf("%s/debug/pprof/%s?seconds=%d", s.ops, name, int(b.duration.Seconds())))
			if err == nil && b.profiles != "" {
				err = keepProfile(p, filepath.Join(b.profiles, fmt.Sprintf("%s%s-%d.pb.gz", prefix, name, round+1)))
			}
			c <- answer{p, err}
		}()
		return c
	}
	processor, allocated := fetch("profile"), fetch("allocs")
	m, err = during()
	p, a := <-processor, <-allocated
	if err = errors.Join(err, p.err, a.err); err != nil {
		return m, err
	}
	m.profile = &profiled{}
	if m.profile.processor, err = spendingOf(p.profile, "cpu"); err == nil {
		m.profile.allocated, err = spendingOf(a.profile, "alloc_space")
	}
	return m, err
}

func keepProfile(p *profile.Profile, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(f), f.Close())
}

func fetchProfile(ctx context.Context, url string) (*profile.Profile, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300)) // nothing is told too
		return nil, fmt.Errorf("%s was answered %d: %s", url, res.StatusCode, text)
	}
	return profile.Parse(res.Body)
}
