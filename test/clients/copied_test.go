package clients

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
