package clients

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is generated without npm is compared here too, so that `go test` alone
// shows that it is stale.
func TestWhatIsCommittedIsWhatTheDescriptionSays(t *testing.T) {
	t.Parallel()
	fresh := t.TempDir()
	output(t, "", nil, "go", "run", "./generate", "-description", "../../adapters/httpapi/openapi.yaml", "-out", fresh)
	made := files(t, fresh)
	if len(made) < 50 {
		t.Fatalf("%d files were made, which is too few: %v", len(made), made)
	}
	for _, name := range made {
		want, err := os.ReadFile(filepath.Join(fresh, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(adapters, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the description says, run make generate (%v)", name, err)
		}
	}
	for _, name := range files(t, filepath.Join(adapters, "bruno")) {
		if !slices.Contains(made, filepath.Join("bruno", name)) {
			t.Errorf("bruno/%s belongs to nothing in the description, run make generate", name)
		}
	}
}

// The folder of the client in Go is meant to be copied: it has to build alone.
func TestTheClientInGoBuildsWhereverItIsCopied(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(adapters, "go", "waybillapi")
	for _, name := range files(t, source) {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "waybillapi", name), string(text))
	}
	write(t, filepath.Join(dir, "go.mod"), "module integrator\n\ngo 1.24\n")
	t.Chdir(dir)
	output(t, "", []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off"}, "go", "vet", "./...")
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		name, err := filepath.Rel(dir, file)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
