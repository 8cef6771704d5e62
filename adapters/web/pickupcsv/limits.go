package pickupcsv

import "fmt"

const (
	// mostCells limits the cells of a row. It is far higher than the number of columns, so that a
	// table with a few too many columns gets an error that names them.
	mostCells = 100
	// mostShown limits the errors in a list.
	mostShown = 100
)

// separators lists the characters that may separate cells.
const separators = ",;\t"

// tooWide finds the first row that has more than mostCells cells, whatever separates them, and
// its first line. It stores nothing of the table: reading a row of millions of cells takes a
// hundred times its size.
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

// Shown returns the errors to show: the first ones, and at the end how many more there are.
func (e Errors) Shown() []RowError {
	if len(e) <= mostShown {
		return e
	}
	rest := e[mostShown]
	rest.Field, rest.Message = "", fmt.Sprintf("and %d more from here on", len(e)-mostShown)
	return append(e[:mostShown:mostShown], rest)
}
