package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// nightOf is one whose creates and gets all took so long in each round.
func nightOf(name string, failed int, rounds ...time.Duration) *night {
	n := &night{name: name}
	for _, took := range rounds {
		m := measurement{latencies: []time.Duration{took}}
		n.results = append(n.results, nightly{creates: m, gets: m, failed: failed, answers: map[int]int{429: 2, 0: 1}})
	}
	return n
}

func TestAVictimIsComparedWithinItsRound(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for name, c := range map[string]struct {
		attack  *night
		verdict string // of its p95
		failed  string
	}{
		"twice as long in each round": {nightOf("feed", 0, 20*ms, 100*ms, 2*ms), "met", "met"},
		"longer in most rounds":       {nightOf("feed", 0, 21*ms, 101*ms, 2*ms), "MISSED", "met"},
		"an answer is missing":        {nightOf("feed", 1, 20*ms, 100*ms, 2*ms), "met", "MISSED"},
	} {
		nights := []*night{nightOf(alone, 0, 10*ms, 50*ms, ms), c.attack}
		goals := neighbourGoals(nights)
		if len(goals) != 3 || goals[0].verdict() != c.verdict || goals[1].verdict() != c.verdict || goals[2].verdict() != c.failed {
			t.Errorf("%s: %+v", name, goals)
		}
		var page bytes.Buffer
		if err := printNeighbours(&page, &street{bench: &bench{}}, nights); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), "none: 3, 429: 6") {
			t.Errorf("%s: the answers to the attack are missing in\n%s", name, page.String())
		}
	}
}

func TestAttacksAreRequestsOfTheirOwnConnections(t *testing.T) {
	t.Parallel()
	s := &street{bench: &bench{}, serving: &server{sandbox: "127.0.0.1:1"}}
	threads := map[string]int{"searches": searchers, "feed": searchers, "bulks": bulkSenders, "replays": searchers}
	for _, n := range s.attacks() {
		if n.name == "listeners" {
			continue // asks the server
		}
		raids, err := n.attack(t.Context(), "key")
		if err != nil || len(raids) != threads[n.name] {
			t.Fatalf("%s: %d threads, %v", n.name, len(raids), err)
		}
		if &raids[0].request[0] == &raids[1].request[0] {
			t.Errorf("%s: threads write numbers into the same request", n.name)
		}
		if first, second := raids[0].next(), raids[1].next(); n.name == "bulks" && second-first < bulkSize {
			t.Errorf("bulks have numbers in common: %d and %d", first, second)
		}
	}
}
