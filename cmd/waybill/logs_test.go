package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// keyAt is where the keys begin among what a method of a logger takes.
var keyAt = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "With": 0,
	"DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2,
}

// A key that is not listed shows as omitted, and is found missing when it is needed.
func TestEveryKeyThatIsLoggedMayBeShown(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, folder := range []string{"../../adapters", "../../application", "../../cmd"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, key := range loggedKeys(n) {
					if seen++; !loggable[key] {
						t.Errorf("%s logs %q, which shows as omitted: list it in loggable, if it can never be personal or secret", path, key)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 30 {
		t.Errorf("only %d keys were found", seen)
	}
}

// loggedKeys are the keys in a call of a logger: what is called log, Log or Logger.
func loggedKeys(n ast.Node) (keys []string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	name := ""
	switch logger := method.X.(type) {
	case *ast.Ident:
		name = logger.Name
	case *ast.SelectorExpr:
		name = logger.Sel.Name
	}
	first, known := keyAt[method.Sel.Name]
	if !known || !slices.Contains([]string{"log", "logger", "slog"}, strings.ToLower(name)) {
		return nil
	}
	for i := first; i < len(call.Args); i += 2 {
		literal, ok := call.Args[i].(*ast.BasicLit)
		if !ok {
			return keys // attributes, or a list
		}
		if key, err := strconv.Unquote(literal.Value); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}
