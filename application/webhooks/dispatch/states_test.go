package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// names of the states and of what happens, in the order of their constants.
var (
	phaseNames     = []string{"sending", "finishing", "pausing", "uncertain", "lost", "abandoned"}
	stepNames      = []string{"ended", "refused", "unanswered", "taken", "stuck"}
	knowledgeNames = []string{"unseen", "stale", "partial", "current"}
	loadNames      = []string{"prompt", "behind", "recovered"}
	permitNames    = []string{"none", "wanted", "held"}
)

// row is the states that follow a state, one for each thing that may happen.
func row[S ~uint8](names []string, next []S) string {
	told := make([]string, len(next))
	for i, s := range next {
		told[i] = names[s]
	}
	return strings.Join(told, " ")
}

// What a drain does in each state, whatever happens: the tables, said once more.
func TestEachStateOfADrainAfterEachThingThatHappens(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		// ended refused unanswered taken stuck
		"sending":   "finishing pausing uncertain lost abandoned",
		"finishing": "finishing pausing uncertain lost abandoned",
		"pausing":   "pausing pausing uncertain lost abandoned",
		"uncertain": "uncertain uncertain uncertain lost abandoned",
		"lost":      "lost lost lost lost lost",
		"abandoned": "abandoned abandoned abandoned lost abandoned",
		// changed stored readAll readPart readBacklog
		"unseen":  "unseen unseen current partial stale",
		"stale":   "stale stale current partial stale",
		"partial": "stale stale current partial stale",
		"current": "stale current current partial stale",
		// few due, many due
		"prompt":    "prompt behind",
		"behind":    "recovered behind",
		"recovered": "recovered behind",
		// looked denied granted used
		"none":   "none wanted held none",
		"wanted": "none wanted held wanted",
		"held":   "held held held none",
	}
	got := map[string]string{}
	for p, name := range phaseNames {
		got[name] = row(phaseNames, each(phase(p).on, steps))
	}
	for k, name := range knowledgeNames {
		got[name] = row(knowledgeNames, each(knowledge(k).on, newses))
	}
	for l, name := range loadNames {
		got[name] = row(loadNames, []load{load(l).on(much), load(l).on(much + 1)})
	}
	for p, name := range permitNames {
		got[name] = row(permitNames, each(permit(p).on, asks))
	}
	if len(phaseNames) != int(phases) || len(knowledgeNames) != int(knowledges) || len(loadNames) != int(loads) ||
		len(permitNames) != int(permits) ||
		len(stepNames) != int(steps) || len(got) != len(want) {
		t.Fatal("a state or a step has no name here")
	}
	for name, row := range want {
		if got[name] != row {
			t.Errorf("after %s: %s, want %s", name, got[name], row)
		}
	}
}

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
