package overlay

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Mutant is a bug injected on purpose. Its edit looks at the variable MUTANT, in the edited
// program alone.
type Mutant struct {
	Name  string // in MUTANT
	Tests string // that have to fail, separated by |
	Told  string // by them
	Edit  Edit
}

// Bug is a mutant by an edit of one place.
func Bug(name, tests, told, file, old, edited string) Mutant {
	return Mutant{Name: name, Tests: tests, Told: told, Edit: Edit{File: file, Old: old, New: edited}}
}

// Edits are those of all mutants, and what they need besides.
func Edits(of []Mutant, besides ...Edit) []Edit {
	for _, m := range of {
		besides = append(besides, m.Edit)
	}
	return besides
}

// FindMutants builds the tests of a package, such as ./adapters/console, with the edits of all
// mutants, and fails where those that a mutant names do not find it, or find anything where
// there is none. Of subtests only those that match are run; empty: all.
func FindMutants(t *testing.T, pkg, subtests string, of []Mutant, edits []Edit) {
	t.Helper()
	binary, err := BuildTest(t.Context(), t.TempDir(), edits, pkg)
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, bug string, tests ...string) (string, error) {
		t.Helper()
		which := "^(" + strings.Join(tests, "|") + ")$"
		if subtests != "" {
			which += "/" + subtests
		}
		program := exec.CommandContext(t.Context(), binary, "-test.short", "-test.count=1", "-test.run", which) //nolint:gosec // built above
		program.Env = append(os.Environ(), "MUTANT="+bug)
		out, err := program.CombinedOutput()
		return string(out), err
	}
	var tests []string
	for _, m := range of {
		tests = append(tests, m.Tests)
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if out, err := run(t, m.Name, m.Tests); err == nil || !strings.Contains(out, m.Told) {
				t.Errorf("it is not found: %v\n%s", err, out)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if out, err := run(t, "", tests...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
