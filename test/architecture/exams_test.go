package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unexamined lists packages beside the adapters of a port that are none themselves, and
// adapters whose exam is held where they are joined with what they need.
var unexamined = map[string]string{
	"adapters/pricing/pricingserver": "serves prices to other processes",
	"adapters/routing/metered":       "counts, and changes no answer",
	"adapters/ratelimit/guarded":     "examined in cmd/waybill with what it guards",
}

func TestEveryAdapterTakesTheExamOfItsPort(t *testing.T) {
	sources, err := load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	exams, takes := map[string]bool{}, map[string][]string{}
	for _, s := range sources {
		if port, isExam := strings.CutPrefix(s.pkg, "test/conformance/"); isExam && port != "toystore" {
			exams[port] = true
		}
		takes[s.pkg] = append(takes[s.pkg], s.imports...)
	}
	for pkg, imports := range takes {
		port, below, _ := strings.Cut(strings.TrimPrefix(pkg, "adapters/"), "/")
		if !strings.HasPrefix(pkg, "adapters/") || !exams[port] || below == "" || strings.Contains(below, "/") || unexamined[pkg] != "" {
			continue
		}
		if !slices.Contains(imports, module+"/test/conformance/"+port) {
			t.Errorf("%s: no test of it calls Examine of test/conformance/%s", pkg, port)
		}
	}
	for pkg := range unexamined {
		if takes[pkg] == nil {
			t.Errorf("%s is gone; take it out of the table", pkg)
		}
	}
}

// doubles are what test/stage has for all tests.
var doubles = map[string]*regexp.Regexp{
	"Log":      regexp.MustCompile(`sync\.Mutex\n\t\w+ +(bytes\.Buffer|strings\.Builder)\n\}`),
	"Digester": regexp.MustCompile(`\) Digest\(\w+ string\) \[32\]byte +\{ return sha256\.Sum256\(\[\]byte\(\w+\)\) \}`),
	"Unheard":  regexp.MustCompile(`\) Announce\(context\.Context, domain\.ID\) +\{\}`),
}

func TestADoubleOfTheStageIsWrittenOnce(t *testing.T) {
	sources, err := load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if !s.test {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(s.file)))
		if err != nil {
			t.Fatal(err)
		}
		for name, double := range doubles {
			if double.Match(text) {
				t.Errorf("%s: writes stage.%s again", s.file, name)
			}
		}
	}
}
