package domain

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// secretPrefixes lists the prefixes of secrets that people and programs hold.
var secretPrefixes = []string{livePrefix, testPrefix, OperatorTokenPrefix, secretPrefix}

// HoldsSecret reports whether a text contains a prefix that only API keys, operator tokens and
// signing secrets have. Such a text is neither logged nor shown.
func HoldsSecret(text string) bool {
	folded := strings.ToLower(text)
	return slices.ContainsFunc(secretPrefixes, func(prefix string) bool { return strings.Contains(folded, prefix) })
}

// SecretFault returns a message where a text holds a secret, or an empty text. It checks all free
// texts, since more people see them than may see secrets. It finds an API key or an operator token
// whose checksum is right, or a whole signing secret. No ordinary text is refused.
func SecretFault(text string) string {
	if !holdsWholeSecret(text) {
		return ""
	}
	return "must not have an API key, an operator token or a signing secret in it, which others would see"
}

func holdsWholeSecret(text string) bool {
	for _, prefix := range secretPrefixes {
		for rest := text; ; rest = rest[len(prefix):] {
			at := strings.Index(rest, prefix)
			if at < 0 {
				break
			}
			if rest = rest[at:]; beginsWithSecret(prefix, rest) {
				return true
			}
		}
	}
	return false
}

func beginsWithSecret(prefix, text string) bool {
	if prefix != secretPrefix {
		n := len(prefix) + secretLength + checksumLength
		return len(text) >= n && soundSecret(prefix, text[:n])
	}
	n := len(prefix) + base64.StdEncoding.EncodedLen(SigningSecretBytes)
	if len(text) < n {
		return false
	}
	secret, err := base64.StdEncoding.DecodeString(text[len(prefix):n])
	return err == nil && len(secret) == SigningSecretBytes
}

// IsBearerSecret reports whether a text has the form of the secret of a link or a session, which
// has no prefix. Very rarely a text of words has it too, so nothing is refused for it.
func IsBearerSecret(text string) bool {
	if len(text) != bearerLength || !strings.ContainsAny(text, "0123456789") || strings.ToLower(text) == text || strings.ToUpper(text) == text {
		return false
	}
	_, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil
}

// HoldsBearerSecret reports whether a text contains what IsBearerSecret describes, even with
// letters before or after it. Such a part of a longer word has few hyphens; names that consist of
// words have more.
func HoldsBearerSecret(text string) bool {
	for _, word := range bearerWord.FindAllString(text, -1) {
		if IsBearerSecret(word) {
			return true
		}
		for at := range len(word) - bearerLength + 1 {
			part := word[at : at+bearerLength]
			if IsBearerSecret(part) && strings.Count(part, "-")+strings.Count(part, "_") <= mostBearerHyphens {
				return true
			}
		}
	}
	return false
}

// The length of such a secret in bytes, and as text.
const (
	bearerBytes  = 32
	bearerLength = 43
)

// maxBearerHyphens is the maximum in all but one of a thousand such secrets.
const mostBearerHyphens = 6

var bearerWord = regexp.MustCompile(`[A-Za-z0-9_-]{43,}`)

// Unescaped returns a text with its percent-encoded bytes decoded, as in URLs. Other text stays as
// it is.
func Unescaped(text string) string {
	return escapedByte.ReplaceAllStringFunc(text, func(escaped string) string {
		decoded, _ := hex.DecodeString(escaped[1:]) // the expression matches only hex digits
		return string(decoded)
	})
}

var escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
