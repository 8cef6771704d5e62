package strictjson

import (
	"strconv"
	"unicode/utf8"
)

// TextRule is a rule for Text: Length, Multiline, AnyCharacter or Fit.
type TextRule struct {
	fault                   func(string) string // nil: accepts everything
	length                  limits
	bounded, multiline, any bool
}

// NumberRule is a rule for Number and Integer: Between.
type NumberRule struct{ least, most float64 }

// CountRule is a rule for Array: Count.
type CountRule struct{ limits limits }

// Length limits the characters (code points) of a text after trimming, both ends included. A
// least of 0 also allows blank text.
func Length(least, most int) TextRule { return TextRule{length: limits{least, most}, bounded: true} }

// Multiline permits line feeds, carriage returns and tabs within a text.
func Multiline() TextRule { return TextRule{multiline: true} }

// AnyCharacter permits all characters, also control characters: for a text that is compared and
// neither stored nor shown.
func AnyCharacter() TextRule { return TextRule{any: true} }

// Fit refuses a text as invalid_format if fault returns a message. The message must not repeat
// a character that is not printable.
func Fit(fault func(text string) string) TextRule { return TextRule{fault: fault} }

// Between limits a number, both ends included.
func Between(least, most float64) NumberRule { return NumberRule{least, most} }

// Count limits the items of an array, both ends included. Too few are too_short, too many
// too_long.
func Count(least, most int) CountRule { return CountRule{limits{least, most}} }

// limits holds the least and the most of something that is counted.
type limits struct{ least, most int }

// check checks the length or the fault of a text.
func (r TextRule) check(s string) (Code, string) {
	if r.fault != nil {
		if message := r.fault(s); message != "" {
			return CodeInvalidFormat, message
		}
	}
	if !r.bounded {
		return "", ""
	}
	return r.length.judge(utf8.RuneCountInString(s), "character", "characters")
}

// judge returns no code if n is within the limits.
func (l limits) judge(n int, one, many string) (Code, string) {
	var code Code
	switch {
	case n < l.least:
		code = CodeTooShort
	case n > l.most:
		code = CodeTooLong
	default:
		return "", ""
	}
	want, noun := "", many
	switch {
	case l.least == l.most:
		want = "exactly "
	case l.least == 0:
		want = "at most "
	default:
		want = strconv.Itoa(l.least) + " to "
	}
	if l.most == 1 {
		noun = one
	}
	return code, "must have " + want + strconv.Itoa(l.most) + " " + noun + "; it has " + strconv.Itoa(n)
}

func inRange(x float64, rules []NumberRule) bool {
	for _, r := range rules {
		if x < r.least || x > r.most {
			return false
		}
	}
	return true
}

// String returns the rule as the beginning of a sentence.
func (r NumberRule) String() string {
	return "must be between " + formatBound(r.least) + " and " + formatBound(r.most)
}

func formatBound(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
