package portal

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"waybill/adapters/pages"
	"waybill/adapters/web/pickupcsv"
	"waybill/application/directory"
	"waybill/domain"
)

// Limits of an imported table. The preview shows the outcome of each row on one page, and its form
// sends the table again.
const (
	mostImported  = 1000    // rows
	importedBytes = 256_000 // of the table
	maxImportForm = 1 << 20 // of the form, which is longer because its characters are encoded
)

type pickupImportView struct {
	Notice      *pages.Notice
	Environment string
	List        string
	Text        string
	Error       string // about the table as a whole
	Columns     string
	MostRows    int64
	MostKB      int
	Sample      pages.Code
	Preview     *pickupPreview // nil: nothing was sent yet
}

// pickupPreview holds the outcome of an import.
type pickupPreview struct {
	Created, Updated, Unchanged, Refused int64
	Rows                                 []fateView
	Text                                 string // the table
	Marks                                string // marks of the outcomes shown
	Changes                              int64  // rows that the import would write
}

// fateView holds the outcome of a row.
type fateView struct {
	Line          int
	Name, Address string
	Fate, Tone    string
	Lines         []string
	Since         bool // the outcome differs from the previous preview
}

// fateTexts says what the import will do with a row.
var fateTexts = map[directory.Outcome]string{
	directory.RowCreated: "will create", directory.RowUpdated: "will update", directory.RowUnchanged: "unchanged",
}

// fateTones maps outcomes of rows to colours.
var fateTones = map[directory.Outcome]string{
	directory.RowCreated: "good", directory.RowUpdated: "me", directory.RowUnchanged: "over",
}

var (
	tooManyRows   = "There are more than " + strconv.Itoa(mostImported) + " rows. Send the table in parts."
	tooLargeTable = "The table has more than " + strconv.Itoa(importedBytes/1000) + " kB. Send it in parts."
)

func (p *Portal) askImport(c *call) error { return p.importPage(c, http.StatusOK, nil, "", nil) }

func (p *Portal) importPage(c *call, status int, preview *pickupPreview, wrong string, n *pages.Notice) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	v := pickupImportView{
		Notice: n, Environment: string(t.Environment), List: pickupsAt + "/" + string(t.Environment), Error: wrong, Preview: preview,
		Columns: strings.Join(pickupcsv.Columns(), ", "), MostRows: mostImported, MostKB: importedBytes / 1000,
		Sample: pages.Code{ID: "sample", Text: strings.Join(pickupcsv.Columns(), ",") +
			"\nOsu branch,\"12 Oxford Street, Accra\",+233302000001,5.5571,-0.1818,true"},
	}
	if n == nil {
		v.Notice = c.WelcomeBack()
	}
	if preview == nil {
		v.Text = c.Form.Get("csv")
	}
	return p.Show(c, status, "pickup_import", "Import pickup locations", v)
}

// downloadTemplate sends a table that has only the line of column names. With its byte order mark
// Excel saves it as UTF-8 again, which has the letters that windows-1252 lacks.
func (p *Portal) downloadTemplate(c *call) error {
	if _, err := p.pickupTenant(c); err != nil {
		return err
	}
	c.Header("Content-Disposition", `attachment; filename="pickup-locations.csv"`)
	c.Data(http.StatusOK, "text/csv; charset=utf-8", []byte("\ufeff"+strings.Join(pickupcsv.Columns(), ",")+"\r\n"))
	return nil
}

// tableSent returns the table in the form, from the file or the text field. wrong says what is
// wrong with the whole table.
func tableSent(c *call) (text, wrong string) {
	text, err := pickupcsv.Text(c.File)
	text = cmp.Or(text, c.Form.Get("csv"))
	switch {
	case err != nil || strings.ContainsRune(text, 0):
		return "", "This is not a text table. Save it as CSV UTF-8."
	case strings.TrimSpace(text) == "":
		return "", "Choose a file, or paste its rows."
	case len(text) > importedBytes:
		return "", tooLargeTable
	}
	return text, ""
}

// sifted returns the valid rows of a table, and the errors of the others.
func (p *Portal) sifted(text string) (rows []domain.PickupLocationRow, refused pickupcsv.Errors, wrong string) {
	rows, refused, err := pickupcsv.Sift([]byte(text), p.options.Normalizer)
	var whole pickupcsv.Errors
	if errors.As(err, &whole) {
		last := whole[len(whole)-1]
		if missing := missingColumns(whole); missing != "" {
			return nil, nil, "Line " + strconv.Itoa(last.Line) + ": the " + missing + " missing. The first line names the columns: " +
				strings.Join(pickupcsv.Columns(), ", ") + "."
		}
		switch {
		case pickupcsv.Unbroken([]byte(text)): // the API explains how to keep them with curl
			return nil, nil, "The table is one line. It has no line breaks that we can read. Save it as CSV UTF-8, not as CSV for " +
				"Macintosh, or paste its rows below."
		case last.Code == domain.FieldTooLong && last.Line > mostImported:
			return nil, nil, tooManyRows
		}
		what := pages.Sentence(last.Message)
		if last.Field != "" {
			what = last.Field + ": " + last.Message
		}
		return nil, nil, "Line " + strconv.Itoa(last.Line) + ": " + what
	}
	lines := map[int]bool{} // a row may have several problems
	for _, w := range refused {
		lines[w.Line] = true
	}
	if len(rows)+len(lines) > mostImported {
		return nil, nil, tooManyRows
	}
	return rows, refused, ""
}

// missingColumns returns "column name is" or "columns name and address are"; empty: none missing.
// Only the line of column names has errors of fields as the last ones of a whole table.
func missingColumns(whole pickupcsv.Errors) string {
	last := whole[len(whole)-1]
	var names []string
	for _, w := range whole {
		if last.Field != "" && w.Line == last.Line && w.Field != "" && w.Code == domain.FieldRequired {
			names = append(names, w.Field)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "column " + names[0] + " is"
	}
	return "columns " + strings.Join(names, " and ") + " are"
}

// sent returns the table of a form, its valid rows and the refused ones. wrong says why it cannot
// be read.
func (p *Portal) sent(c *call) (text string, rows []domain.PickupLocationRow, refused pickupcsv.Errors, wrong string) {
	if text, wrong = tableSent(c); wrong == "" {
		rows, refused, wrong = p.sifted(text)
	}
	return text, rows, refused, wrong
}

// previewImport shows the outcome of each row and writes nothing. A business gets one preview at a
// time.
func (p *Portal) previewImport(c *call) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	leave, err := c.Alone()
	if err != nil {
		return err
	}
	defer leave()
	text, rows, refused, wrong := p.sent(c)
	if wrong != "" {
		return p.importPage(c, http.StatusUnprocessableEntity, nil, wrong, nil)
	}
	told, err := p.PickupLocations.Import(c.Ctx(), c.Actor(), t, rows, true, nil)
	if domain.HasCode(err, domain.CodePickupLocationLimit) {
		return p.importPage(c, http.StatusConflict, nil, pages.MessageOf(err), nil)
	}
	if err != nil {
		return err
	}
	return p.importPage(c, http.StatusOK, previewOf(text, told.Fates, refused, nil), "", nil)
}

// importPickups does exactly what the preview showed, or nothing.
func (p *Portal) importPickups(c *call) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	text, rows, refused, wrong := p.sent(c)
	if wrong != "" {
		return p.importPage(c, http.StatusUnprocessableEntity, nil, wrong, nil)
	}
	marks := strings.FieldsFunc(c.Form.Get("preview"), func(r rune) bool { return r == ',' })
	done, err := p.PickupLocations.ImportPreviewed(c.Ctx(), c.Actor(), t, rows, marks)
	if domain.HasCode(err, domain.CodePickupLocationLimit) {
		return p.importPage(c, http.StatusConflict, nil, pages.MessageOf(err), nil)
	}
	if errors.Is(err, directory.ErrPreviewOutdated) {
		return p.importPage(c, http.StatusConflict, previewOf(text, done.Fates, refused, marks), "", &pages.Notice{Tone: "warn",
			Title: "Nothing was imported: the pickup locations have changed since the preview",
			Lines: []string{"This is the result for the table now. Rows with another result than before are marked."}})
	}
	if err != nil {
		return err
	}
	p.Flash(c, "pickups-imported", done.Created, done.Updated)
	return c.Lead(pickupsAt + "/" + string(t.Environment) + "?done=pickups-imported")
}

// previewOf returns the outcomes of all rows by line. before holds the marks of the preview that
// was sent; nil: there was none.
func previewOf(text string, fates []directory.Fate, refused pickupcsv.Errors, before []string) *pickupPreview {
	v := &pickupPreview{Text: text}
	marks := make([]string, len(fates))
	for i := range fates {
		f := &fates[i]
		marks[i] = f.Mark
		row := fateView{Line: f.Line, Name: f.Location.Name, Address: f.Location.Address, Fate: fateTexts[f.Outcome], Tone: fateTones[f.Outcome],
			Since: before != nil && (i >= len(before) || before[i] != f.Mark)}
		if len(f.Changed) > 0 {
			row.Lines = append(row.Lines, "changes "+strings.Join(f.Changed, ", "))
		}
		if missing := f.Location.Missing(); len(missing) > 0 {
			row.Lines = append(row.Lines, "orders cannot use it yet: no "+strings.Join(missing, ", "))
		}
		switch f.Outcome {
		case directory.RowCreated:
			v.Created++
		case directory.RowUpdated:
			v.Updated++
		case directory.RowUnchanged:
			v.Unchanged++
		}
		v.Rows = append(v.Rows, row)
	}
	for _, w := range refused {
		why := pages.Sentence(w.Message)
		if w.Field != "" {
			why = w.Field + ": " + w.Message
		}
		if last := len(v.Rows) - 1; last >= 0 && v.Rows[last].Line == w.Line && v.Rows[last].Fate == "refused" {
			v.Rows[last].Lines = append(v.Rows[last].Lines, why)
			continue
		}
		v.Refused++
		v.Rows = append(v.Rows, fateView{Line: w.Line, Name: w.Name, Fate: "refused", Tone: "bad", Lines: []string{why}})
	}
	refusedFirst := func(row fateView) int {
		if row.Fate == "refused" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(v.Rows, func(a, b fateView) int {
		return cmp.Or(cmp.Compare(refusedFirst(a), refusedFirst(b)), cmp.Compare(a.Line, b.Line))
	})
	v.Marks, v.Changes = strings.Join(marks, ","), v.Created+v.Updated
	return v
}
