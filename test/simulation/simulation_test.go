package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var seed = flag.Uint64("seed", 0, "the world that TestSeed plays")

// someSeeds are what go test plays; SEEDS in the environment says otherwise.
const someSeeds = 50

// outcome is what is left of a world.
type outcome struct {
	oops  error
	trace string
}

// run plays the world of a seed.
func run(t *testing.T, seed uint64) (o outcome) {
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
		w, err := newWorld(dir, seed)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		w.play()
		if w.oops == nil {
			w.finish()
		}
		o = outcome{w.oops, w.trace.String()}
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
	var next atomic.Uint64
	t.Run("all", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("some", func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1); n <= uint64(seeds); n = next.Add(1) {
					if o := run(t, n); o.oops != nil {
						tell(t, n, o)
						return
					}
				}
			})
		}
	})
}

// TestSeed plays one world again and shows all of it.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		t.Skip("-seed names the world")
	}
	o := run(t, *seed)
	if o.oops != nil {
		tell(t, *seed, o)
		return
	}
	t.Log("\n" + o.trace)
}
