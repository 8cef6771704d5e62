package site

import (
	"encoding/csv"
	"net/http"
	"strings"

	"waybill/domain"
)

// CSV answers with a table as a file. The cells go through harmless.
func (c *Call) CSV(name string, rows func(write func(cells ...string) error) error) error {
	var b strings.Builder
	w := csv.NewWriter(&b)
	err := rows(func(cells ...string) error {
		for i := range cells {
			cells[i] = harmless(cells[i])
		}
		return w.Write(cells)
	})
	if err != nil {
		return err
	}
	if w.Flush(); w.Error() != nil {
		return domain.Internal(w.Error())
	}
	c.Header("Content-Disposition", `attachment; filename="`+name+`"`)
	c.Data(http.StatusOK, "text/csv; charset=utf-8", []byte(b.String()))
	return nil
}

// harmless is a cell that no spreadsheet takes for a formula.
func harmless(cell string) string {
	if cell != "" && (strings.ContainsRune("=+-@", rune(cell[0])) || strings.ContainsFunc(cell, func(r rune) bool {
		return r < ' ' || r == 0x7f
	})) {
		return "'" + strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, cell)
	}
	return cell
}
