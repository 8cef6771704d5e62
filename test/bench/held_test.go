package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestALongRunTellsItsPhasesApart(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return begun.Add(time.Duration(minutes) * time.Minute) }
	run := &phased{
		post: &post{bench: &bench{about: "Postgres"}, answered: map[int]time.Time{1: at(0), 2: at(2), 3: at(2), 4: at(3), 5: at(5)}},
		rate: 200, begun: begun,
		stretches: []stretch{
			{phase: "before", begun: at(0), end: at(2)},
			{phase: "held", begun: at(2), end: at(3), dead: 7000},
			{phase: "held", begun: at(3), end: at(5), dead: 9000},
			{phase: "after", begun: at(5), end: at(6)},
		},
		came: map[int]arrival{},
	}
	for order, a := range map[int]struct {
		minute int
		late   time.Duration
	}{1: {0, 10}, 2: {2, 10}, 3: {2, 12}, 4: {3, 20}} {
		run.came[order] = arrival{Order: order, Happened: at(a.minute), Came: at(a.minute).Add(a.late * time.Millisecond)}
	}
	if got := run.during(run.ofPhase("held")...).latencies; !slices.Equal(got, []time.Duration{10e6, 12e6, 20e6}) {
		t.Errorf("held: %v", got)
	}
	if got := run.during(run.stretches[1]).latencies; !slices.Equal(got, []time.Duration{10e6, 12e6}) {
		t.Errorf("the first minute of it: %v", got)
	}
	if run.lost() != 1 || run.failed() == nil {
		t.Errorf("%d lost, want the fifth; %v", run.lost(), run.failed())
	}
	var page strings.Builder
	run.print(&page, "A snapshot", "held")
	for _, want := range []string{"all held ", "3:00 to   5:00", "9000", "p95, held / before: 2.00; of its worst part 2.00 (aim: <= 1.5)",
		"lost: 1 of 5"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, page.String())
		}
	}
}
