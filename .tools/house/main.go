// Command house prints how large the parts of the project are, its longest files and
// functions, and which files one more error code, scope, setting, vehicle, event,
// page or store touches.
//
// The places are found by an example: the files that name one of today's, which
// stands for the next. Tests and generated files are left out of them.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

// shown is how many rows each table has.
const shown = 15

// examples are one of each kind, by the texts that its definition and uses have.
var examples = []struct {
	kind, example string
	named         *regexp.Regexp
}{
	{"error code", "EXTERNAL_ID_CONFLICT", regexp.MustCompile(`EXTERNAL_ID_CONFLICT|\bCodeExternalIDConflict\b`)},
	{"scope", "recipients:write", regexp.MustCompile(`recipients:write|\bScopeRecipientsWrite\b`)},
	{"setting", "http_idle_timeout", regexp.MustCompile(`WAYBILL_HTTP_IDLE_TIMEOUT|"http_idle_timeout"|\.HTTPIdleTimeout\b`)},
	{"vehicle", "van", regexp.MustCompile(`\bvan\b|\bVan\b`)},
	{"event", "delivery.outsourced", regexp.MustCompile(`delivery\.outsourced|\bOutsourced\b`)},
	{"page", "going-live", regexp.MustCompile(`going-live`)},
	{"store", "gormstore", regexp.MustCompile(`/gormstore"|\bsqlite://|"sqlite"`)},
}

type file struct {
	name, folder string
	text         string
	lines        int
	test         bool
	generated    bool
}

type sized struct {
	name  string
	lines int
}

func main() {
	files, err := tracked()
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	packages(files)
	longest("Longest files", files, func(f file) []sized { return []sized{{f.name, f.lines}} })
	longest("Longest functions", files, functions)
	places(files)
}

// tracked are the files of the project that are text.
func tracked() ([]file, error) {
	names, err := exec.Command("git", "ls-files").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var files []file
	for _, name := range strings.Fields(string(names)) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, and not yet for git
		}
		files = append(files, file{
			name: name, folder: path.Dir(name), text: string(text), lines: strings.Count(string(text), "\n"),
			test:      strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/"),
			generated: generated.Match(text) || unwritten.MatchString(name),
		})
	}
	return files, nil
}

var (
	generated = regexp.MustCompile(`(?m)^(//|#|/\*\*)?.*(Code generated .* DO NOT EDIT|auto-generated)`)
	unwritten = regexp.MustCompile(`\.released\.yaml$|/schema\.ts$|^ports/mocks/|^\.tools/|^adapters/clients/|\.txt$`)
)

func (f file) isGo() bool { return strings.HasSuffix(f.name, ".go") }

func packages(files []file) {
	code, tests := map[string]int{}, map[string]int{}
	for _, f := range files {
		switch {
		case !f.isGo():
		case f.test:
			tests[f.folder] += f.lines
		default:
			code[f.folder] += f.lines
		}
	}
	var rows []sized
	total, tested := 0, 0
	for folder, lines := range code {
		rows = append(rows, sized{folder, lines})
		total += lines
	}
	for _, lines := range tests {
		tested += lines
	}
	fmt.Printf("Lines of Go: %d, and %d of tests\n\nLargest packages\n", total, tested)
	for _, row := range largest(rows) {
		fmt.Printf("  %6d  %s (tests: %d)\n", row.lines, row.name, tests[row.name])
	}
}

func longest(title string, files []file, of func(file) []sized) {
	var rows []sized
	for _, f := range files {
		if f.isGo() && !f.test && !f.generated {
			rows = append(rows, of(f)...)
		}
	}
	fmt.Printf("\n%s\n", title)
	for _, row := range largest(rows) {
		fmt.Printf("  %6d  %s\n", row.lines, row.name)
	}
}

func largest(rows []sized) []sized {
	slices.SortFunc(rows, func(a, b sized) int {
		return cmp.Or(cmp.Compare(b.lines, a.lines), cmp.Compare(a.name, b.name))
	})
	return rows[:min(len(rows), shown)]
}

// functions are those of a file; one that is not Go any more has none.
func functions(f file) []sized {
	places := token.NewFileSet()
	parsed, err := parser.ParseFile(places, f.name, f.text, 0)
	if err != nil {
		return nil
	}
	var rows []sized
	for _, d := range parsed.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			begin, end := places.Position(fn.Pos()).Line, places.Position(fn.End()).Line
			rows = append(rows, sized{fmt.Sprintf("%s:%d %s", f.name, begin, fn.Name.Name), end - begin + 1})
		}
	}
	return rows
}

func places(files []file) {
	fmt.Println("\nPlaces to touch for one more. Tests, test/ and clients are left out: search them for the example, and run make generate")
	for _, e := range examples {
		var touched []string
		for _, f := range files {
			if !f.test && !f.generated && e.named.MatchString(f.text) {
				touched = append(touched, f.name)
			}
		}
		fmt.Printf("  %s, as %s: %d\n    %s\n", e.kind, e.example, len(touched), strings.Join(touched, "\n    "))
	}
}
