// Package garbage decides when a process collects its garbage.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is up to where the heap may grow without its garbage being collected. A process
// holds some 10 MB in itself: to collect whenever that has doubled, which is Go's way,
// takes more of the processor time of small requests than anything that they do.
const heapFloor = 56 << 20

// LetGather holds the process to heapFloor, and to Go's way where more than half of that is in use.
// GOGC, where the operator has set it, counts instead.
func LetGather() {
	if os.Getenv("GOGC") == "" {
		afterEachCollection(func() { debug.SetGCPercent(gatherPercent(inUse())) })
	}
}

// gatherPercent is the GOGC by which a heap with so many bytes in use grows to heapFloor, or by
// as much as is in use. Less than 4 MiB counts as that: Go multiplies this size by GOGC too, for
// the least that a heap grows to.
func gatherPercent(used uint64) int {
	return max(100, int(heapFloor*100/max(used, 4<<20))-100) //nolint:gosec // at most 1,300
}

// inUse is what the last collection left.
func inUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// afterEachCollection calls the function once, and again each time that garbage was collected.
func afterEachCollection(do func()) {
	do()
	type token struct{ _ *byte } // with a pointer, since small objects without one share their memory
	runtime.AddCleanup(new(token), func(do func()) { afterEachCollection(do) }, do)
}
