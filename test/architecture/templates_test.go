package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	quoted = regexp.MustCompile("\"[^\"]*\"|`[^`]*`")
	member = regexp.MustCompile(`\.([A-Z]\w*)`)
)

// A template that calls a method fails when that part of a page is shown, which may be rarely.
func TestTemplatesCallNoMethods(t *testing.T) {
	t.Parallel()
	dir := root(t)
	fields, methods, err := membersOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(dir, "adapters"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".html" {
			return err
		}
		text, err := os.ReadFile(file)
		for _, name := range called(string(text), fields, methods) {
			t.Errorf("%s calls the method %s; give the view a field, or the template a function", file, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestATemplateThatCallsAMethodIsFound(t *testing.T) {
	t.Parallel()
	fields, methods, err := membersOf(root(t))
	if err != nil {
		t.Fatal(err)
	}
	const page = `{{if .At.IsZero}}{{.Title}}{{else}}{{utc "Mon.Day" .At}}{{(.At.UTC).Format "15:04"}}{{end}} .String`
	if got := fmt.Sprint(called(page, fields, methods)); got != "[IsZero UTC Format]" {
		t.Errorf("found %s, want [IsZero UTC Format]", got)
	}
}

// called lists what a template uses that is no field of any type, and the method of one.
func called(text string, fields, methods map[string]bool) (names []string) {
	for _, a := range action.FindAllString(text, -1) {
		for _, m := range member.FindAllStringSubmatch(quoted.ReplaceAllString(a, ""), -1) {
			if methods[m[1]] && !fields[m[1]] {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// membersOf lists the names of all exported fields and methods of the program's types, and
// the methods of a time.
func membersOf(dir string) (fields, methods map[string]bool, err error) {
	fields, methods = map[string]bool{}, map[string]bool{}
	for i := range reflect.TypeFor[time.Time]().NumMethod() {
		methods[reflect.TypeFor[time.Time]().Method(i).Name] = true
	}
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && file != dir && (entry.Name() == "test" || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.IsExported() {
					methods[n.Name.Name] = true
				}
			case *ast.StructType:
				for _, f := range n.Fields.List {
					for _, name := range f.Names {
						fields[name.Name] = true
					}
					if len(f.Names) == 0 {
						fields[embedded(f.Type)] = true
					}
				}
			}
			return true
		})
		return nil
	})
	return fields, methods, err
}

// embedded is the name of a field that is a type.
func embedded(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embedded(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}
