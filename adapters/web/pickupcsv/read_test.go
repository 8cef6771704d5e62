package pickupcsv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
		"both in the first line": {"name,address;\nOsu,1 Street\n", "!1 not_allowed; !1 address required"},
		"commas in numbers":      {header + "Osu,1 Street,,\"5,5571\",-0.1,\n", "!2 latitude invalid_type"},
		"too many commas": {"name;address;latitude;longitude\nOsu;1 Street;1,234,5;1.234,5\n",
			"!2 latitude invalid_type; !2 longitude invalid_type"},
		"rows without any text":   {"name,address\n,\nOsu,1 Street\n , \n,,,\n", `3 "Osu" "1 Street"  - -`},
		"nothing but such rows":   {"name,address\n,\n", "!1 required"},
		"no line break":           {"name,addressOsu,1 Street", "!1 required"},
		"empty lines between":     {"name,address\n\nOsu,1 Street\n\n", `3 "Osu" "1 Street"  - -`},
		"switched off":            {header + "Osu,1 Street,,,,No\n", `2 "Osu" "1 Street"  - false`},
		"nothing":                 {"", "!1 required"},
		"the first line alone":    {header, "!1 required"},
		"a strange column":        {"name,address,lat\nOsu,1 Street,5\n", "!1 not_allowed"},
		"a column twice":          {"name,address,name\n", "!1 name not_allowed"},
		"no address":              {"name\nOsu\n", "!1 address required"},
		"too few cells":           {"name,address\nOsu\nTema,2 Road\n", "!2 invalid_format"},
		"half a position":         {header + "Osu,1 Street,,5.5,,\n", "!2 longitude required"},
		"positions out of range":  {header + "Osu,1 Street,,90.1,-180.1,\n", "!2 latitude out_of_range; !2 longitude out_of_range"},
		"positions that are none": {header + "Osu,1 Street,,NaN,0x1p4,\n", "!2 latitude invalid_type; !2 longitude invalid_type"},
		"infinitely far":          {header + "Osu,1 Street,,Inf,1,\n", "!2 latitude out_of_range"},
		"everything at once": {header + ",x,12,a,,maybe\n",
			"!2 name required; !2 address too_short; !2 contact invalid_format; !2 latitude invalid_type; !2 longitude required; !2 active " +
				"not_allowed"},
		"the same twice":           {"name,address\nOsu,1 Street\nOsu,2 Street\n Osu ,1 Street\n", "!4 not_allowed"},
		"a quote in the middle":    {"name,address\nOsu \"A\",1 Street\n", "!2 invalid_format"},
		"a quote that never ends":  {"name,address\nOsu,1 Street\n\"Tema,2 Road\n", "!3 invalid_format"},
		"another character set":    {"name,address\nOsu,1 Street\nCaf\xe9,2 Road\n", "!3 invalid_format"},
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

func TestAMessageShowsTheCellAndTheWayOut(t *testing.T) {
	t.Parallel()
	const header = "name,address,latitude,longitude,active\n"
	for content, want := range map[string]string{
		header + "Osu,1 Street,\"5,5571\",1,\n":              `a number with a decimal point, such as 5.5571; it is "5,5571"`,
		header + "Osu,1 Street,91,1,\n":                      `-90 to 90 degrees; it is "91"`,
		header + "Osu,1 Street,,,maybe\n":                    `true or false; empty counts as true; it is "maybe"`,
		header + "Osu,1,,,\n":                                `2 to 500 characters; it has 1; it is "1"`,
		header + strings.Repeat("x", 200) + ",1 Street,,,\n": `1 to 128 characters; it has 200; it is "` + strings.Repeat("x", 40) + `..."`,
		"name,addressOsu,1 Street":                           "--data-binary @FILE",
		strings.Repeat("name,address", 100):                  "--data-binary @FILE",
		"name;address\nOsu;1 Street;Accra\n":                 `put cells that have a ";" in them in quotes`,
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
