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
	"unicode"

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

// Read reads a table as spreadsheets write it: in the character sets of Text, with commas,
// semicolons or tabs between cells, quotes as in RFC 4180, and any line breaks but those of old
// Macintosh computers. The first line with text names the columns. A line sep=; before it names the
// separator. Only name and address are required. A row may be shorter than the first line: its
// missing cells are empty. Columns without any text are ignored, whatever their name. Coordinates may
// have a decimal comma. Read skips a row without any text. The error is Errors, with all that is
// wrong.
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
	if len(content) > MaxBytes {
		return t, whole(1, domain.FieldTooLong, fmt.Sprintf("the file has more than %d MiB; send it in parts", MaxBytes>>20))
	}
	content, unread = decode(content)
	if unread != nil {
		return t, unread
	}
	if line, wide := tooWide(content); wide {
		return t, whole(line, domain.FieldTooLong, fmt.Sprintf("the line has more than %d cells; the columns there are: %s", mostCells,
			strings.Join(Columns(), ","))+unbroken(content))
	}
	if hint := unbroken(content); hint != "" {
		return t, whole(1, domain.FieldRequired, "the file has one line, and its first line only names the columns"+hint)
	}
	comma, rows, unread := separator(content)
	if unread != nil {
		return t, unread
	}
	r := reader(rows, comma)
	header, err := r.Read()
	for err == nil && len(filled(header)) == 0 {
		header, err = r.Read()
	}
	if errors.Is(err, io.EOF) {
		return t, whole(1, domain.FieldRequired, "the file is empty; its first line names the columns: "+strings.Join(Columns(), ","))
	}
	if err != nil {
		return t, Errors{unreadable(err)}
	}
	headerLine, _ := r.FieldPos(0)
	header = filled(header)
	at, unknown, wrong := columns(header, headerLine)
	if wrong != nil {
		return t, wrong
	}
	t = &table{at: at, unknown: unknown, width: len(header), comma: comma, numbers: n, seen: map[string]int{}}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return t, Errors{unreadable(err)} // the start of the next row is unknown
		}
		if cells = filled(cells); len(cells) == 0 {
			continue // spreadsheets leave them at the end
		}
		line, _ := r.FieldPos(0)
		if len(t.rows) == MaxRows {
			return t, whole(line, domain.FieldTooLong, fmt.Sprintf("there are more than %d rows; send the file in parts", MaxRows))
		}
		t.add(line, cells)
	}
	if wrong := t.unknownFilled(headerLine); wrong != nil {
		return &table{}, wrong // the rows may be wrong only because of the names
	}
	if len(t.rows) == 0 {
		return t, whole(headerLine, domain.FieldRequired, "there is no row behind the line that names the columns")
	}
	return t, nil
}

// filled returns the cells without the empty ones at the end, of which spreadsheets write too
// many or too few.
func filled(cells []string) []string {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// separator returns the character between cells. A first line such as sep=; names it, else the
// first line with text shows it. Another one counts in its place if it finds more known columns in
// that line. In rows, the line sep=; is empty, so that lines keep their numbers.
func separator(content []byte) (comma rune, rows []byte, wrong Errors) {
	before, first := firstLine(content)
	rows = content
	if line := strings.TrimLeft(string(first), `"`); len(line) >= 4 && strings.EqualFold(line[:4], "sep=") {
		named, padding := line[4:min(5, len(line))], line[min(5, len(line)):] // spreadsheets pad the line like a row
		if named == "" || !strings.Contains(separators, named) || strings.Trim(padding, blanks+`"`) != "" {
			return 0, nil, whole(1+bytes.Count(before, []byte("\n")), domain.FieldNotAllowed,
				"the line names no separator that is supported: a comma, a semicolon or a tab"+itIs(strings.TrimRight(line, "\r")))
		}
		comma = rune(named[0])
		rows = slices.Concat(before, content[len(before)+len(first):])
		before, first = firstLine(rows)
	} else if i := strings.IndexFunc(separators, func(r rune) bool { return bytes.ContainsRune(first, r) }); i >= 0 {
		comma = rune(separators[i])
	} else {
		comma = ','
	}
	most := knownColumns(rows[len(before):], comma)
	for _, other := range separators {
		if n := knownColumns(rows[len(before):], other); n > most {
			comma, most = other, n
		}
	}
	return comma, rows, nil
}

// blanks lists what a line without text may have.
const blanks = separators + " \r"

// firstLine returns the first line with text, without its line feed, and all that is before it.
func firstLine(content []byte) (before, first []byte) {
	at := 0
	for {
		first, _, more := bytes.Cut(content[at:], []byte("\n"))
		if !more || len(bytes.Trim(first, blanks)) > 0 {
			return content[:at], first
		}
		at += len(first) + 1
	}
}

// knownColumns counts the columns that the first row names.
func knownColumns(rows []byte, comma rune) (n int) {
	header, _ := reader(rows, comma).Read() // nil: none
	for _, heading := range header {
		if _, known := column(heading); known {
			n++
		}
	}
	return n
}

func reader(rows []byte, comma rune) *csv.Reader {
	r := csv.NewReader(bytes.NewReader(rows))
	r.Comma = comma
	r.FieldsPerRecord = -1 // shorter rows are fine, and a longer one is reported with its line
	return r
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
			wrong.Message = `a quoted cell does not end properly; behind its closing " comes the separator or the end of the line`
		}
	}
	return wrong
}

// column returns the column that a heading names, by its own name or by another common one.
// Capitals, and whatever separates words, make no difference.
func column(heading string) (name string, known bool) {
	heading = strings.Join(strings.FieldsFunc(strings.ToLower(heading), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
	if slices.Contains(Columns(), heading) {
		return heading, true
	}
	for _, name := range Columns() {
		if slices.Contains(otherNames[name], heading) {
			return name, true
		}
	}
	return "", false
}

// otherNames lists the other names of each column. "location" is not among them: it may be a name
// or an address.
var otherNames = map[string][]string{
	"name":      {"branch", "branch name", "location name", "outlet", "pickup location", "pickup name", "shop", "shop name", "store", "store name"},
	"address":   {"full address", "pickup address", "street", "street address"},
	"contact":   {"contact number", "contact phone", "mobile", "mobile number", "phone", "phone no", "phone number", "tel", "telephone"},
	"latitude":  {"lat"},
	"longitude": {"lng", "lon", "long"},
	"active":    {"enabled", "is active"},
}

// columns finds the position of each column. unknown lists the positions of headings that name
// none. They are wrong only if a required column is missing, or a row has text there.
func columns(header []string, line int) (at map[string]int, unknown []unknownColumn, wrong Errors) {
	at = map[string]int{}
	for i, heading := range header {
		name, known := column(heading)
		if !known {
			unknown = append(unknown, unknownColumn{at: i, heading: strings.TrimSpace(heading)})
			continue
		}
		if first, twice := at[name]; twice {
			wrong = append(wrong, RowError{Line: line, Field: name, Code: domain.FieldNotAllowed, Message: fmt.Sprintf(
				"the column is there twice, as %s and as %s", quoted(header[first]), quoted(heading))})
			continue
		}
		at[name] = i
	}
	for _, name := range []string{"name", "address"} {
		if _, there := at[name]; !there {
			wrong = append(wrong, RowError{Line: line, Field: name, Code: domain.FieldRequired,
				Message: "the column is missing; the first line names the columns: " + strings.Join(Columns(), ",")})
		}
	}
	if wrong == nil {
		return at, unknown, nil
	}
	var strange Errors
	for _, u := range unknown {
		if u.heading != "" {
			strange = append(strange, u.error(line))
		}
	}
	return nil, nil, append(strange, wrong...)
}

// unknownColumn is a column whose heading names none that is read.
type unknownColumn struct {
	at      int
	heading string
	filled  int // the first line with text in the column; 0: none
}

func (u unknownColumn) error(line int) RowError {
	message := "column " + strconv.Itoa(u.at+1) + " has no name"
	if u.heading != "" {
		message = "the column " + quoted(u.heading) + " is unknown"
	}
	if u.filled > 0 {
		message += " and has text in line " + strconv.Itoa(u.filled)
	}
	return RowError{Line: line, Code: domain.FieldNotAllowed,
		Message: message + "; delete the column, or name it one of " + strings.Join(Columns(), ",")}
}

// table is a table that is being read.
type table struct {
	at      map[string]int
	unknown []unknownColumn
	width   int
	comma   rune // between cells
	numbers ports.Normalizer
	rows    []domain.PickupLocationRow
	seen    map[string]int // line by name and address
	wrong   Errors
}

// unknownFilled returns an error for each column that has text under a heading that names none.
func (t *table) unknownFilled(headerLine int) (wrong Errors) {
	for _, u := range t.unknown {
		if u.filled > 0 {
			wrong = append(wrong, u.error(headerLine))
		}
	}
	return wrong
}

// add adds a row. Its last cell has text.
func (t *table) add(line int, cells []string) {
	reject := func(field, code, message string) {
		t.wrong = append(t.wrong, RowError{Line: line, Field: field, Code: code, Message: message})
	}
	cell := func(i int) string {
		if i >= len(cells) {
			return ""
		}
		return strings.TrimSpace(cells[i])
	}
	for i := range t.unknown {
		if u := &t.unknown[i]; u.filled == 0 && cell(u.at) != "" {
			u.filled = line
		}
	}
	if len(cells) > t.width {
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
			return decimal(cell(i))
		}
		return cell(i)
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

// decimal returns a number with a decimal point in place of a comma.
func decimal(typed string) string {
	if strings.Count(typed, ",") == 1 && !strings.Contains(typed, ".") {
		return strings.Replace(typed, ",", ".", 1)
	}
	return typed
}

func itIs(cell string) string { return "; it is " + quoted(cell) }

// quoted quotes a cell, so that the author of the file finds it. It cuts long ones.
func quoted(cell string) string {
	const most = 40
	if runes := []rune(cell); len(runes) > most {
		cell = string(runes[:most]) + "..."
	}
	return strconv.Quote(cell)
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
