package domain

import (
	"fmt"
	"strings"
	"unicode"
)

// TextFault describes what is wrong with a text that other people see on one line, such as the name
// of a person, a business or a pickup location. It returns an empty text where nothing is wrong.
// Two texts that look alike must be alike, and no text may turn the letters around it. So controls,
// line ends and invisible characters are refused, such as those that turn the direction of writing,
// zero-width spaces, soft hyphens, byte order marks and tags.
//
// The joiners U+200C and U+200D are accepted after a letter of a script that is spelled with them,
// such as Persian, Hindi or Malayalam: names there are wrong without. U+200D and U+FE0F are
// accepted after a symbol, where they make the picture of an emoji. Text that was stored before
// this rule stays as it is.
func TextFault(text string) string {
	var before rune
	n := 0
	for _, r := range text {
		n++
		if isUnseen(r) && !joins(before, r) {
			return fmt.Sprintf("must not have invisible or control characters; character %d is %U", n, r)
		}
		before = r
	}
	return ""
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

// MunicipalityFault checks a municipality, which the public tracking page shows. It may have only
// letters, their marks, digits, spaces and -'.().
func MunicipalityFault(text string) string {
	n := 0
	for _, r := range text {
		n++
		if isUnseen(r) || !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune(" -'.()", r) {
			return fmt.Sprintf("may have letters, digits, spaces and -'.() only; character %d is %U", n, r)
		}
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

// isUnseen reports whether a character is invisible. The letters among them are the fillers of
// Hangul and vowels of Khmer that are never written.
func isUnseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	emojiPresentation  = '\ufe0f'
)

// joining lists the scripts whose letters take another shape beside a joiner.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Bengali, unicode.Devanagari, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada,
	unicode.Malayalam, unicode.Mongolian, unicode.Oriya, unicode.Sinhala, unicode.Syriac, unicode.Tamil, unicode.Telugu,
}

// joins reports whether r is a joiner that changes how the character before it is drawn.
func joins(before, r rune) bool {
	switch r {
	case zeroWidthNonJoiner, zeroWidthJoiner:
		if unicode.In(before, unicode.L, unicode.M) && !isUnseen(before) && unicode.In(before, joining...) {
			return true
		}
	case emojiPresentation:
	default:
		return false
	}
	return r != zeroWidthNonJoiner && unicode.In(before, unicode.So, unicode.Sk) || r == zeroWidthJoiner && before == emojiPresentation
}
