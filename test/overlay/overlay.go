// Package overlay edits the source of a program for one build only: a change that a
// test needs is in no file of the program, and behind no switch.
package overlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Edit replaces a text that has to be in a file exactly once. Where Old is empty, New
// comes behind the end of the file, or is all of it where there is no such file.
type Edit struct {
	File     string // below the folder of go.mod, with slashes
	Old, New string
}

// Write stores the edited files in a directory, and a list of them for `go build
// -overlay`, whose path it returns.
func Write(root, dir string, edits []Edit) (string, error) {
	texts := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		if _, read := texts[path]; !read {
			text, err := os.ReadFile(path) //nolint:gosec // named by a test
			if err != nil && (e.Old != "" || !errors.Is(err, fs.ErrNotExist)) {
				return "", err
			}
			texts[path] = string(text)
		}
		switch n := strings.Count(texts[path], e.Old); {
		case e.Old == "":
			texts[path] += e.New
		case n != 1:
			return "", fmt.Errorf("%s has %d times, instead of once, what is to be replaced: %s", e.File, n, e.Old)
		default:
			texts[path] = strings.Replace(texts[path], e.Old, e.New, 1)
		}
	}
	list := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range texts {
		edited := filepath.Join(dir, strconv.Itoa(len(list.Replace))+"-"+filepath.Base(path))
		if err := os.WriteFile(edited, []byte(text), 0o600); err != nil {
			return "", err
		}
		list.Replace[path] = edited
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// Build builds the program with edits into a directory, and returns its path.
func Build(ctx context.Context, dir string, edits []Edit) (string, error) {
	binary := filepath.Join(dir, "waybill")
	return binary, build(ctx, dir, edits, "-o", binary, "./cmd/waybill")
}

// BuildTest builds the tests of a package with edits into a directory, and returns the
// path of the program that runs them.
func BuildTest(ctx context.Context, dir string, edits []Edit, pkg string) (string, error) {
	root, err := root(ctx)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "tests")
	return binary, run(ctx, root, dir, edits, "test", "-c", "-vet=off", "-o", binary, pkg)
}

// Compile compiles a package with edits, and keeps nothing but the overlay.
func Compile(ctx context.Context, dir string, edits []Edit, pkg string) error {
	return build(ctx, dir, edits, pkg)
}

func build(ctx context.Context, dir string, edits []Edit, args ...string) error {
	root, err := root(ctx)
	if err != nil {
		return err
	}
	return run(ctx, root, dir, edits, append([]string{"build"}, args...)...)
}

func run(ctx context.Context, root, dir string, edits []Edit, args ...string) error {
	list, err := Write(root, dir, edits)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args[:1], []string{"-overlay", list}, args[1:])...) //nolint:gosec // named by a test
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the edited program: %w\n%s", err, out)
	}
	return nil
}

// root is the folder of go.mod.
func root(ctx context.Context) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(mod))), err
}
