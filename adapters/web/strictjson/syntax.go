package strictjson

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError says why a body is not one clean JSON object of declared names.
type SyntaxError struct {
	Message    string // a sentence for people, with the position if there is one
	Line       int    // from 1
	Column     int    // from 1, in characters
	Field      string // path of a duplicate or undeclared name, otherwise empty
	Suggestion string // path of the declared field that was probably meant, or empty
	TooMany    bool   // valid as far as it was read, but larger than allowed
}

// Error returns the message. Compare the pointer with nil before turning it into an error: an
// error that holds a nil *SyntaxError is not nil.
func (e *SyntaxError) Error() string { return e.Message }

const whiteSpace = " \t\r\n"

// nextOffset returns where the next unread token begins.
func (p *parser) nextOffset() int {
	end := int(p.dec.InputOffset())
	return len(p.body) - len(bytes.TrimLeft(p.body[end:], whiteSpace+",:"))
}

// fail adds the position to a message: "what at line 7, column 3."
func (p *parser) fail(what string, offset int) *SyntaxError {
	before := p.body[:min(offset, len(p.body))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &SyntaxError{
		Message: what + " at line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column) + ".",
		Line:    line,
		Column:  column,
	}
}

func tooMany(message string) *SyntaxError {
	return &SyntaxError{Message: message, Line: 1, Column: 1, TooMany: true}
}

// notAnObject explains why the body does not begin with an object.
func (p *parser) notAnObject(k jsontext.Kind) *SyntaxError {
	if len(bytes.TrimLeft(p.body, whiteSpace)) == 0 {
		return &SyntaxError{Message: "The body is empty. Send a JSON object.", Line: 1, Column: 1}
	}
	if bytes.HasPrefix(p.body, []byte("\ufeff")) {
		return p.fail("Unexpected byte order mark", 0)
	}
	if k == jsontext.KindBeginArray {
		return p.wrongTop("an array")
	}
	// Read on, so that "nul" is called broken and not null.
	if _, err := p.dec.ReadValue(); err != nil {
		return p.translate(err)
	}
	switch k {
	case jsontext.KindNull:
		return p.wrongTop("null")
	case jsontext.KindString:
		return p.wrongTop("a string")
	case jsontext.KindNumber:
		return p.wrongTop("a number")
	}
	return p.wrongTop("a boolean")
}

func (p *parser) wrongTop(what string) *SyntaxError {
	at := len(p.body) - len(bytes.TrimLeft(p.body, whiteSpace))
	bad := p.fail("", at)
	bad.Message = "The body must be a JSON object, not " + what + "."
	return bad
}

func (p *parser) badTail(offset int) *SyntaxError {
	return p.fail("Unexpected content after the JSON object", offset)
}

func (p *parser) badName() *SyntaxError {
	return p.fail("Expected a field name in double quotes", p.nextOffset())
}

func (p *parser) tooDeep() *SyntaxError {
	return p.fail("JSON nests deeper than "+strconv.Itoa(MaxDepth)+" levels", p.nextOffset())
}

// escapedNUL finds the escape that made a NUL. An escaped backslash may come before u0000 and
// means something else, so it steps through escapes in pairs.
func (p *parser) escapedNUL(raw []byte, at int) *SyntaxError {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(raw[i+1:], []byte("u0000")) {
			at += i
			break
		}
		i++
	}
	return p.fail("Forbidden NUL character", at)
}

// translate turns the decoder's error into our messages.
func (p *parser) translate(err error) *SyntaxError {
	var bad *jsontext.SyntacticError
	switch {
	case !errors.As(err, &bad) || errors.Is(err, io.ErrUnexpectedEOF):
		return p.fail("JSON ends early", len(p.body))
	case errors.Is(err, jsontext.ErrDuplicateName):
		field := joinField(p.openPath().String(), cleanName(bad.JSONPointer.LastToken()))
		e := p.fail("Duplicate field "+field, int(bad.ByteOffset))
		e.Field = field
		return e
	}
	at := int(bad.ByteOffset)
	if start := p.nextOffset(); start < at && strings.IndexByte("ntf", p.body[start]) >= 0 {
		at = start // "name=x" is not null with a wrong second letter
	}
	return p.fail(p.describe(at), at)
}

// describe says what is wrong with the character at an offset.
func (p *parser) describe(at int) string {
	if at >= len(p.body) {
		return "JSON ends early"
	}
	c, n := utf8.DecodeRune(p.body[at:])
	start := p.nextOffset()
	inString := start < at && p.body[start] == '"'
	switch {
	case c == utf8.RuneError && n == 1:
		return "Invalid UTF-8"
	case c == 0:
		return "Forbidden NUL character"
	case inString && c == '\\':
		return badEscape(p.body[at:])
	case inString:
		return "Unescaped control character " + codePoint(c)
	case !unicode.IsPrint(c):
		return "Unexpected character " + codePoint(c)
	}
	return "Unexpected character " + string(c)
}

// badEscape distinguishes half a surrogate pair from an escape that JSON does not have.
func badEscape(b []byte) string {
	if len(b) >= 6 && b[1] == 'u' {
		if _, err := strconv.ParseUint(string(b[2:6]), 16, 16); err == nil {
			return "Lone surrogate " + string(b[:6])
		}
	}
	return "Invalid escape sequence"
}

func codePoint(c rune) string {
	hex := strings.ToUpper(strconv.FormatInt(int64(c), 16))
	return "U+" + strings.Repeat("0", max(0, 4-len(hex))) + hex
}

// openPath returns the path of the object or array being read.
func (p *parser) openPath() *path {
	var at *path
	for i := 1; i < p.depth; i++ {
		parent, here := p.frames[i-1], &p.nodes[p.frames[i].node]
		step := &path{up: at, index: isMember}
		if p.nodes[parent.node].kind == kindArray {
			step.index = int(parent.items) - 1
		} else {
			step.name = p.text(here.nameAt, here.nameLen)
		}
		at = step
	}
	return at
}
