package pages

import (
	"net/http"
	"strings"
	"unicode"
)

// CSV answers with a table as a file. One is made at a time for a business.
func (c *Call) CSV(name string, rows func(write func(cells ...string) error) error) error {
	c.goesOn() // a file that waits takes no place from pages
	leave, err := c.Alone()
	if err != nil {
		return err
	}
	defer leave()
	var b strings.Builder
	if err := rows(func(cells ...string) error {
		b.WriteString(csvLine(cells))
		return nil
	}); err != nil {
		return err
	}
	c.Header("Content-Disposition", `attachment; filename="`+name+`"`)
	c.Data(http.StatusOK, "text/csv; charset=utf-8", []byte(b.String()))
	return nil
}

// csvLine writes a line of a table. Cells are quoted that hold the separator of any
// spreadsheet, which encoding/csv does not do: ours is the comma, and where people write
// decimals with a comma spreadsheets expect a semicolon.
func csvLine(cells []string) string {
	written := make([]string, len(cells))
	for i, cell := range cells {
		if cell = harmless(cell); strings.ContainsAny(cell, separators+`"`) || strings.HasPrefix(cell, " ") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		written[i] = cell
	}
	return strings.Join(written, ",") + "\n"
}

// separators are between the cells of a table, in one spreadsheet or another. The tab is not
// among them: harmless leaves none.
const separators = ",;"

// harmless is a cell that no spreadsheet takes for a formula, nor what is left of it where
// the spreadsheet has another separator and so splits the cell. Quotes are no help there: for
// a spreadsheet that splits at semicolons they are in the middle of a cell.
func harmless(cell string) string {
	var b strings.Builder
	begins := true // only quotes and spaces came since the last separator
	at := 0        // which is where the cell begins for such a spreadsheet
	for _, r := range cell {
		switch {
		case r < ' ' || r == 0x7f:
			r = ' '
		case begins && strings.ContainsRune("=+-@＝＋－＠", r):
			inside := b.String()
			b.Reset()
			b.WriteString(inside[:at] + "'" + inside[at:])
			begins = false
		}
		b.WriteRune(r)
		switch {
		case strings.ContainsRune(separators, r):
			begins, at = true, b.Len()
		case r != '"' && !unicode.IsSpace(r):
			begins = false
		}
	}
	return b.String()
}
