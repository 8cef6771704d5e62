package configs

import "strings"

// Problem describes one setting that cannot be used.
type Problem struct {
	What  string // the setting, its value, and what is wrong with it
	SetIn string // where the value came from; empty: nowhere
	Fix   string // how to fix it
}

// Problems lists all settings that cannot be used, so that people fix them together and not one per
// start.
type Problems []Problem

func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i, problem := range p {
		texts[i] = problem.What
	}
	return strings.Join(texts, "; ")
}

// nearest returns the candidate that the word probably misspells, or "".
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 1+len(word)/4
	for _, c := range candidates {
		if d := distance(word, c); d <= bestDistance {
			best, bestDistance = c, d-1
		}
	}
	return best
}

// distance counts the letters to add, remove or change between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
