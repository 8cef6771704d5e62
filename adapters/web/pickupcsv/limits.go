package pickupcsv

import "fmt"

const (
	// mostCells is how many cells a row may have before it is refused unread: far
	// more than there are columns, so that a table with a few too many is told so
	// by name.
	mostCells = 100
	// mostShown is how many problems a list of them has.
	mostShown = 100
)

// separators are the characters that may separate cells.
const separators = ",;\t"

// tooWide finds the first row that has more than mostCells cells, whatever
// separates them, and the line it begins in. It keeps nothing of the table: to
// read a row of millions of cells takes a hundred times its size.
func tooWide(content []byte) (line int, wide bool) {
	var found [len(separators)]int
	line, at, quoted := 1, 1, false
	for _, b := range content {
		switch {
		case b == '"':
			quoted = !quoted
		case b == '\n':
			if at++; !quoted {
				line, found = at, [len(separators)]int{}
			}
		case quoted:
		default:
			for i := range len(separators) {
				if b == separators[i] {
					found[i]++
				}
				if found[i] >= mostCells {
					return line, true
				}
			}
		}
	}
	return 0, false
}

// Shown is the list that people get: the first problems, and where there are
// very many, at its end how many more.
func (e Errors) Shown() []RowError {
	if len(e) <= mostShown {
		return e
	}
	rest := e[mostShown]
	rest.Field, rest.Message = "", fmt.Sprintf("and %d more from here on", len(e)-mostShown)
	return append(e[:mostShown:mostShown], rest)
}
