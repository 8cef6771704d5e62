package faults

import (
	"slices"
	"testing"
)

// TestStormNoticesMutants runs the same storms, smaller, against programs
// with one rule broken. What they find shows what they would find.
func TestStormNoticesMutants(t *testing.T) {
	type bug struct {
		storm
		noticed func(outcome) bool
		as      string
	}
	broken := func(o outcome, rule string) bool {
		return slices.ContainsFunc(o.breaches, func(b Breach) bool { return b.Rule == rule })
	}
	doubled := func(o outcome) bool {
		return o.doubled > 0 && broken(o, "a delivery has one key, or one place in one bulk")
	}
	lost := func(o outcome) bool {
		return o.lost > 0 && broken(o, "a key that was answered names a delivery that exists")
	}
	lostOfBulks := func(o outcome) bool {
		return o.lost > 0 && broken(o, "the answer of a bulk names deliveries that exist")
	}
	accused := func(o outcome) bool { return o.wrong["409 EXTERNAL_ID_CONFLICT"] > 0 }
	// Where the deaths alone are to show it, no job is sent twice at a time and
	// none shares anything with another.
	bugs := []bug{
		{storm{dialect: SQLite, demand: demand{singles: 150}, deaths: 8, mutant: "key_own_commit"}, doubled, "doubled deliveries"},
		{storm{dialect: SQLite, demand: demand{singles: 150}, deaths: 8, mutant: "key_own_commit_first"}, lost, "lost deliveries"},
		{storm{dialect: Postgres, demand: demand{singles: 250, doubled: 100}, deaths: 4, mutant: "key_last"}, accused,
			"conflicts with an own delivery"},
		{storm{dialect: Postgres, demand: demand{bulked: 80, largest: 20, nameless: true}, deaths: 8, mutant: "item_own_commit"}, doubled,
			"doubled deliveries"},
		{storm{dialect: Postgres, demand: demand{bulked: 80, largest: 20}, deaths: 8, mutant: "item_own_commit_first"}, lostOfBulks,
			"lost deliveries"},
		{storm{dialect: SQLite, demand: demand{bulked: 80, largest: 20, nameless: true}, deaths: 8, mutant: "item_unrecorded"}, doubled,
			"doubled deliveries"},
	}
	if full() {
		bugs = append(bugs,
			bug{storm{dialect: Postgres, demand: demand{bulked: 600, largest: 10, doubled: 100, nameless: true}, deaths: 2, stalls: 90, hasty: 100,
				mutant: "no_fence"}, doubled, "doubled deliveries"},
			bug{storm{dialect: Postgres, demand: demand{singles: 1_000}, deaths: 40, mutant: "key_own_commit"}, doubled, "doubled deliveries"},
			bug{storm{dialect: Postgres, demand: demand{singles: 1_000}, deaths: 40, mutant: "key_own_commit_first"}, lost, "lost deliveries"},
		)
		bugs[2].singles = 1_000
	}
	for _, b := range bugs {
		t.Run(b.mutant+" on "+string(b.dialect), func(t *testing.T) {
			t.Parallel()
			const tries = 3
			for range tries {
				o := b.rage(t)
				t.Log(o)
				if b.noticed(o) {
					return
				}
			}
			t.Errorf("%d storms found no %s, with that bug in the program", tries, b.as)
		})
	}
}
