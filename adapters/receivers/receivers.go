// Package receivers embeds programs that receive webhooks: verify the signature, keep each event
// once, and answer. The documentation shows them whole, the portal shows the part of a step whose
// check failed, and test/docs runs them.
package receivers

import (
	"embed"
	"regexp"
	"strings"
)

// Files holds the programs. Names in Go end in .go.txt, since the others would be part of this
// package.
//
//go:embed receive.* receive_*
var Files embed.FS

// Languages lists the programs that need no framework, with their languages.
var Languages = []struct{ Name, File string }{
	{"PHP", "receive.php"}, {"Python", "receive.py"}, {"Node", "receive.mjs"}, {"Go", "receive.go.txt"},
}

// Text returns a program.
func Text(file string) string {
	text, err := Files.ReadFile(file)
	if err != nil {
		panic(err) // the file is embedded
	}
	return strings.TrimSpace(string(text))
}

// stepComment matches the comment with which a step of the verification begins.
var stepComment = regexp.MustCompile(`^([ \t]*)(?://|#) ([A-Z][a-z]+): `)

// Part returns the code of a step (headers, timestamp, body or secret), without its indentation: up
// to an empty line, or to the end of its block.
func Part(file, step string) string {
	var part []string
	var indentation string
	for line := range strings.SplitSeq(Text(file), "\n") {
		if part == nil {
			m := stepComment.FindStringSubmatch(line)
			if m == nil || !strings.EqualFold(m[2], step) {
				continue
			}
			indentation = m[1]
		}
		code, within := strings.CutPrefix(line, indentation)
		if line == "" || !within {
			break
		}
		part = append(part, code)
	}
	if part == nil {
		panic(file + " has no step " + step)
	}
	return strings.Join(part, "\n")
}
