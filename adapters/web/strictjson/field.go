package strictjson

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// field is the position of a value, present or not: a member or an array item.
type field struct {
	up    *path
	name  string
	index int
	value Value
	there bool // present and not null
	notes *[]Problem
}

func (f field) path() *path { return &path{up: f.up, name: f.name, index: f.index} }

func (f field) fail(code Code, message string) {
	if f.notes != nil {
		note(f.notes, Problem{f.path().String(), code, message})
	}
}

// is reports whether there is a value of one of two kinds to read. It records an error for a
// missing value or one of another kind.
func (f field) is(need Need, want string, a, b kind) bool {
	switch {
	case !f.there && need == Required:
		f.fail(CodeRequired, "this field is required")
		return false
	case !f.there:
		return false
	}
	k := f.value.kind()
	if k == a || k == b {
		return true
	}
	message := wrongKind(want, k)
	switch {
	case a == kindString && k == kindNumber: // not repeated: it may be a phone number
		message += "; put it in double quotes"
	case a == kindNumber || a == kindTrue:
		if sent := f.value.plain(); sent != "" {
			message += "; it is " + sent
		}
	}
	f.fail(CodeInvalidType, message)
	return false
}

func wrongKind(want string, got kind) string {
	return "must be " + want + ", not " + got.String()
}

func (f field) text(need Need, rules []TextRule) (string, bool) {
	if !f.is(need, "a string", kindString, kindString) {
		return "", false
	}
	s := strings.TrimSpace(f.value.text())
	multiline, anything := false, false
	for _, r := range rules {
		multiline, anything = multiline || r.multiline, anything || r.any
	}
	if message := controlCharacter(s, multiline); message != "" && !anything {
		f.fail(CodeInvalidFormat, message)
		return "", false
	}
	for _, r := range rules {
		if code, message := r.check(s); code != "" {
			f.fail(code, message)
			return "", false
		}
	}
	return s, true
}

// controlCharacter describes the first control character in a text. It returns "" when there is
// none.
func controlCharacter(s string, multiline bool) string {
	n := 0
	for _, c := range s {
		n++
		if !unicode.IsControl(c) || multiline && (c == '\n' || c == '\r' || c == '\t') {
			continue
		}
		return "must not have control characters; character " + strconv.Itoa(n) + " is " + codePoint(c)
	}
	return ""
}

func (f field) enum(need Need, allowed []string) (string, bool) {
	if !f.is(need, "a string", kindString, kindString) {
		return "", false
	}
	s := f.value.text()
	if !slices.Contains(allowed, s) {
		f.fail(CodeNotAllowed, "must be one of "+strings.Join(allowed, ", ")+`; it is "`+Shown(s)+`"`)
		return "", false
	}
	return s, true
}

func (f field) number(need Need, rules []NumberRule) (float64, bool) {
	if !f.is(need, "a number", kindNumber, kindNumber) {
		return 0, false
	}
	x, err := strconv.ParseFloat(f.value.text(), 64)
	if err != nil || !inRange(x, rules) {
		f.outOfRange(rules)
		return 0, false
	}
	if x == 0 {
		x = 0 // -0 would be shown as -0
	}
	return x, true
}

func (f field) integer(need Need, rules []NumberRule) (int, bool) {
	if !f.is(need, "a whole number", kindNumber, kindNumber) {
		return 0, false
	}
	n, err := Decimal{f.value.text()}.MinorUnits(0, math.MaxInt)
	if errors.Is(err, ErrTooPrecise) {
		f.fail(CodeInvalidType, "must be a whole number; it is "+Shown(f.value.text()))
		return 0, false
	}
	if err != nil || !inRange(float64(n), rules) {
		f.outOfRange(rules)
		return 0, false
	}
	return int(n), true
}

func (f field) outOfRange(rules []NumberRule) {
	want := "must be closer to 0"
	if len(rules) > 0 {
		want = rules[0].String()
	}
	f.fail(CodeOutOfRange, want+"; it is "+Shown(f.value.text()))
}

func (f field) decimal(need Need) (Decimal, bool) {
	if !f.is(need, "a number", kindNumber, kindNumber) {
		return Decimal{}, false
	}
	return Decimal{f.value.text()}, true
}

func (f field) boolean(need Need) (value, ok bool) {
	if !f.is(need, "true or false", kindTrue, kindFalse) {
		return false, false
	}
	return f.value.kind() == kindTrue, true
}

func (f field) object(need Need) *Reader {
	if !f.is(need, "an object", kindObject, kindObject) {
		return nil
	}
	return &Reader{at: f.path(), value: &f.value, notes: f.notes}
}

func (f field) array(need Need, rules []CountRule) *List {
	if !f.is(need, "an array", kindArray, kindArray) {
		return nil
	}
	n := f.value.count()
	for _, r := range rules {
		if code, message := r.limits.judge(n, "item", "items"); code != "" {
			f.fail(code, message)
			return nil
		}
	}
	l := &List{at: f.path(), notes: f.notes, items: make([]Value, 0, n)}
	for i := 1; i < len(f.value.nodes); i = f.value.next(i) {
		l.items = append(l.items, f.value.child(i))
	}
	return l
}
