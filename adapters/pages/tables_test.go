package pages

import (
	"encoding/csv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// formula reports a cell that a spreadsheet computes, also one that it trims first.
func formula(cell string) bool {
	begins := strings.TrimFunc(cell, unicode.IsSpace)
	return begins != "" && strings.ContainsAny(begins[:1], "=+-@") || strings.ContainsAny(cell, "\t\r")
}

// cells are those of a text for a reader that splits at a separator.
func cells(t interface{ Fatal(args ...any) }, text string, separator rune) [][]string {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = separator, true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestNoSpreadsheetFindsAFormulaWhateverItsSeparator(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"=1+1", "+1", "-1", "@SUM(1)", "x", ";", ",", `"`, "\t", "\r", "\n", " ", "'", "\u00a0", "Ama"})
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), "")
		}), 2, 4).Draw(t, "cells")
		text := csvLine(row) + csvLine(row)
		if rows := cells(t, text, ','); len(rows) != 2 || len(rows[0]) != len(row) {
			t.Fatalf("%q reads as %q", text, rows)
		}
		for _, separator := range separators + "\t" {
			for _, found := range cells(t, text, separator) {
				for _, cell := range found {
					if formula(cell) {
						t.Fatalf("%q split at %q has the cell %q", text, separator, cell)
					}
				}
			}
		}
	})
}

func TestACellStaysAsItIsWhereItIsNoFormula(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":                          "",
		"Ama Mensah":                "Ama Mensah",
		"Adom; Foods":               `"Adom; Foods"`,
		"7 Independence Ave, Accra": `"7 Independence Ave, Accra"`,
		`She said "no"`:             `"She said ""no"""`,
		"2026-11-28":                "2026-11-28",
		"a=b; c-d":                  `"a=b; c-d"`,
		"two\r\nlines":              "two  lines",
		"=1":                        "'=1",
		"-0.1818":                   "'-0.1818",
		"1;=HYPERLINK(A1)":          `"1;'=HYPERLINK(A1)"`,
		`x; "=1`:                    `"x;' ""=1"`,
		"＝1":                        "'＝1",
	} {
		if got := csvLine([]string{cell, "x"}); got != want+",x\n" {
			t.Errorf("%q is written as %q, want %q", cell, got, want+",x\n")
		}
	}
}
