package faults

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is what a storm left.
type outcome struct {
	name     string
	lasted   time.Duration
	singles  int
	bulks    int
	items    int            // of the bulks
	refusals int            // of these, items that had to fail
	deaths   int            // of servers
	stalls   int            // of servers
	seen     map[string]int // answers that are none of the wrong ones

	lost       int // orders without a delivery, or told of one that is not there
	doubled    int // orders with more than one
	differing  int // answers to one job with other bytes than its first
	unanswered int // sends that were not told the outcome to the end
	unfinished int // bulks, and items of bulks, that are on record as under way
	wrong      map[string]int
	breaches   []Breach
}

// sound reports that nothing went wrong.
func (o outcome) sound() bool {
	return o.lost == 0 && o.doubled == 0 && o.differing == 0 && o.unanswered == 0 && o.unfinished == 0 &&
		len(o.wrong) == 0 && len(o.breaches) == 0
}

// String is the storm in one line.
func (o outcome) String() string {
	wrong := 0
	for _, n := range o.wrong {
		wrong += n
	}
	what := fmt.Sprintf("%d creates", o.singles)
	if o.bulks > 0 {
		what = fmt.Sprintf("%d items in %d bulks (%d to be refused) and %s", o.items, o.bulks, o.refusals, what)
	}
	return fmt.Sprintf("%s: %s, %d deaths and %d stalls in %.1f s: %d lost, %d doubled, %d differing answers, %d wrong answers, %d "+
		"unfinished, %d rules broken (answers: %s)",
		o.name, what, o.deaths, o.stalls, o.lasted.Seconds(), o.lost, o.doubled, o.differing, wrong, o.unfinished, len(o.breaches),
		counts(o.seen))
}

// report is what is wrong, at length.
func (o outcome) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d lost, %d doubled, %d differing answers, %d unanswered, %d unfinished, wrong answers: %s\n",
		o.lost, o.doubled, o.differing, o.unanswered, o.unfinished, counts(o.wrong))
	for _, breach := range o.breaches {
		fmt.Fprintln(&b, breach)
	}
	return b.String()
}

func counts(of map[string]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d x %s", of[what], what))
	}
	return strings.Join(parts, ", ")
}

// examine compares what the clients were told with what the database holds.
func (o *outcome) examine(t *testing.T, db *sql.DB, dialect Dialect, jobs []*job) {
	t.Helper()
	made := deliveriesByMarker(t, db)
	o.wrong = map[string]int{}
	for _, j := range jobs {
		if j.isBulk() {
			o.bulks, o.items = o.bulks+1, o.items+len(j.items)
		} else {
			o.singles++
		}
		for i, item := range j.items {
			o.compare(item, j.told.idOf(i), made[item.marker])
			delete(made, item.marker)
		}
		o.differing += j.told.differ
		o.unanswered += j.told.pending
		for code, n := range j.told.wrong {
			o.wrong[code] += n
		}
	}
	for marker := range made {
		t.Errorf("a delivery that nobody ordered: %q", marker)
	}
	o.unfinished = unfinished(t, db)
	o.breaches = check(t, db, dialect)
}

// compare an item, and the delivery that was told, with those that are there.
func (o *outcome) compare(i item, told string, made []string) {
	switch {
	case i.refusal != "":
		o.refusals++
		if len(made) > 0 {
			o.wrong["item created in spite of "+i.refusal]++
		}
		return
	case len(made) == 0, told != "" && !slices.Contains(made, told):
		o.lost++
	}
	if len(made) > 1 {
		o.doubled++
	}
}

// idOf is the delivery that was told for an item, or empty.
func (a *answers) idOf(item int) string {
	if a.ids == nil {
		return ""
	}
	return a.ids[item]
}

// unfinished counts what a bulk leaves behind only while it is under way.
func unfinished(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	err := db.QueryRowContext(context.WithoutCancel(t.Context()),
		"SELECT (SELECT count(*) FROM idempotency_keys WHERE status = 0) + (SELECT count(*) FROM bulk_items)").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// deliveriesByMarker are the IDs of all deliveries, by their instructions.
func deliveriesByMarker(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()),
		"SELECT instructions, replace(CAST(id AS text), '-', '') FROM deliveries")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	made := map[string][]string{}
	for rows.Next() {
		var marker, id string
		if err := rows.Scan(&marker, &id); err != nil {
			t.Fatal(err)
		}
		made[marker] = append(made[marker], id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return made
}
