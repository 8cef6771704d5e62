package architecture

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// outside matches what the core knows nothing of: calls of the API, commands, and
// settings by the names of their variables. An edge says those.
var outside = regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE) /|/v1/|\bwaybill [a-z]+|\bWAYBILL_`)

// core are the layers without an edge.
var core = []string{"domain", "ports", "application"}

func TestTheCoreNamesNoCallCommandOrSetting(t *testing.T) {
	for _, layer := range core {
		for _, found := range matches(t, filepath.Join(root(t), layer), outside) {
			t.Errorf("%s: say what happened; an edge says which call, command or setting mends it", found)
		}
	}
}

// header matches a text of a program that names the header a caller repeats a call with.
var header = regexp.MustCompile(`"[^"]*Idempotency-Key`)

func TestNoUseCaseNamesTheHeaderOfAKey(t *testing.T) {
	for _, found := range matches(t, filepath.Join(root(t), "application"), header) {
		t.Errorf("%s: an edge says how a call is tried again", found)
	}
}

// sends matches what sends a request without the client that is published, and what
// verifies a webhook without it.
var sends = regexp.MustCompile(`http\.NewRequest|\.(Get|Post|Head|Do)\((req|r)\b|crypto/hmac|domain\.SignWebhook`)

func TestAnIntegratorsCommandsCallByThePublishedClient(t *testing.T) {
	for _, found := range matches(t, filepath.Join(root(t), "adapters", "cli", "integrator"), sends) {
		t.Errorf("%s: waybillapi sends and verifies here, as for every integrator", found)
	}
}

// A person reads an error in a terminal or a log: it says what happened, and a
// package's name is none of that. What integrators install names itself.
func TestNoErrorBeginsWithTheNameOfItsPackage(t *testing.T) {
	sources, err := load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, s := range sources {
		folders[s.pkg] = true
	}
	for folder := range folders {
		if strings.HasPrefix(folder, clients) || strings.HasPrefix(folder, "test") {
			continue
		}
		begins := regexp.MustCompile(`(Errorf|errors\.New|panic)\("` + regexp.QuoteMeta(filepath.Base(folder)) + `: `)
		for _, found := range matches(t, filepath.Join(root(t), filepath.FromSlash(folder)), begins) {
			t.Errorf("%s: begin with what happened", found)
		}
	}
}

func TestWordsOfAnEdgeAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"call.go":          "package x\n\n// stop is what DELETE /deliveries/{id} does.\n",
		"path.go":          "package x\n\nconst a = \"https://api.example/v1/x\"\n",
		"command.go":       "package x\n\nconst b = \"Try waybill listen.\"\n",
		"setting.go":       "package x\n\nconst c = \"is WAYBILL_SECRET_KEY set?\"\n",
		"fine.go":          "package x\n\nimport _ \"waybill/domain\"\n\n// Get answers for Waybill.\n",
		"ignored_test.go":  "package x\n\nconst d = \"WAYBILL_X\"\n",
		"mocks/ignored.go": "package mocks\n\nconst d = \"WAYBILL_X\"\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found := matches(t, dir, outside); len(found) != 4 {
		t.Errorf("found %q, want one in each of call, path, command and setting", found)
	}
}

// matches are the lines of the Go files below a folder that a pattern matches, each
// with its place. Tests and mocks are passed over.
func matches(t *testing.T, folder string, pattern *regexp.Regexp) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "mocks":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if pattern.MatchString(line) {
				found = append(found, fmt.Sprintf("%s:%d: %s", file, i+1, strings.TrimSpace(line)))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
