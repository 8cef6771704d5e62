package configs

import (
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// A person may put the right value into the wrong setting. Messages about a value therefore
// hide whatever looks like a secret in it, also where none belongs.

var (
	// userInfo finds what stands before the host of an address, valid or not, and bareUserInfo
	// the same of an address without a scheme.
	userInfo     = regexp.MustCompile(`(?s)//.*@`)
	bareUserInfo = regexp.MustCompile(`[^\s:/]*:\S*@`)
	// passwordText finds a password and all that follows it: where it ends depends on quotes.
	passwordText = regexp.MustCompile(`(?is)((?:password|passwd|pwd)\s*=).*`)
	// longText and longWord find what may be a key of minSecret characters or more: in base64 as
	// the whole value, in other spellings anywhere in it.
	longText = regexp.MustCompile(`^[A-Za-z0-9+/=_-]{32,}$`)
	longWord = regexp.MustCompile(`[A-Za-z0-9+_-]{32,}`)
	uuid     = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	// path and longName tell a path of a file from a key: names of files have separators.
	path     = regexp.MustCompile(`^\.{0,2}/[^:@=]*$`)
	longName = regexp.MustCompile(`[A-Za-z0-9+]{32,}`)
)

// withoutSecrets returns a text with [redacted] in place of what looks like a secret.
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

// isPath reports whether a text is plainly the path of a file.
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

// quotedPart returns a part of a list as messages show it. The parts of a list that holds a
// secret may be those of a password with a comma.
func quotedPart(list, part string) string {
	if withoutSecrets(list) != list {
		return redacted
	}
	return Quoted(part)
}

// pathShown returns a path after a colon, or nothing where the text may be a secret that was
// given in place of the path of its file.
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
