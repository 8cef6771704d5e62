package architecture

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// banned is a word that this code once had for a thing with a standard term.
type banned struct {
	use string // the standard term
	// in are beginnings of paths where the word has its ordinary meaning.
	in []string
	// identifiers is true for a word that is ordinary English in a comment.
	identifiers bool
	// comments is true for a word that is allowed in a name.
	comments bool
}

// glossary is the banned words, in small letters, or with the capital letter of a
// sentence's first word. Text in quotes is not searched: it may be data, or a sentence
// for customers.
var glossary = func() map[string]banned {
	words := map[string]banned{}
	add := func(b banned, forms ...string) {
		for _, form := range forms {
			words[form] = b
		}
	}
	add(banned{use: "listener, server or site"}, "door", "doors")
	add(banned{use: "admin", in: []string{"application/people/", "domain/client_address.go"}}, "office")
	add(banned{use: "audit record"}, "deed", "deeds")
	add(banned{use: "job kind, priority or per-address limit"}, "lane", "lanes")
	add(banned{use: "notify, notification", in: []string{"adapters/servicearea/"}}, "ring", "rings", "rang", "rung", "ringer", "ringers",
		"bell", "waker", "wakers")
	add(banned{use: "credentials"}, "knock", "knocks")
	add(banned{use: "anonymous or unknown caller"}, "stranger", "strangers")
	add(banned{use: "unknown caller, new customer", in: []string{"test/architecture/", "test/conformance/toystore/"}}, "newcomer", "newcomers")
	add(banned{use: "dependency, or another business", in: []string{
		"test/bench/", "test/faults/", // of noisy ones
		"adapters/portal/portal.go", "adapters/web/strictjson/shape.go",
	}}, "neighbour", "neighbours")
	add(banned{use: "loopback address"}, "selfish")
	add(banned{use: "tracing, watch or tail"}, "follower", "followers")
	add(banned{use: "fair share, permits", identifiers: true}, "turns")
	add(banned{use: "disable"}, "condemn", "condemned", "condemns")
	add(banned{use: "adopt"}, "heed", "heeds", "heeded")
	add(banned{use: "recently created", in: []string{"test/faults/"}}, "young", "acquainted")
	add(banned{use: "inject a fault, a mutant, insert a row"}, "plant", "plants", "planted", "planting")
	add(banned{use: "start a writer, waiter"}, "hire", "hires", "hired", "seat", "seats")
	add(banned{use: "a noun: the caller, the process, the worker, the row", comments: true, in: []string{
		"adapters/pages/pages.go",            // a field of this name
		"test/servers/process/user_linux.go", // the user of this name
	}}, "nobody", "somebody", "anybody", "whoever", "Who", "Whose", "Whom")
	return words
}()

func TestStandardTermsAreUsed(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(root(t), func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root(t) && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		path, err := filepath.Rel(root(t), file)
		if err != nil {
			return err
		}
		checked++
		for _, found := range unusual(filepath.ToSlash(path), text) {
			t.Error(found)
		}
		return nil
	})
	if err != nil || checked < 100 {
		t.Fatalf("%d files were read: %v", checked, err)
	}
}

func TestABannedWordIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		path, text string
		want       int
	}{
		"a function":                 {"domain/x.go", "package x\n\nfunc openDoor() {}\n", 1},
		"an exported type":           {"domain/x.go", "package x\n\ntype DeedOf struct{}\n", 1},
		"a comment":                  {"domain/x.go", "package x\n\n// X has a slow\n// lane.\nvar X int\n", 1},
		"the name of a file":         {"domain/office.go", "package x\n", 1},
		"part of another word":       {"domain/x.go", "package x\n\n// indoors, during, plane\nvar explanted, string1 int\n", 0},
		"text in quotes":             {"domain/x.go", "package x\n\nvar at = \"at the door\"\n", 0},
		"its ordinary meaning":       {"adapters/servicearea/x.go", "package x\n\nvar ring int\n", 0},
		"a verb in a comment":        {"domain/x.go", "package x\n\n// X turns a panic into an error.\nvar X int\n", 0},
		"the same word as a name":    {"domain/x.go", "package x\n\nvar turns int\n", 1},
		"two words of a single name": {"domain/x.go", "package x\n\nvar strangersDoor int\n", 2},
		"a word behind a capital":    {"domain/x.go", "package x\n\nfunc TestADoorThatIsOpen() {}\n", 1},
		"a pronoun as a subject":     {"domain/x.go", "package x\n\n// X is 1. Who asks, and\n// somebody else, gets it.\nvar X int\n", 2},
		"a relative pronoun":         {"domain/x.go", "package x\n\n// X is a person who asks.\nvar X int\n", 0},
		"a pronoun in a name":        {"domain/x.go", "package x\n\nvar errNoRecipient, Who int\n", 0},
	} {
		if found := unusual(c.path, []byte(c.text)); len(found) != c.want {
			t.Errorf("%s: found %q, want %d", name, found, c.want)
		}
	}
}

var (
	// word is a word of a name or of a line; a capital letter begins one.
	word = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	// afterCapitals finds a word behind a word of capital letters, such as Page in APage.
	afterCapitals = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// wordsOf splits a name, or a line, at spaces, signs and capital letters.
func wordsOf(text string) []string {
	return word.FindAllString(afterCapitals.ReplaceAllString(text, "$1 $2"), -1)
}

// unusual are the banned words among the names and comments of a Go file and in the
// file's own name, each with its place.
func unusual(path string, text []byte) (found []string) {
	check := func(line int, name string, inComment bool) {
		for _, word := range wordsOf(name) {
			b, known := glossary[word]
			if !known {
				b, known = glossary[strings.ToLower(word)]
			}
			if !known || inComment && b.identifiers || !inComment && b.comments {
				continue
			}
			ordinary := false
			for _, in := range b.in {
				ordinary = ordinary || strings.HasPrefix(path, in)
			}
			if !ordinary {
				found = append(found, fmt.Sprintf("%s:%d: %q: the standard term is %s", path, line, word, b.use))
			}
		}
	}
	check(1, strings.TrimSuffix(filepath.Base(path), ".go"), false)
	files := token.NewFileSet()
	file := files.AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		at, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return found
		case token.IDENT, token.COMMENT:
			for i, line := range strings.Split(literal, "\n") {
				check(file.Line(at)+i, line, kind == token.COMMENT)
			}
		}
	}
}

// metricText matches the name and the help of a metric where both are made.
var metricText = regexp.MustCompile(`"(waybill_[a-z_]+)",\s*(?:Help:\s*)?"([^"]+)"`)

// A person who writes an alert reads the help alone.
func TestHelpOfMetricsNamesItsUnitAndUsesStandardTerms(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(filepath.Join(root(t), "adapters"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range metricText.FindAllStringSubmatch(string(text), -1) {
			name, help := m[1], m[2]
			seen++
			if strings.Contains(name, "_seconds") && !strings.Contains(strings.ToLower(help), "seconds") && !strings.Contains(help, "Unix time") {
				t.Errorf("%s: %q names no unit", name, help)
			}
			for _, word := range wordsOf(help) {
				if b, known := glossary[strings.ToLower(word)]; known && !b.identifiers {
					t.Errorf("%s: %q: the standard term for %q is %s", name, help, word, b.use)
				}
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Fatalf("%d metrics were found: %v", seen, err)
	}
}
