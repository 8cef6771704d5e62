package term

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	"waybill/domain"
)

// Joined lists values with commas.
func Joined[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}

// Counted returns "1 check" or "2 checks".
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// Dash returns a text for a table, "-" for nil.
func Dash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// Moment returns a time for JSON, nil for none.
func Moment(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := domain.FormatTime(*t)
	return &s
}

// Message returns the text of an error without its code.
func Message(err error) string {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// PlainText returns a text from outside in a form that is safe for a terminal.
func PlainText(text string) string {
	const most = 80
	shown := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text))
	if len(shown) > most {
		return string(shown[:most]) + "..."
	}
	return string(shown)
}

// ShellWord returns a path as a shell takes it, also after a dot.
func ShellWord(path string) string {
	if !strings.ContainsRune(path, '/') {
		path = "./" + path
	}
	return ShellQuoted(path)
}

// ShellQuoted quotes a text for a shell if necessary.
func ShellQuoted(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:", r))
	}) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// ClockTime returns the time of day of a timestamp.
func ClockTime(timestamp string) string {
	if at, err := time.Parse(time.RFC3339Nano, timestamp); err == nil {
		return at.Format("15:04:05.000Z")
	}
	return timestamp
}

// OneLine puts an error of several lines on one line.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Endless describes the tokens of the operations API that never expire, as all did that were
// created before tokens expired. Both texts are empty if there are none.
func Endless(tokens []domain.OperatorToken) (message, fix string) {
	var ids []string
	for _, t := range tokens {
		if t.RevokedAt == nil && t.ExpiresAt == nil {
			ids = append(ids, string(t.ID)+" ("+string(t.Kind)+")")
		}
	}
	if len(ids) == 0 {
		return "", ""
	}
	return Counted(len(ids), "operator token") + " without an expiry: " + strings.Join(ids, ", "),
		"make a successor of the kind it needs with waybill operator create, then waybill operator revoke ID"
}
