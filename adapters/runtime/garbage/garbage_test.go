package garbage

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestASmallHeapGrowsToTheFloorAndALargeOneDoubles(t *testing.T) {
	t.Parallel()
	for used, want := range map[uint64]int{
		0: 1300, 4 << 20: 1300, 7 << 20: 700, 14 << 20: 300, 28 << 20: 100, 29 << 20: 100, 1 << 40: 100,
	} {
		if got := gatherPercent(used); got != want {
			t.Errorf("with %d bytes in use GOGC is %d, want %d", used, got, want)
		}
	}
}

func TestEachCollectionIsFollowed(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 100)
	afterEachCollection(func() { called <- struct{}{} })
	end := time.Now().Add(10 * time.Second)
	for n := range 3 {
		// The call comes some time after the collection, which may have found its cause in use still.
		for len(called) <= n {
			if time.Now().After(end) {
				t.Fatalf("called %d times", len(called))
			}
			runtime.GC()
		}
	}
}

// TestGOGCIsDecidedAnewAfterEachCollection is not parallel: GOGC is that of the process.
func TestGOGCIsDecidedAnewAfterEachCollection(t *testing.T) {
	const operators = 100
	defer debug.SetGCPercent(debug.SetGCPercent(operators))
	t.Setenv("GOGC", "100")
	LetGather()
	if got := debug.SetGCPercent(operators); got != operators {
		t.Errorf("GOGC is %d, want %d, as the operator has set it", got, operators)
	}
	t.Setenv("GOGC", "")
	LetGather()
	for n := range 3 {
		for end := time.Now().Add(10 * time.Second); debug.SetGCPercent(operators) == operators; runtime.GC() {
			if time.Now().After(end) {
				t.Fatalf("GOGC was set %d times, and after no collection since", n)
			}
		}
	}
}
