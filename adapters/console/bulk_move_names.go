package console

import (
	"encoding/csv"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"waybill/application/bulk"
	"waybill/domain"
)

// namedBy lists the columns that identify a row's delivery, including those of the console's own
// files. The first column that is not empty counts.
var namedBy = []string{"reference", "delivery_id", "id", "sent"}

// sentNames returns the references and IDs that were typed, scanned or uploaded, in order, and the
// other words of the text.
func sentNames(c *call) (names, ignored []string) {
	for _, text := range []string{c.Form.Get("references"), string(c.File)} {
		some, others := namesIn(text)
		names, ignored = append(names, some...), append(ignored, others...)
	}
	return names, ignored
}

// namesIn finds the references and IDs in a text, such as a message. If the text is a table whose
// header has a known column, it returns that column as it is. Otherwise it looks at each word. It
// replaces the address of a tracking page, as scanned labels have it, by its reference. A word that
// looks like a mistyped reference counts as one, so that a preview shows it as not found. Each
// name is returned once.
func namesIn(text string) (names, ignored []string) {
	if names, table := namesOfTable(text); table {
		for i, name := range names {
			names[i] = trackedReference(name)
		}
		return names, nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(",;\"'()[]{}<>|*\ufeff", r)
	})
	for _, word := range words {
		word = trackedReference(strings.TrimRight(word, ".:!?"))
		switch {
		case word == "" || slices.Contains(names, word):
		case isName(word):
			names = append(names, word)
		default:
			ignored = append(ignored, word)
		}
	}
	return names, ignored
}

var (
	reGrouped   = regexp.MustCompile(`^[0-9A-Za-z]{3,5}\p{Pd}[0-9A-Za-z]{3,5}\p{Pd}[0-9A-Za-z]{3,5}$`)
	reUngrouped = regexp.MustCompile(`^[0-9A-Z]{11,13}$`)
	// reMixed matches a letter beside a digit, which references have more often than words.
	reMixed = regexp.MustCompile(`[0-9][A-Za-z]|[A-Za-z][0-9]`)
)

// isName reports whether a word is an ID or a reference, or was meant as one: a character is wrong,
// missing or too many. Without dashes a word or a phone number may have the form of a reference, so
// it needs letters and digits.
func isName(word string) bool {
	if strings.HasPrefix(word, string(domain.PrefixDelivery)) {
		return true
	}
	mixed := len(reMixed.FindAllString(word, -1))
	_, sound := domain.FoldReference(word)
	if reGrouped.MatchString(word) {
		return sound || mixed > 0
	}
	return sound && mixed > 0 || reUngrouped.MatchString(word) && mixed > 2
}

// asTable returns names as a table with one column. namesIn returns the same names for it.
func asTable(names []string) string { return namedBy[0] + "\n" + strings.Join(names, "\n") }

// namesOfTable parses a table separated by commas, semicolons or tabs, as spreadsheets export or
// copy it. It returns false if the text is no such table.
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

// namedForm returns a link to the bulk form with these names. It omits the names if the address
// would be too long for a proxy.
func namedForm(names []string) string {
	const longest = 7000 // bytes; proxies accept 8 kB
	q := url.Values{"references": {strings.Join(names, " ")}}.Encode()
	if len(names) == 0 || len(names) > domain.MaxMoves || len(q) > longest {
		return bulkAt
	}
	return bulkAt + "?" + q
}

// formAgain returns a link to the form with the values that were sent.
func formAgain(names []string, o bulk.MoveOrder) string {
	to := namedForm(names)
	if to == bulkAt {
		return to
	}
	return to + "&" + url.Values{"status": {string(o.To)}, "reason_code": {string(o.Reason)}}.Encode()
}

// fillForm fills the form from the address, for links of lists, previews and runs.
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

// stayed returns the names that can be retried: refused or not found.
func stayed(run *domain.MoveRun) (names []string) {
	for i := range run.Items {
		if item := &run.Items[i]; item.Outcome == domain.MoveRefused || item.Outcome == domain.MoveNotFound {
			names = append(names, item.Sent)
		}
	}
	return names
}

// aim describes the target of a run: one status, or several.
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
