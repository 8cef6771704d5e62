package domain

import (
	"strings"
	"unicode"
)

// What keyboards and programs write for an apostrophe and for a hyphen. The lists are short, because
// a database compares each character of a row with all of them.
const (
	apostrophes = "'`´ʻʼ‘’‛′＇"
	hyphens     = "-‐‑‒–—―−﹣－" // with dashes and the minus sign
)

// FoldPunctuation returns a text in which all apostrophes are ', all hyphens and dashes are -, and
// each run of white space is one space. There is none at its ends. Phones write other ones than the
// keyboards of desks, so a search compares texts in this form.
func FoldPunctuation(text string) string {
	return strings.Map(PlainPunctuation, strings.Join(strings.Fields(text), " "))
}

// PlainPunctuation returns the character that FoldPunctuation writes for one.
func PlainPunctuation(r rune) rune {
	switch {
	case strings.ContainsRune(apostrophes, r):
		return '\''
	case strings.ContainsRune(hyphens, r):
		return '-'
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}
