package pickupcsv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waybill/domain"
	"waybill/ports"
)

// Limits of a table of locations.
const (
	MaxBytes = 5 << 20
	MaxRows  = 10_000
)

// Columns returns the column names for the first line of a table, in any order.
func Columns() []string {
	return []string{"name", "address", "contact", "latitude", "longitude", "active"}
}

// RowError says what is wrong with one row of a table.
type RowError struct {
	Line    int
	Field   string // a column, or empty when the line as a whole cannot be read
	Code    string // one of the Field codes of the domain
	Message string
	Name    string // of the location in this row, if it is valid
}

// Errors lists everything that is wrong with a table. Read returns no rows then.
type Errors []RowError

func (e Errors) Error() string {
	return fmt.Sprintf("%s in the table; the first one in line %d: %s", e.Count(), e[0].Line, strings.TrimSpace(e[0].Field+" "+e[0].Message))
}

// Count returns "1 problem" or "2 problems".
func (e Errors) Count() string {
	if len(e) == 1 {
		return "1 problem"
	}
	return strconv.Itoa(len(e)) + " problems"
}

// Read reads comma-separated rows, as in RFC 4180 and spreadsheets: with or without a byte
// order mark, carriage returns and quotes. The first line names the columns. Only name and
// address are required. If the first line has semicolons and no comma, as spreadsheets of many
// countries write it, semicolons separate all rows, and numbers may have a decimal comma. Read
// skips a row without any text. The error is Errors, with all that is wrong.
func Read(content []byte, n ports.Normalizer) ([]domain.PickupLocationRow, error) {
	t, unread := read(content, n)
	if wrong := append(t.wrong, unread...); len(wrong) > 0 {
		return nil, wrong
	}
	return t.rows, nil
}

// Sift reads a table like Read, and returns its valid rows even if others are invalid. refused
// lists the errors of those. The error is Errors when the table as a whole cannot be read.
func Sift(content []byte, n ports.Normalizer) (rows []domain.PickupLocationRow, refused Errors, err error) {
	t, unread := read(content, n)
	if len(unread) > 0 {
		return nil, nil, append(t.wrong, unread...)
	}
	wrong := map[int]bool{}
	for _, w := range t.wrong {
		wrong[w.Line] = true
	}
	return slices.DeleteFunc(t.rows, func(r domain.PickupLocationRow) bool { return wrong[r.Line] }), t.wrong, nil
}

// read reads the rows of a table. unread says why it cannot be read to its end.
func read(content []byte, n ports.Normalizer) (t *table, unread Errors) {
	t = &table{}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	switch {
	case len(content) > MaxBytes:
		return t, whole(1, domain.FieldTooLong, fmt.Sprintf("the file has more than %d MiB; send it in parts", MaxBytes>>20))
	case !utf8.Valid(content):
		line := 1 + bytes.Count(content[:firstInvalid(content)], []byte("\n"))
		return t, whole(line, domain.FieldInvalidFormat, "the text is not UTF-8; save the file as CSV UTF-8")
	}
	if line, wide := tooWide(content); wide {
		return t, whole(line, domain.FieldTooLong, fmt.Sprintf("the line has more than %d cells; the columns there are: %s", mostCells,
			strings.Join(Columns(), ","))+unbroken(content))
	}
	if hint := unbroken(content); hint != "" {
		return t, whole(1, domain.FieldRequired, "the file has one line, and its first line only names the columns"+hint)
	}
	r := csv.NewReader(bytes.NewReader(content))
	r.Comma = separator(content)
	r.FieldsPerRecord = -1 // a row of another length is reported with its line
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return t, whole(1, domain.FieldRequired, "the file is empty; its first line names the columns: "+strings.Join(Columns(), ","))
	}
	if err != nil {
		return t, Errors{unreadable(err)}
	}
	at, wrong := columns(header)
	if wrong != nil {
		return t, wrong
	}
	t = &table{at: at, width: len(header), comma: r.Comma, numbers: n, seen: map[string]int{}}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return t, Errors{unreadable(err)} // the start of the next row is unknown
		}
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			continue // spreadsheets leave them at the end
		}
		line, _ := r.FieldPos(0)
		if len(t.rows) == MaxRows {
			return t, whole(line, domain.FieldTooLong, fmt.Sprintf("there are more than %d rows; send the file in parts", MaxRows))
		}
		t.add(line, cells)
	}
	if len(t.rows) == 0 {
		return t, whole(1, domain.FieldRequired, "there is no row behind the first line")
	}
	return t, nil
}

// separator returns the character between cells, judged by the first line.
func separator(content []byte) rune {
	first, _, _ := bytes.Cut(content, []byte("\n"))
	if bytes.ContainsRune(first, ';') && !bytes.ContainsRune(first, ',') {
		return ';'
	}
	return ','
}

// Unbroken reports that a table has no line feed, like files of old Macintosh computers.
func Unbroken(content []byte) bool { return len(content) > 0 && !bytes.ContainsRune(content, '\n') }

// unbroken returns a hint for a text without line breaks, which usually had some.
func unbroken(content []byte) string {
	if !Unbroken(content) {
		return ""
	}
	return "; there is no line break in it: curl keeps them with --data-binary @FILE, and -d takes them out"
}

func firstInvalid(content []byte) int {
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(content)
}

func whole(line int, code, message string) Errors {
	return Errors{{Line: line, Code: code, Message: message}}
}

func unreadable(err error) RowError {
	wrong := RowError{Line: 1, Code: domain.FieldInvalidFormat, Message: "the line cannot be read"}
	var at *csv.ParseError
	if errors.As(err, &at) {
		wrong.Line = at.Line
		switch {
		case errors.Is(at.Err, csv.ErrBareQuote):
			wrong.Message = `there is a " within a cell that does not begin with one; put the cell in quotes and double those inside`
		case errors.Is(at.Err, csv.ErrQuote):
			wrong.Line = at.StartLine
			wrong.Message = `a quoted cell does not end properly; behind its closing " comes a comma, or the semicolon of the first line, or the end of the line`
		}
	}
	return wrong
}

// columns finds the position of each column.
func columns(header []string) (map[string]int, Errors) {
	at := map[string]int{}
	var wrong Errors
	for i, cell := range header {
		name := strings.ToLower(strings.TrimSpace(cell))
		_, twice := at[name]
		switch {
		case !slices.Contains(Columns(), name):
			wrong = append(wrong, RowError{Line: 1, Code: domain.FieldNotAllowed, Message: fmt.Sprintf(
				"column %d has a name that is none of %s", i+1, strings.Join(Columns(), ","))})
		case twice:
			wrong = append(wrong, RowError{Line: 1, Field: name, Code: domain.FieldNotAllowed, Message: "the column is there twice"})
		}
		at[name] = i
	}
	for _, name := range []string{"name", "address"} {
		if _, there := at[name]; !there {
			wrong = append(wrong, RowError{Line: 1, Field: name, Code: domain.FieldRequired,
				Message: "the column is missing; the first line names the columns: " + strings.Join(Columns(), ",")})
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return at, nil
}

// table is a table that is being read.
type table struct {
	at      map[string]int
	width   int
	comma   rune // between cells
	numbers ports.Normalizer
	rows    []domain.PickupLocationRow
	seen    map[string]int // line by name and address
	wrong   Errors
}

func (t *table) add(line int, cells []string) {
	reject := func(field, code, message string) {
		t.wrong = append(t.wrong, RowError{Line: line, Field: field, Code: code, Message: message})
	}
	if len(cells) != t.width {
		reject("", domain.FieldInvalidFormat,
			fmt.Sprintf("the row has %d cells and the first line %d; put cells that have a %q in them in quotes", len(cells), t.width,
				string(t.comma)))
		t.rows = append(t.rows, domain.PickupLocationRow{Line: line}) // counts towards MaxRows
		return
	}
	first := len(t.wrong)
	row := Row(func(name string) string {
		i, there := t.at[name]
		switch {
		case !there:
			return ""
		case name == "latitude" || name == "longitude":
			return t.decimal(strings.TrimSpace(cells[i]))
		}
		return strings.TrimSpace(cells[i])
	}, t.numbers, reject)
	row.Line = line
	if earlier, twice := t.seen[row.Identity()]; twice && row.Name != "" && row.Address != "" {
		reject("", domain.FieldNotAllowed, fmt.Sprintf("line %d has the same name and address", earlier))
	} else {
		t.seen[row.Identity()] = line
	}
	for i := range t.wrong[first:] {
		t.wrong[first+i].Name = row.Name
	}
	t.rows = append(t.rows, row)
}

// Row reads a location from its cells, which are trimmed, and rejects invalid ones. The form of
// a page has the same fields as a row of a table.
func Row(cell func(column string) string, n ports.Normalizer, reject func(field, code, message string)) (row domain.PickupLocationRow) {
	row.Name = text(cell("name"), "name", domain.NameRule, reject)
	row.Address = text(cell("address"), "address", domain.AddressRule, reject)
	if typed := cell("contact"); typed != "" {
		var sound bool
		if row.Contact, sound = n.PhoneNumber(typed); !sound {
			reject("contact", domain.FieldInvalidFormat, "no valid phone number; write it with its country code, such as +233302000001")
		}
	}
	row.Coordinates = point(cell("latitude"), cell("longitude"), reject)
	switch strings.ToLower(cell("active")) {
	case "":
	case "true", "yes", "1":
		row.Active = new(true)
	case "false", "no", "0":
		row.Active = new(false)
	default:
		reject("active", domain.FieldNotAllowed, "true or false; empty counts as true"+itIs(cell("active")))
	}
	return row
}

// decimal returns a number with a decimal point, when the table may use a comma.
func (t *table) decimal(typed string) string {
	if t.comma == ';' && strings.Count(typed, ",") == 1 && !strings.Contains(typed, ".") {
		return strings.Replace(typed, ",", ".", 1)
	}
	return typed
}

// itIs quotes a cell, so that the author of the file finds it. It cuts long ones.
func itIs(cell string) string {
	const most = 40
	if runes := []rune(cell); len(runes) > most {
		cell = string(runes[:most]) + "..."
	}
	return "; it is " + strconv.Quote(cell)
}

func text(s, field string, rule domain.TextRule, reject func(field, code, message string)) string {
	if s == "" {
		reject(field, domain.FieldRequired, "the cell is empty")
		return ""
	}
	if code, message := rule.Judge(s); code != "" {
		reject(field, code, message+itIs(s))
		return ""
	}
	return s
}

// point needs both coordinates or none.
func point(latitude, longitude string, reject func(field, code, message string)) *domain.Coordinates {
	if latitude == "" && longitude == "" {
		return nil
	}
	sound := true
	degrees := func(typed, field string, most domain.Degrees) float64 {
		x, err := strconv.ParseFloat(typed, 64)
		switch {
		case typed == "":
			reject(field, domain.FieldRequired, "give latitude and longitude together")
		case err != nil || math.IsNaN(x) || strings.ContainsAny(typed, "xXpP_"):
			reject(field, domain.FieldInvalidType, "a number with a decimal point, such as 5.5571"+itIs(typed))
		case !most.Holds(x):
			reject(field, domain.FieldOutOfRange, most.String()+" degrees"+itIs(typed))
		default:
			return x
		}
		sound = false
		return 0
	}
	at := domain.Coordinates{Latitude: degrees(latitude, "latitude", domain.MaxLatitude), Longitude: degrees(longitude, "longitude",
		domain.MaxLongitude)}
	if !sound {
		return nil
	}
	return &at
}
