package garbage

import (
	"runtime"
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
	for n := range 3 {
		select {
		case <-called:
		case <-time.After(10 * time.Second):
			t.Fatalf("called %d times", n)
		}
		runtime.GC()
	}
}
