package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestComparisonsAreMadeWithinTheRounds(t *testing.T) {
	t.Parallel()
	of := func(counts ...int) *trial {
		tr := &trial{}
		for _, n := range counts {
			tr.outcomes = append(tr.outcomes, outcome{arrivals: arrivals{Count: n}})
		}
		return tr
	}
	count := figure{of: func(o outcome) float64 { return float64(o.Count) }}
	for name, c := range map[string]struct {
		own, other *trial
		by         func(own, other float64) float64
		want       []float64
	}{
		"round by round":              {of(10, 90), of(5, 30), ratio, []float64{2, 3}},
		"a difference":                {of(10, 90), of(5, 30), difference, []float64{5, 60}},
		"once, against the median":    {of(90), of(10, 30, 500), ratio, []float64{3}},
		"once, where there was a one": {of(90), of(45), ratio, []float64{2}},
	} {
		if got := (comparison{figure: count, with: c.other, by: c.by}).values(c.own); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestWhatATrialIsComparedWithIsMeasuredToo(t *testing.T) {
	t.Parallel()
	all := func() []*trial {
		a, b, c := &trial{name: "a"}, &trial{name: "b"}, &trial{name: "c"}
		return []*trial{a, b, c, {name: "large", once: true, comparisons: []comparison{{with: b}}}}
	}
	names := func(trials []*trial) (joined string) {
		for _, t := range trials {
			joined += t.name + " "
		}
		return strings.TrimSpace(joined)
	}
	for only, want := range map[string]string{"": "a b c large", "large": "b large", "^[ac]$": "a c", "none": ""} {
		if got := names(chosen(all(), regexp.MustCompile(only))); got != want {
			t.Errorf("-only %q measures %q, want %q", only, got, want)
		}
	}
	for round, want := range []string{"a b c", "b c a", "c a b large"} {
		if got := names(ofRound(all(), round, 3)); got != want {
			t.Errorf("round %d measures %q, want %q", round, got, want)
		}
	}
}

func TestTrialsOfTwoBuildsAlternateAndAreComparedRoundByRound(t *testing.T) {
	t.Parallel()
	counted := []figure{{name: "count", of: func(o outcome) float64 { return float64(o.Count) }}}
	own, long := &trial{name: "a", figures: counted}, &trial{name: "large", once: true, figures: counted}
	for _, measured := range []*trial{own, long} {
		measured.setBeside("old", []*trial{{name: "b", figures: counted}, {name: "a", figures: counted}, {name: "large", figures: counted}})
	}
	if len(long.inTurn(0)) != 1 {
		t.Error("what is measured once is measured of another build")
	}
	for round := range 4 {
		for i, turn := range own.inTurn(round) {
			if first := turn == own; first != ((i+round)%2 == 0) {
				t.Errorf("round %d, turn %d is that of %s", round, i, turn.name)
			}
			turn.outcomes = append(turn.outcomes, outcome{arrivals: arrivals{Count: map[string]int{"a": 30, "a, old": 10 + 5*round}[turn.name]}})
		}
	}
	if len(own.comparisons) != 1 || own.comparisons[0].name != "count / old" {
		t.Fatalf("compared by %+v", own.comparisons)
	}
	if got := own.comparisons[0].values(own); !slices.Equal(got, []float64{3, 2, 1.5, 1.2}) {
		t.Errorf("the ratios are %v", got)
	}
}

func TestTheReportHasALineForEachFigureInColumns(t *testing.T) {
	t.Parallel()
	count := figure{"webhooks", func(o outcome) float64 { return float64(o.Count) }, 0, 0, -1}
	each := &trial{name: "each round", figures: []figure{count}, outcomes: []outcome{{arrivals: arrivals{Count: 4}},
		{arrivals: arrivals{Count: 8}}}}
	once := &trial{name: amount(1_000_000) + " due rows", figures: []figure{count}, outcomes: each.outcomes[:1],
		comparisons: []comparison{{figure: figure{"webhooks / each", count.of, 2, 0.75, -1}, with: each, by: ratio}}}
	var page strings.Builder
	each.print(&page, 2)
	once.print(&page, 2)
	want := strings.Join([]string{
		"each round                   webhooks                      4        8          6  ",
		"1 M due rows                 webhooks                      4                   4  ",
		"                             webhooks / each            0.67                0.67  >= 0.75, missed",
	}, "\n") + "\n"
	if page.String() != want {
		t.Errorf("the page is\n%s\nwant\n%s", page.String(), want)
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 100_000: "100,000", 1_500_000: "1,500,000", 2_000_000: "2 M"} {
		if got := amount(n); got != want {
			t.Errorf("%d is called %q", n, got)
		}
	}
}

func TestOtherBuildsHaveNames(t *testing.T) {
	for beside, want := range map[string][2][]string{
		"":                   {},
		"/tmp/old":           {{"the other build"}, {"/tmp/old"}},
		"old=/tmp/a,new=b=c": {{"old", "new"}, {"/tmp/a", "b=c"}},
	} {
		if names, binaries := otherBuilds(beside); !slices.Equal(names, want[0]) || !slices.Equal(binaries, want[1]) {
			t.Errorf("-beside %q: %q at %q, want %q", beside, names, binaries, want)
		}
	}
}
