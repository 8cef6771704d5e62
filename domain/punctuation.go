package domain

import (
	"strings"
	"unicode"
)

// apostrophes are the characters that are typed or printed for an apostrophe.
const apostrophes = "'`´ʹʻʼʽˈ‘’‛′＇"

// FoldPunctuation returns a text in which all apostrophes are ', all hyphens and dashes are -, and
// each run of white space is one space. There is none at its ends. Phones write other ones than the
// keyboards of desks, so a search compares texts in this form.
func FoldPunctuation(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(apostrophes, r):
			return '\''
		case unicode.Is(unicode.Pd, r), r == '\u2212': // the minus sign
			return '-'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}
