package pickupcsv_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	encoding "unicode/utf16"

	"waybill/adapters/web/pickupcsv"
	"waybill/domain"
	"waybill/test/stage"
)

// numbers accepts every number that begins with +.
type numbers struct{ stage.FoldCase }

func (numbers) PhonePart(string) (string, bool) { return "", false }

func (numbers) PhoneNumber(typed string) (domain.PhoneNumber, bool) {
	return domain.PhoneNumber(typed), strings.HasPrefix(typed, "+")
}

// read returns what a table holds, a line each, or what is wrong with it.
func read(content string) string {
	rows, err := pickupcsv.Read([]byte(content), numbers{})
	var wrong pickupcsv.Errors
	var out []string
	if errors.As(err, &wrong) {
		for _, w := range wrong {
			out = append(out, strings.Join(strings.Fields(fmt.Sprint("!", w.Line, " ", w.Field, " ", w.Code)), " "))
		}
	}
	for _, r := range rows {
		at, active := "-", "-"
		if r.Coordinates != nil {
			at = fmt.Sprint(r.Coordinates.Latitude, "/", r.Coordinates.Longitude)
		}
		if r.Active != nil {
			active = fmt.Sprint(*r.Active)
		}
		out = append(out, fmt.Sprintf("%d %q %q %s %s %s", r.Line, r.Name, r.Address, r.Contact, at, active))
	}
	return strings.Join(out, "; ")
}

func TestTablesAreReadAsSpreadsheetsWriteThem(t *testing.T) {
	t.Parallel()
	const header = "name,address,contact,latitude,longitude,active\n"
	for name, c := range map[string]struct{ content, want string }{
		"all columns":             {header + "Osu,1 Street,+1,5.5,-0.1,true\n", `2 "Osu" "1 Street" +1 5.5/-0.1 true`},
		"only what is needed":     {"address,name\n1 Street,Osu", `2 "Osu" "1 Street"  - -`},
		"a byte order mark, CRLF": {"\xef\xbb\xbf" + "Name, Address\r\nOsu,1 Street\r\n", `2 "Osu" "1 Street"  - -`},
		"quotes, commas, lines": {"name,address\n\"The \"\"Osu\"\"\",\"1 Street,\nAccra\"\nTema,2 Road\n",
			`2 "The \"Osu\"" "1 Street,\nAccra"  - -; 4 "Tema" "2 Road"  - -`},
		"semicolons": {"name;address;latitude;longitude\nOsu;1 Street, Accra;5,5571;-0.1\n",
			`2 "Osu" "1 Street, Accra"  5.5571/-0.1 -`},
		"semicolons in cells":    {"name,address\nOsu,1 Street; Accra\n", `2 "Osu" "1 Street; Accra"  - -`},
		"both in the first line": {"name;address,lat\nOsu,1 Street\n", "!1 not_allowed; !1 name required; !1 address required"},
		"commas in numbers":      {header + "Osu,1 Street,,\"5,5571\",\"-0,1818\",\n", `2 "Osu" "1 Street"  5.5571/-0.1818 -`},
		"too many commas": {"name;address;latitude;longitude\nOsu;1 Street;1,234,5;1.234,5\n",
			"!2 latitude invalid_type; !2 longitude invalid_type"},
		"rows without any text":   {"name,address\n,\nOsu,1 Street\n , \n,,,\n", `3 "Osu" "1 Street"  - -`},
		"nothing but such rows":   {"name,address\n,\n", "!1 required"},
		"no line break":           {"name,addressOsu,1 Street", "!1 required"},
		"empty lines between":     {"name,address\n\nOsu,1 Street\n\n", `3 "Osu" "1 Street"  - -`},
		"switched off":            {header + "Osu,1 Street,,,,No\n", `2 "Osu" "1 Street"  - false`},
		"nothing":                 {"", "!1 required"},
		"the first line alone":    {header, "!1 required"},
		"a strange column":        {"name,address,lap\nOsu,1 Street,\nTema,2 Road,5\n", "!1 not_allowed"},
		"a strange empty column":  {"name,lap,address\nOsu,,1 Street\n", `2 "Osu" "1 Street"  - -`},
		"a column without a name": {"name,,address\nOsu,x,1 Street\nx,,\n", "!1 not_allowed"},
		"a column twice":          {"name,address,branch\n", "!1 name not_allowed"},
		"common names": {"Branch;Street Address;Phone_Number;LAT;lng;is-active\nOsu;1 Street;+1;5,5;-0,1;yes\n",
			`2 "Osu" "1 Street" +1 5.5/-0.1 true`},
		"empty columns at the end": {"name,address,,\nOsu,1 Street,,\nTema,2 Road,,Accra\n", "!3 invalid_format"},
		"a separator that is named": {"sep=;\r\nname;address;latitude;longitude\r\nOsu;1, Street;5,5;-0,1\r\nTema\r\n",
			"!4 address required"},
		"a tab that is named":             {"\"sep=\t\"\nname\taddress\nOsu\t1 Street\n", `3 "Osu" "1 Street"  - -`},
		"a padded line sep=":              {"\"sep=;\";;; \r\nname;address\nOsu;1 Street\n", `3 "Osu" "1 Street"  - -`},
		"a space behind sep=;":            {"sep=; \nname;address\nOsu;1 Street\n", `3 "Osu" "1 Street"  - -`},
		"another separator than is named": {"sep=;,,\nname,address,\nOsu,1 Street\n", `3 "Osu" "1 Street"  - -`},
		"a comma in a heading":            {"name;address;\"contact, phone\"\nOsu;1 Street;+1\n", `2 "Osu" "1 Street" +1 - -`},
		"a comma in a strange heading":    {"name;address;\"lap, time\"\nOsu;1 Street\n", `2 "Osu" "1 Street"  - -`},
		"a tab in a strange heading":      {"name,address,lap\ttime\nOsu,1 Street\n", `2 "Osu" "1 Street"  - -`},
		"rows without text at the top":    {"\r\n;;;\r\nsep=;\r\n\"\";\"\"\r\nname;address\r\nOsu;1 Street\r\n", `6 "Osu" "1 Street"  - -`},
		"empty rows above the columns":    {",,,\n \nname,address,city\nOsu,1 Street,Accra\n", "!3 not_allowed"},
		"nothing but empty rows":          {"\n,,\n", "!1 required"},
		"a strange separator":             {"sep=|\nname|address\nOsu|1 Street\n", "!1 not_allowed"},
		"no name under sep=":              {"SEP=,\naddress\nOsu\n", "!2 name required"},
		"no address":                      {"name\nOsu\n", "!1 address required"},
		"too few cells":                   {header + "Osu,1 Street\nTema\nLabone,2 Road,+2\n", "!3 address required"},
		"half a position":                 {header + "Osu,1 Street,,5.5,,\n", "!2 longitude required"},
		"positions out of range":          {header + "Osu,1 Street,,90.1,-180.1,\n", "!2 latitude out_of_range; !2 longitude out_of_range"},
		"positions that are none":         {header + "Osu,1 Street,,NaN,0x1p4,\n", "!2 latitude invalid_type; !2 longitude invalid_type"},
		"infinitely far":                  {header + "Osu,1 Street,,Inf,1,\n", "!2 latitude out_of_range"},
		"everything at once": {header + ",x,12,a,,maybe\n",
			"!2 name required; !2 address too_short; !2 contact invalid_format; !2 latitude invalid_type; !2 longitude required; !2 active " +
				"not_allowed"},
		"the same twice":           {"name,address\nOsu,1 Street\nOsu,2 Street\n Osu ,1 Street\n", "!4 not_allowed"},
		"a quote in the middle":    {"name,address\nOsu \"A\",1 Street\n", "!2 invalid_format"},
		"a quote that never ends":  {"name,address\nOsu,1 Street\n\"Tema,2 Road\n", "!3 invalid_format"},
		"damaged UTF-8":            {"\xef\xbb\xbfname,address\nOsu,1 Street\nCaf\xe9,2 Road\n", "!3 invalid_format"},
		"no character of any set":  {"name,address\nCaf\x81,2 Road\n", "!2 invalid_format"},
		"half a character":         {"\xff\xfen\x00a", "!1 invalid_format"},
		"a workbook":               {"PK\x03\x04\x14\x00\xff\n", "!1 invalid_format"},
		"a NUL":                    {"name,address\nO\x00su,1 Street\n", "!2 name invalid_format"},
		"a name as long as it may": {"name,address\n" + strings.Repeat("ɔ", 129) + ",1 Street\n", "!2 name too_long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(c.content); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// utf16 returns text as UTF-16LE with its byte order mark.
func utf16(text string) string {
	out := []byte("\xff\xfe")
	for _, unit := range encoding.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return string(out)
}

// The files are as each program writes the same three rows, byte by byte.
func TestFilesOfSpreadsheetsAreReadInTheirCharacterSets(t *testing.T) {
	t.Parallel()
	const want = `2 "Café \"Osu\"" "12 Oxford St.; Osu – Accra" +1 5.5571/-0.1818 true; 3 "Côte d’Or" "2 Road, Tema"  - -`
	for program, content := range map[string]string{
		"Excel, CSV of a country with decimal commas": "Name;Address;Phone;Lat;Long;Active;;\r\n" +
			"\"Caf\xe9 \"\"Osu\"\"\";\"12 Oxford St.; Osu \x96 Accra\";+1;5,5571;-0,1818;TRUE;;\r\n" +
			"C\xf4te d\x92Or;2 Road, Tema;;;\r\n",
		"Excel, Unicode text": utf16("Name\tAddress\tPhone\tLat\tLong\tActive\r\n" +
			"\"Café \"\"Osu\"\"\"\t12 Oxford St.; Osu – Accra\t+1\t5,5571\t-0,1818\tTRUE\r\n" +
			"Côte d’Or\t\"2 Road, Tema\"\t\t\t\t\r\n"),
		"LibreOffice, all text in quotes": "\"Name\",\"Address\",\"Phone\",\"Lat\",\"Long\",\"Active\"\n" +
			"\"Caf\xc3\xa9 \"\"Osu\"\"\",\"12 Oxford St.; Osu \xe2\x80\x93 Accra\",\"+1\",5.5571,-0.1818,TRUE\n" +
			"\"C\xc3\xb4te d\xe2\x80\x99Or\",\"2 Road, Tema\",,,,\n",
		"Google Sheets": "Name,Address,Phone,Lat,Long,Active\n" +
			"\"Caf\xc3\xa9 \"\"Osu\"\"\",12 Oxford St.; Osu \xe2\x80\x93 Accra,+1,5.5571,-0.1818,TRUE\n" +
			"C\xc3\xb4te d\xe2\x80\x99Or,\"2 Road, Tema\",,,,",
	} {
		if got := read(content); got != want {
			t.Errorf("%s: %s\nwant %s", program, got, want)
		}
	}
}

func TestAMessageShowsTheCellAndTheWayOut(t *testing.T) {
	t.Parallel()
	const header = "name,address,latitude,longitude,active\n"
	for content, want := range map[string]string{
		header + "Osu,1 Street,\"5,55,71\",1,\n":             `a number with a decimal point, such as 5.5571; it is "5,55,71"`,
		header + "Osu,1 Street,91,1,\n":                      `-90 to 90 degrees; it is "91"`,
		header + "Osu,1 Street,,,maybe\n":                    `true or false; empty counts as true; it is "maybe"`,
		header + "Osu,1,,,\n":                                `2 to 500 characters; it has 1; it is "1"`,
		header + strings.Repeat("x", 200) + ",1 Street,,,\n": `1 to 128 characters; it has 200; it is "` + strings.Repeat("x", 40) + `..."`,
		"name,addressOsu,1 Street":                           "--data-binary @FILE",
		strings.Repeat("name,address", 100):                  "--data-binary @FILE",
		"name;address\nOsu;1 Street;Accra\n":                 `put cells that have a ";" in them in quotes`,
		"name,address,Zone\nA,1 Street\nB,1 Street,West\n":   `line 1: the column "Zone" is unknown and has text in line 3; delete`,
		"name,,address\nA,x,1 Street\n":                      "line 1: column 2 has no name and has text in line 2; delete",
		"name,address,Branch\n":                              `the column is there twice, as "name" and as "Branch"`,
	} {
		_, err := pickupcsv.Read([]byte(content), numbers{})
		if err == nil || !strings.HasPrefix(err.Error(), "1 problem in the table") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", content, err, want)
		}
	}
	if _, err := pickupcsv.Read([]byte(header+",,1,1,\n"), numbers{}); !strings.HasPrefix(err.Error(), "2 problems in the table") {
		t.Error(err)
	}
}

func TestATableHasItsLimits(t *testing.T) {
	t.Parallel()
	table := func(rows int) string {
		var b strings.Builder
		b.WriteString("name,address\n")
		for i := range rows {
			fmt.Fprintf(&b, "Branch %d,Street\n", i)
		}
		return b.String()
	}
	if rows, err := pickupcsv.Read([]byte(table(10_000)), numbers{}); err != nil || len(rows) != 10_000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if got := read(table(10_001)); got != "!10002 too_long" {
		t.Error(got)
	}
	if got := read(table(1) + strings.Repeat("\n", 5<<20)); got != "!1 too_long" {
		t.Error(got)
	}
}
