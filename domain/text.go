package domain

import (
	"fmt"
	"strings"
	"unicode"
)

// TextFault describes what is wrong with a text that other people see on one line, such as the name
// of a person, a business or a pickup location. It returns an empty text where nothing is wrong.
// Controls, line ends and the characters that turn the direction of writing are refused: no text may
// turn the letters around it. Other invisible characters are accepted, since names in many languages
// need some of them.
func TextFault(text string) string { return textFault(text, false) }

// textFault checks a text, which may have line ends and tabs where it is multiline.
func textFault(text string, multiline bool) string {
	n := 0
	for _, r := range text {
		n++
		switch {
		case multiline && (r == '\n' || r == '\r' || r == '\t'):
		case unicode.IsControl(r):
			return fmt.Sprintf("must not have control characters; character %d is %U", n, r)
		case turnsDirection(r):
			return fmt.Sprintf("must not have characters that turn the direction of writing; character %d is %U", n, r)
		}
	}
	return ""
}

// turnsDirection reports whether a character formats bidirectional text.
func turnsDirection(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// CompanyName is the name of the delivery company on pages that show who did something.
const CompanyName = "Delivery company"

// lookalikes replaces letters of other scripts that look like those of CompanyName.
var lookalikes = strings.NewReplacer("а", "a", "с", "c", "ԁ", "d", "е", "e", "і", "i", "ӏ", "l", "м", "m", "о", "o", "ο", "o", "р", "p",
	"ν", "v", "ѵ", "v", "у", "y")

// PersonNameFault checks the name of a person, as TextFault does. It also refuses what passes for
// CompanyName, in any case and with anything between its letters.
func PersonNameFault(text string) string {
	if fault := TextFault(text); fault != "" {
		return fault
	}
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) {
				return -1
			}
			return r
		}, lookalikes.Replace(strings.ToLower(s)))
	}
	if strings.Contains(letters(text), letters(CompanyName)) {
		return "must not be that of the delivery company, which pages and emails name so"
	}
	return ""
}

// printableFault checks a text that programs choose and people may read.
func printableFault(text string) string {
	for i, r := range []rune(text) {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("may hold printable characters only; character %d is %U", i+1, r)
		}
	}
	return ""
}
