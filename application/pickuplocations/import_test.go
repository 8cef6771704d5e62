package pickuplocations_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/application/pickuplocations"
	"waybill/domain"
	"waybill/test/stage"
)

var by = domain.AuditActor{Name: "command:ama"}

// numbers takes what begins with +.
type numbers struct{ stage.FoldCase }

func (numbers) PhonePart(string) (string, bool) { return "", false }

func (numbers) PhoneNumber(typed string) (domain.PhoneNumber, bool) {
	return domain.PhoneNumber(typed), strings.HasPrefix(typed, "+")
}

// read is what a table holds, a line each, or what is wrong with it.
func read(content string) string {
	rows, err := pickuplocations.ReadTable([]byte(content), numbers{})
	var wrong pickuplocations.TableErrors
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
		"all columns":              {header + "Osu,1 Street,+1,5.5,-0.1,true\n", `2 "Osu" "1 Street" +1 5.5/-0.1 true`},
		"only what is needed":      {"address,name\n1 Street,Osu", `2 "Osu" "1 Street"  - -`},
		"a byte order mark, CRLF":  {"\xef\xbb\xbf" + "Name, Address\r\nOsu,1 Street\r\n", `2 "Osu" "1 Street"  - -`},
		"quotes, commas, lines":    {"name,address\n\"The \"\"Osu\"\"\",\"1 Street,\nAccra\"\nTema,2 Road\n", `2 "The \"Osu\"" "1 Street,\nAccra"  - -; 4 "Tema" "2 Road"  - -`},
		"semicolons":               {"name;address;latitude;longitude\nOsu;1 Street, Accra;5,5571;-0.1\n", `2 "Osu" "1 Street, Accra"  5.5571/-0.1 -`},
		"semicolons in cells":      {"name,address\nOsu,1 Street; Accra\n", `2 "Osu" "1 Street; Accra"  - -`},
		"both in the first line":   {"name,address;\nOsu,1 Street\n", "!1 not_allowed; !1 address required"},
		"commas in numbers":        {header + "Osu,1 Street,,\"5,5571\",-0.1,\n", "!2 latitude invalid_type"},
		"too many commas":          {"name;address;latitude;longitude\nOsu;1 Street;1,234,5;1.234,5\n", "!2 latitude invalid_type; !2 longitude invalid_type"},
		"rows without any text":    {"name,address\n,\nOsu,1 Street\n , \n,,,\n", `3 "Osu" "1 Street"  - -`},
		"nothing but such rows":    {"name,address\n,\n", "!1 required"},
		"no line break":            {"name,addressOsu,1 Street", "!1 required"},
		"empty lines between":      {"name,address\n\nOsu,1 Street\n\n", `3 "Osu" "1 Street"  - -`},
		"switched off":             {header + "Osu,1 Street,,,,No\n", `2 "Osu" "1 Street"  - false`},
		"nothing":                  {"", "!1 required"},
		"the first line alone":     {header, "!1 required"},
		"a strange column":         {"name,address,lat\nOsu,1 Street,5\n", "!1 not_allowed"},
		"a column twice":           {"name,address,name\n", "!1 name not_allowed"},
		"no address":               {"name\nOsu\n", "!1 address required"},
		"too few cells":            {"name,address\nOsu\nTema,2 Road\n", "!2 invalid_format"},
		"half a position":          {header + "Osu,1 Street,,5.5,,\n", "!2 longitude required"},
		"positions out of range":   {header + "Osu,1 Street,,90.1,-180.1,\n", "!2 latitude out_of_range; !2 longitude out_of_range"},
		"positions that are none":  {header + "Osu,1 Street,,NaN,0x1p4,\n", "!2 latitude invalid_type; !2 longitude invalid_type"},
		"infinitely far":           {header + "Osu,1 Street,,Inf,1,\n", "!2 latitude out_of_range"},
		"everything at once":       {header + ",x,12,a,,maybe\n", "!2 name required; !2 address too_short; !2 contact invalid_format; !2 latitude invalid_type; !2 longitude required; !2 active not_allowed"},
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
		_, err := pickuplocations.ReadTable([]byte(content), numbers{})
		if err == nil || !strings.HasPrefix(err.Error(), "1 problem in the table") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", content, err, want)
		}
	}
	if _, err := pickuplocations.ReadTable([]byte(header+",,1,1,\n"), numbers{}); !strings.HasPrefix(err.Error(), "2 problems in the table") {
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
	if rows, err := pickuplocations.ReadTable([]byte(table(10_000)), numbers{}); err != nil || len(rows) != 10_000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if got := read(table(10_001)); got != "!10002 too_long" {
		t.Error(got)
	}
	if got := read(table(1) + strings.Repeat("\n", 5<<20)); got != "!1 too_long" {
		t.Error(got)
	}
}

func (s *scene) load(t *testing.T, dryRun bool, content string) pickuplocations.Imported {
	t.Helper()
	rows, err := pickuplocations.ReadTable([]byte(content), numbers{})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	done, err := s.Import(t.Context(), by, s.tenant, rows, dryRun, func() { told++ })
	if err != nil || told != len(rows) {
		t.Fatalf("%d of %d rows told, %v", told, len(rows), err)
	}
	return done
}

func (s *scene) kept(t *testing.T) []domain.AuditEntry {
	t.Helper()
	entries, err := s.Store.Read().Audit.List(t.Context(), domain.AuditFilter{}, domain.PageRequest{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestTheSameTableAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const content = "name,address,contact,latitude,longitude,active\nOsu,1 Street,+1,5.5,-0.1,\nTema,2 Road,,,,no\n"
	if done := s.load(t, true, content); done.Created != 2 || len(done.Incomplete) != 1 || len(s.all(t)) != 0 || len(s.kept(t)) != 0 {
		t.Errorf("a dry run: %+v", done)
	}
	if done := s.load(t, false, content); done.Created != 2 || done.Incomplete[0].Line != 3 || done.Incomplete[0].Location.Name != "Tema" {
		t.Errorf("the first time: %+v", done)
	}
	before := s.all(t)
	s.Clock.GoOn(time.Hour)
	if done := s.load(t, false, content); done.Unchanged != 2 || done.Created+done.Updated != 0 || len(done.Incomplete) != 1 {
		t.Errorf("the second time: %+v", done)
	}
	if !cmp.Equal(before, s.all(t)) || len(s.kept(t)) != 1 {
		t.Errorf("%v became %v", before, s.all(t))
	}
	// A row fills in what it says, and leaves what it says nothing about.
	if done := s.load(t, false, "name,address,contact,latitude,longitude\nTema,2 Road,+2,,\nOsu,1 Street,,6.5,-0.1\n"); done.Updated != 2 || len(done.Incomplete) != 1 {
		t.Errorf("completed: %+v", done)
	}
	for _, l := range s.all(t) {
		if l.Name == "Tema" && (l.Contact != "+2" || l.Active) || l.Name == "Osu" && (l.Contact != "+1" || l.Coordinates.Latitude != 6.5) {
			t.Errorf("%+v", l)
		}
	}
	entry := s.kept(t)[0]
	if entry.Action != domain.ActionPickupImport || entry.Target != s.tenant.BusinessID || entry.Actor != by || entry.Details["updated"] != "2" {
		t.Errorf("%+v", entry)
	}
}

func TestTablesThatAreImportedAtOnceDoubleNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	rows, err := pickuplocations.ReadTable([]byte("name,address\nOsu,1 Street\nTema,2 Road\n"), numbers{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := s.Import(t.Context(), by, s.tenant, rows, false, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found := s.all(t); len(found) != 2 {
		t.Errorf("%d locations", len(found))
	}
}

func TestAnImportForNobodyIsNotFound(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	nobody := domain.Tenant{BusinessID: s.IDs.ID(domain.PrefixBusiness), Environment: domain.Live}
	for _, dryRun := range []bool{true, false} {
		rows := []pickuplocations.Row{{Line: 2, Name: "Osu", Address: "1 Street"}}
		if _, err := s.Import(t.Context(), by, nobody, rows, dryRun, nil); !errors.Is(err, domain.ErrNotFound) {
			t.Error(err)
		}
	}
}

func TestWhatOperatorsDoWithALocationIsKept(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	made, err := s.Add(t.Context(), by, s.tenant, pickuplocations.Form{Name: "Osu", Address: "1 Street", Active: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it changes nothing
		if _, err := s.Amend(t.Context(), by, s.tenant, made.ID, domain.PickupLocationChange{Name: new("Tema")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Amend(t.Context(), by, s.tenant, made.ID, domain.PickupLocationChange{Latitude: new(1.0)}); err == nil {
		t.Error("half a position was taken")
	}
	var got []domain.Action
	for _, e := range s.kept(t) {
		got = append(got, e.Action)
	}
	if want := "[pickup_location.update pickup_location.create]"; fmt.Sprint(got) != want {
		t.Errorf("kept %v, want %s", got, want)
	}
}
