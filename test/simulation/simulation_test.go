package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var seed = flag.Uint64("seed", 0, "the world that TestSeed plays")

const (
	// someSeeds are what go test plays; SEEDS in the environment says otherwise.
	someSeeds = 50
	// enoughSeeds have to reach every branch.
	enoughSeeds = 3000
)

// outcome is what is left of a world.
type outcome struct {
	oops        error
	trace       string
	fingerprint uint64
	tasks       int
	branches    map[string]int
	faults      map[string]int
}

// run plays the world of a seed.
func run(t *testing.T, seed uint64, p *mutant) (o outcome) {
	t.Helper()
	dir, err := os.MkdirTemp(scratch(), "world")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	defer func() {
		if cause := recover(); cause != nil {
			panic(fmt.Sprintf("seed %d: %v", seed, cause))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(dir, seed, p)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		w.play()
		if w.oops == nil {
			w.finish()
		}
		o = outcome{w.oops, w.trace.String(), w.fingerprint(), w.tasks, w.branches, w.faults}
	})
	return o
}

// scratch is a place in memory where there is one: a world writes often and is
// gone at once.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// sum is what many worlds had.
type sum struct {
	mu               sync.Mutex
	worlds, tasks    int
	broken           int
	branches, faults map[string]int
}

// add reports whether the world is the first that is broken.
func (s *sum) add(o outcome) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worlds++
	s.tasks += o.tasks
	for b, n := range o.branches {
		s.branches[b] += n
	}
	for f, n := range o.faults {
		s.faults[f] += n
	}
	if o.oops != nil {
		s.broken++
	}
	return o.oops != nil && s.broken == 1
}

// tell reports a breach with all that it takes to see it.
func tell(t *testing.T, seed uint64, o outcome) {
	t.Helper()
	t.Errorf("seed %d: %v\nagain: go test ./test/simulation -run 'TestSeed$' -seed %d -v\n%s", seed, o.oops, seed, o.trace)
}

func TestWorldsKeepTheirPromises(t *testing.T) {
	seeds := someSeeds
	if set := os.Getenv("SEEDS"); set != "" {
		n, err := strconv.Atoi(set)
		if err != nil || n < 1 {
			t.Fatalf("SEEDS is %q; it is how many worlds to play", set)
		}
		seeds = n
	}
	began := time.Now()
	all := &sum{branches: map[string]int{}, faults: map[string]int{}}
	var next atomic.Uint64
	t.Run("all", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("some", func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1); n <= uint64(seeds); n = next.Add(1) {
					o := run(t, n, nil)
					switch first := all.add(o); {
					case first:
						tell(t, n, o)
					case o.oops != nil:
						t.Errorf("seed %d: %v", n, o.oops)
					}
				}
			})
		}
	})
	t.Logf("%d worlds, %d of them broken, %d requests and steps, in %s\n%s%v", all.worlds, all.broken, all.tasks,
		time.Since(began).Round(time.Millisecond), table(all.branches), all.faults)
	if missing := unreached(all.branches); len(missing) > 0 && seeds >= enoughSeeds {
		t.Errorf("no world reached %q", missing)
	}
	if all.worlds == seeds && len(all.branches) > len(branches) {
		t.Errorf("%d branches were reached, and %d are listed", len(all.branches), len(branches))
	}
}

// TestSeed plays one world again and shows all of it.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		t.Skip("-seed names the world")
	}
	o := run(t, *seed, nil)
	if o.oops != nil {
		tell(t, *seed, o)
		return
	}
	t.Log("\n" + o.trace)
}

func TestTheSameSeedIsTheSameWorld(t *testing.T) {
	t.Parallel()
	for seed := uint64(1000); seed < 1004; seed++ {
		a, b := run(t, seed, nil), run(t, seed, nil)
		if a.fingerprint != b.fingerprint {
			t.Fatalf("seed %d:\n%s", seed, difference(a.trace, b.trace))
		}
	}
}

// difference is where two traces part.
func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-1500)
	return fmt.Sprintf("%s\n--- or ---\n%s", a[from:min(len(a), i+500)], b[from:min(len(b), i+500)])
}
