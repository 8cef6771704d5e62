package pages

import (
	"net/http"
	"strings"
	"unicode"
)

// CSV sends a table as a file. A business gets one at a time.
func (c *Call) CSV(name string, rows func(write func(cells ...string) error) error) error {
	c.goesOn() // a waiting file does not block pages
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

// csvLine formats a line of a table. It quotes cells with the separator of any spreadsheet.
// encoding/csv quotes only its own separator: ours is the comma, but spreadsheets expect a
// semicolon where people write decimals with a comma.
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

// separators lists the cell separators of spreadsheets. The tab is not in it, because harmless
// replaces tabs.
const separators = ",;"

// harmless returns a cell that no spreadsheet reads as a formula. This holds even if the
// spreadsheet splits the cell at another separator. Quotes do not help there: after a split at
// semicolons they are in the middle of a cell.
func harmless(cell string) string {
	var b strings.Builder
	begins := true // only quotes and spaces since the last separator
	at := 0        // start of the cell after such a split
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
