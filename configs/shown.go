package configs

import (
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// A person may put the right value into the wrong setting. So messages about a value hide
// everything in it that looks like a secret, even in a setting without secrets.

var (
	// userInfo finds the text before the host of an address, valid or not. bareUserInfo finds the
	// same in an address without a scheme.
	userInfo     = regexp.MustCompile(`(?s)//.*@`)
	bareUserInfo = regexp.MustCompile(`[^\s:/]*:\S*@`)
	// passwordText finds a password and all that follows it: its end depends on quotes.
	passwordText = regexp.MustCompile(`(?is)((?:password|passwd|pwd)\s*=).*`)
	// longText and longWord find a possible key of minSecret characters or more: in base64 as the
	// whole value, in other spellings anywhere in it.
	longText = regexp.MustCompile(`^[A-Za-z0-9+/=_-]{32,}$`)
	longWord = regexp.MustCompile(`[A-Za-z0-9+_-]{32,}`)
	uuid     = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	// path and longName distinguish a file path from a key: file names have separators.
	path     = regexp.MustCompile(`^\.{0,2}/[^:@=]*$`)
	longName = regexp.MustCompile(`[A-Za-z0-9+]{32,}`)
)

// withoutSecrets returns a text with [redacted] in place of possible secrets.
func withoutSecrets(s string) string {
	switch {
	case isPath(s):
		return s
	case longText.MatchString(s) && !uuid.MatchString(s):
		return redacted
	}
	if strings.Contains(s, "//") {
		s = userInfo.ReplaceAllString(s, "//"+redacted+"@")
	} else {
		s = bareUserInfo.ReplaceAllString(s, redacted+"@")
	}
	s = passwordText.ReplaceAllString(s, "${1}"+redacted)
	return longWord.ReplaceAllStringFunc(s, func(word string) string {
		if uuid.MatchString(word) {
			return word
		}
		return redacted
	})
}

// isPath reports whether a text is clearly the path of a file.
func isPath(s string) bool { return path.MatchString(s) && !longName.MatchString(s) }

// Quoted returns a text as messages show it: short, in quotes and without secrets.
func Quoted(s string) string {
	const most = 80
	s = withoutSecrets(s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "..."
	}
	return strconv.Quote(s)
}

// quotedPart returns a part of a list as messages show it. If the list holds a secret, its parts
// may be parts of a password with a comma.
func quotedPart(list, part string) string {
	if withoutSecrets(list) != list {
		return redacted
	}
	return Quoted(part)
}

// pathShown returns a path after a colon. It returns nothing for a text that may be a secret, given
// instead of the path of its file.
func pathShown(path string) string {
	if !isPath(path) {
		return ""
	}
	return ": " + path
}

// fileFault returns why a file cannot be read, without its path.
func fileFault(err error) string {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		err = fault.Err
	}
	return err.Error()
}
