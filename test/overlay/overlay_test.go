package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestEditsAreInTheOverlayAndNotInTheSource(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	source := filepath.Join(root, "a.go")
	if err := os.WriteFile(source, []byte("one two"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Write(root, dir, []Edit{{"a.go", "two", "2"}, {"a.go", "one", "1"}, {"a.go", "", " three"}, {"b/a.go", "", "new"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{source: "1 2 three", filepath.Join(root, "b", "a.go"): "new"} {
		if got, err := os.ReadFile(list.Replace[path]); err != nil || string(got) != want {
			t.Errorf("%s became %q, %v, want %q", path, got, err, want)
		}
	}
	if got, err := os.ReadFile(source); err != nil || string(got) != "one two" {
		t.Errorf("the source itself became %q, %v", got, err)
	}
}

func TestAnEditOfWhatIsNotThereOnceIsRefused(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("one one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range []Edit{{"a.go", "one", "1"}, {"a.go", "two", "2"}, {"b.go", "one", "1"}} {
		if _, err := Write(root, t.TempDir(), []Edit{e}); err == nil {
			t.Errorf("%+v was accepted", e)
		}
	}
}
