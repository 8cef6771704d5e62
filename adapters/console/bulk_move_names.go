package console

import (
	"encoding/csv"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"waybill/application/bulk"
	"waybill/domain"
)

// namedBy are the columns of a table that say which delivery a row is about, those of the
// console's own files among them. A row is named by the first of them that it fills.
var namedBy = []string{"reference", "delivery_id", "id", "sent"}

// sentNames are the references and IDs that were typed, scanned or sent as a file, in
// their order.
func sentNames(c *call) []string {
	return append(namesIn(c.Form.Get("references")), namesIn(string(c.File))...)
}

// namesIn are the references and IDs of a text: of a table whose first line names a column
// of them, that column; otherwise every word. The address of a tracking page, as a label has
// it as a picture to scan, stands for its reference.
func namesIn(text string) (names []string) {
	names, table := namesOfTable(text)
	if !table {
		names = strings.FieldsFunc(text, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || r == ',' || r == ';' || r == '"' || r == '\ufeff'
		})
	}
	for i, name := range names {
		names[i] = trackedReference(name)
	}
	return names
}

// namesOfTable reads a table with commas, semicolons or tabs between its cells, as programs
// for spreadsheets write and copy them; false: it is none.
func namesOfTable(text string) (names []string, table bool) {
	text = strings.TrimLeft(text, "\ufeff\r\n")
	head, _, _ := strings.Cut(text, "\n")
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	for _, comma := range ",;\t" {
		if strings.ContainsRune(head, comma) {
			r.Comma = comma
			break
		}
	}
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, false
	}
	var columns []int
	for _, name := range namedBy {
		if i := slices.IndexFunc(rows[0], func(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), name) }); i >= 0 {
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 {
		return nil, false
	}
	for _, row := range rows[1:] {
		for _, i := range columns {
			if i < len(row) && strings.TrimSpace(row[i]) != "" {
				names = append(names, strings.TrimSpace(row[i]))
				break
			}
		}
	}
	return names, true
}

// namedForm leads to the form for many moves, filled with these names. It does so without
// them where the address would get longer than what stands before a console may take.
func namedForm(names []string) string {
	const longest = 7000 // bytes; proxies take 8 kB
	q := url.Values{"references": {strings.Join(names, " ")}}.Encode()
	if len(names) == 0 || len(names) > domain.MaxMoves || len(q) > longest {
		return bulkAt
	}
	return bulkAt + "?" + q
}

// formAgain leads to the form as it was sent.
func formAgain(names []string, o bulk.MoveOrder) string {
	to := namedForm(names)
	if to == bulkAt {
		return to
	}
	return to + "&" + url.Values{"status": {string(o.To)}, "reason_code": {string(o.Reason)}}.Encode()
}

// fillForm takes from the address what a list, a preview or a run leads to the form with.
func fillForm(c *call) {
	if c.Form == nil {
		c.Form = url.Values{}
	}
	for _, name := range []string{"references", "status", "reason_code"} {
		if text := c.Query(name); text != "" && !c.Form.Has(name) {
			c.Form.Set(name, text)
		}
	}
}

// stayed are the names of a run's deliveries that may be sent again.
func stayed(run *domain.MoveRun) (names []string) {
	for i := range run.Items {
		if item := &run.Items[i]; item.Outcome == domain.MoveRefused || item.Outcome == domain.MoveNotFound {
			names = append(names, item.Sent)
		}
	}
	return names
}

// aim is where a run brings deliveries, in words: one status, or several.
func aim(run *domain.MoveRun) string {
	var to []string
	for i := range run.Items {
		text := aimOf(run.Items[i].To, run.Items[i].Reason)
		if !slices.Contains(to, text) {
			to = append(to, text)
		}
	}
	if len(to) == 1 {
		return to[0]
	}
	return "several statuses"
}

func aimOf(to domain.Status, reason domain.ReasonCode) string {
	if reason == "" {
		return spaced(string(to))
	}
	return spaced(string(to)) + ", " + spaced(string(reason))
}
