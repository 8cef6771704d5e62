package domain

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a password, in characters.
const (
	MinPassword = 12
	MaxPassword = 128
)

// commonPasswords holds the 10,000 most common passwords, and those of at least MinPassword
// characters among the next 20,000, from the lists of zxcvbn (MIT, see the top of the file), one a
// line and in small letters.
//
//go:embed common_passwords.txt
var commonPasswords string

// CheckPassword returns nil, or a VALIDATION_ERROR on "password" with the reason: its length, or
// that it is too common. Hardly any common password has twelve characters. So it also refuses a
// common password with digits and signs around it, and a repeated short piece.
func CheckPassword(password string, of Person) error {
	fault, code := "", FieldNotAllowed
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password) || strings.ContainsFunc(password, unicode.IsControl):
		fault, code = "a password has no control characters", FieldInvalidFormat
	case n < MinPassword:
		fault, code = fmt.Sprintf("a password has at least %d characters; this one has %d", MinPassword, n), FieldTooShort
	case n > MaxPassword:
		fault, code = fmt.Sprintf("a password has at most %d characters; this one has %d", MaxPassword, n), FieldTooLong
	case isCommonPassword(password):
		fault = "this password is among the first that are guessed; a few words that do not belong together are better"
	case strings.EqualFold(password, string(of.Email)) || strings.EqualFold(password, of.Name):
		fault = "the password is the name or the e-mail address"
	default:
		return nil
	}
	return Invalid(FieldError{Field: "password", Code: code, Message: fault})
}

func isCommonPassword(password string) bool {
	folded := strings.ToLower(password)
	word := strings.TrimFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, guess := range []string{folded, word, piece(folded), piece(word)} {
		// A repeated piece of up to three characters is easy to guess.
		if utf8.RuneCountInString(guess) <= 3 || strings.Contains(commonPasswords, "\n"+guess+"\n") {
			return true
		}
	}
	return false
}

// piece returns the shortest text that repeats to the whole text.
func piece(text string) string {
	for n := 1; n <= len(text)/2; n++ {
		if len(text)%n == 0 && text == strings.Repeat(text[:n], len(text)/n) {
			return text[:n]
		}
	}
	return text
}
