package strictjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// maxEcho limits the characters of a client's own text that a message repeats.
const maxEcho = 64

// path leads to a value: deliveries[3].recipient. nil is the top level. It is a list towards
// the root, so that walking down costs nothing until an error needs the text.
type path struct {
	up    *path
	name  string
	index int // position in an array, or isMember
}

const isMember = -1

// String joins the steps. It cleans names, because a body may use any text as a name.
func (p *path) String() string {
	if p == nil {
		return ""
	}
	if p.index != isMember {
		return p.up.String() + "[" + strconv.Itoa(p.index) + "]"
	}
	return joinField(p.up.String(), cleanName(p.name))
}

// joinField adds a field to its prefix. An empty field means the prefix itself.
func joinField(prefix, field string) string {
	switch {
	case prefix == "":
		return field
	case field == "":
		return prefix
	}
	return prefix + "." + field
}

// cleanName cleans a member name like Shown. The name may be empty.
func cleanName(name string) string {
	if name == "" {
		return `""`
	}
	return Shown(name)
}

// Shown makes a client's text safe to repeat in a message: at most 64 characters. It escapes
// the characters that a terminal or a log viewer would act upon, as JSON does.
func Shown(s string) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n == maxEcho {
			b.WriteString("...")
			break
		}
		writeEscaped(&b, c)
		n++
	}
	return b.String()
}

func writeEscaped(b *strings.Builder, c rune) {
	switch {
	case unicode.IsPrint(c):
		b.WriteRune(c)
	case c == '\n':
		b.WriteString(`\n`)
	case c == '\r':
		b.WriteString(`\r`)
	case c == '\t':
		b.WriteString(`\t`)
	default:
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(b, `\u%04x`, unit)
		}
	}
}
