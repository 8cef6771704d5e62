package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// someGoals are met and missed on either side; the last one is far off.
func someGoals() []goal {
	return []goal{
		atLeast("creates / F", "ratio", 0.9, []float64{0.5, 0.95, 1}),
		atMost("p99 <a & b>", "ms", 1, 25, []float64{30, 26, 10}),
		atLeast("reads", "of pgbench", 2, []float64{1}),
		atMost("memory", "MiB", 0, 60, []float64{15}),
		atLeast("bulks", "of F", 2, []float64{7}),
	}
}

func TestGoalsAreJudgedByTheMedianOfTheRounds(t *testing.T) {
	t.Parallel()
	for i, want := range []string{"met", "MISSED", "MISSED", "met", "met"} {
		if g := someGoals()[i]; g.verdict() != want {
			t.Errorf("%s: %v of %s is %s", g.name, g.values, g.aim(), g.verdict())
		}
	}
	for aim, g := range map[float64]goal{0.9: atLeast("", "", 0.9, []float64{0.9}), 25: atMost("", "", 0, 25, []float64{25})} {
		if g.missed() || g.reach() != 1 {
			t.Errorf("exactly %v: missed %t, reach %v", aim, g.missed(), g.reach())
		}
	}
	var page strings.Builder
	file := filepath.Join(t.TempDir(), "goals.svg")
	if err := told(&page, append(someGoals(), goal{name: "not measured"}), "Goals", file); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"creates / F                                  ratio             0.95        (0.50 to 1.00)     >= 0.9  met\n",
		"p99 <a & b>                                  ms                26.0        (10.0 to 30.0)      <= 25  MISSED\n",
		"p99 <a & b>                                  ====================|=                    26.0 MISSED\n",
		"reads                                        ==========          |                     1.00 MISSED\n",
		"bulks                                        ====================|===================> 7.00 met\n",
	} {
		if !strings.Contains(page.String(), line) {
			t.Errorf("%q is not in\n%s", line, page.String())
		}
	}
	if strings.Contains(page.String(), "not measured") {
		t.Error("what was not measured is judged")
	}
	if drawn, err := os.ReadFile(file); err != nil || len(drawn) == 0 {
		t.Errorf("drawn are %d bytes, %v", len(drawn), err)
	}
}

func TestThePlotIsXMLWithABarForEachGoal(t *testing.T) {
	t.Parallel()
	var drawn strings.Builder
	if err := plot(&drawn, "Goals <today>", someGoals()); err != nil {
		t.Fatal(err)
	}
	type shape struct {
		Width string `xml:"width,attr"`
		X     string `xml:"x,attr"`
		Fill  string `xml:"fill,attr"`
	}
	var bars []shape
	var text strings.Builder
	marks, arrows := 0, 0
	d := xml.NewDecoder(strings.NewReader(drawn.String()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, drawn.String())
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			switch token.Name.Local {
			case "line":
				marks++
			case "path":
				arrows++
			case "rect":
				var s shape
				if err := d.DecodeElement(&s, &token); err != nil {
					t.Fatal(err)
				}
				bars = append(bars, s)
			}
		}
	}
	if len(bars) != 1+len(someGoals()) || marks != 2 || arrows != 1 {
		t.Fatalf("%d bars with the ground, %d marks, %d arrows", len(bars), marks, arrows)
	}
	// At least first: 1.06, half and more than all of the way; then 1.04 and a quarter.
	for i, want := range []shape{
		{"211.1", "330", "#2e7d4f"}, {"100.0", "330", "#c0392b"}, {"400.0", "330", "#2e7d4f"},
		{"208.0", "330", "#c0392b"}, {"50.0", "330", "#2e7d4f"},
	} {
		if bars[i+1] != want {
			t.Errorf("bar %d is %+v, want %+v", i, bars[i+1], want)
		}
	}
	for _, told := range []string{"Goals <today>", "p99 <a & b>", "26.0 <= 25, MISSED"} {
		if !strings.Contains(text.String(), told) {
			t.Errorf("%q is not in\n%s", told, text.String())
		}
	}
}
