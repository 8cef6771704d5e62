package dispatch

import (
	"fmt"
	"slices"
	"testing"
)

// names of the phases and of what happens, in the order of their constants.
var (
	phaseNames = []string{"sending", "finishing", "pausing", "uncertain", "lost", "abandoned"}
	stepNames  = []string{"ended", "refused", "unanswered", "taken", "stuck"}
)

func each[E ~uint8, S any](on func(E) S, n E) (all []S) {
	for e := range n {
		all = append(all, on(e))
	}
	return all
}

func TestWhatADrainDoesInEachPhase(t *testing.T) {
	t.Parallel()
	for p, want := range map[phase]string{ // begins no attempt, stores outcomes, releases the lease, keeps its token
		sending:   "false true false false",
		finishing: "true true true false",
		pausing:   "true true false false",
		uncertain: "true true false true",
		lost:      "true false false false",
		abandoned: "true false false true",
	} {
		if got := fmt.Sprint(p.ends(), p.stores(), p.releases(), p.keepsToken()); got != want {
			t.Errorf("%s: %s, want %s", phaseNames[p], got, want)
		}
	}
}

// Nothing leads back: a drain that ends sends no more, one that stores nothing never
// stores again, and a lease that another process has is not taken up.
func TestNoStepLeadsBack(t *testing.T) {
	t.Parallel()
	for p := range phases {
		for s := range steps {
			next := p.on(s)
			if p.ends() && !next.ends() || !p.stores() && next.stores() || p == lost && next != lost || !p.releases() && p != sending &&
				next.releases() {
				t.Errorf("%s leads to %s by %s", phaseNames[p], phaseNames[next], stepNames[s])
			}
		}
		if steps := each(p.on, steps); slices.Contains(steps, sending) {
			t.Errorf("%s leads back to sending", phaseNames[p])
		}
	}
}
