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
	storm
	lasted time.Duration
	deaths int
	seen   map[string]int // answers that are none of the wrong ones

	lost       int // orders without a delivery, or told of one that is not there
	doubled    int // orders with more than one
	differing  int // 201s of one order with other bytes than its first
	unanswered int // sends that got no 201 to the end
	wrong      map[string]int
	breaches   []Breach
}

// sound reports that nothing went wrong.
func (o outcome) sound() bool {
	return o.lost == 0 && o.doubled == 0 && o.differing == 0 && o.unanswered == 0 && len(o.wrong) == 0 && len(o.breaches) == 0
}

// String is the storm in one line.
func (o outcome) String() string {
	wrong := 0
	for _, n := range o.wrong {
		wrong += n
	}
	name := o.engine
	if o.plant != "" {
		name += " with " + o.plant
	}
	return fmt.Sprintf("%s: %d creates, %d deaths in %.1f s: %d lost, %d doubled, %d differing answers, %d wrong codes, %d rules broken (answers: %s)",
		name, o.orders, o.deaths, o.lasted.Seconds(), o.lost, o.doubled, o.differing, wrong, len(o.breaches), counts(o.seen))
}

// report is what is wrong, at length.
func (o outcome) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d lost, %d doubled, %d differing answers, %d unanswered, wrong codes: %s\n",
		o.lost, o.doubled, o.differing, o.unanswered, counts(o.wrong))
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
func (o *outcome) examine(t *testing.T, db *sql.DB, orders []*order) {
	t.Helper()
	made := deliveriesByMarker(t, db)
	o.wrong = map[string]int{}
	for _, order := range orders {
		told := &order.toldBy
		ids := made[order.marker]
		if len(ids) == 0 || told.id != "" && !slices.Contains(ids, told.id) {
			o.lost++
		}
		if len(ids) > 1 {
			o.doubled++
		}
		o.differing += told.differ
		o.unanswered += told.pending
		for code, n := range told.wrong {
			o.wrong[code] += n
		}
		delete(made, order.marker)
	}
	for marker := range made {
		t.Errorf("a delivery that nobody ordered: %q", marker)
	}
	o.breaches = check(t, db)
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
