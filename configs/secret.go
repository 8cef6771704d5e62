package configs

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

const redacted = "[redacted]"

// Secret is a text that never shows itself: formatted, logged or marshalled
// it is [redacted]. Reveal is the only way to read it.
type Secret string

// Reveal is the secret itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format keeps every verb from showing more than String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText is what encoders write.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is what slog writes.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// URL is an address that may hold a password. It shows itself without one.
type URL string

// Reveal is the whole address.
func (u URL) Reveal() string { return string(u) }

// queryPassword finds a password in a query.
var queryPassword = regexp.MustCompile(`(?i)((?:sslpassword|password|passwd|pwd)=)[^\s&]+`)

// String is the address without its password, which ends at the last @ of the text: one that
// nobody percent-encoded may hold any character.
func (u URL) String() string {
	scheme, rest, isURL := strings.Cut(string(u), "://")
	at := strings.LastIndex(rest, "@")
	switch {
	case u == "":
		return ""
	case !isURL || !plainScheme(scheme):
		return redacted
	case scheme == "sqlite": // a path, which may have an @
		return string(u)
	case at < 0:
		if _, err := url.Parse(string(u)); err != nil {
			return redacted
		}
		return queryPassword.ReplaceAllString(string(u), "${1}xxxxx")
	}
	user, _, hasPassword := strings.Cut(rest[:at], ":")
	if strings.ContainsAny(user, "/?#") {
		user = "xxxxx"
	}
	switch {
	case hasPassword:
		user += ":xxxxx"
	case user != "" && !strings.HasPrefix(scheme, "postgres"): // a password whose colon was forgotten
		user = "xxxxx"
	}
	return scheme + "://" + user + queryPassword.ReplaceAllString(rest[at:], "${1}xxxxx")
}

// Format keeps every verb from showing more than String.
func (u URL) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(u.String())) }

// MarshalText is what encoders write.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue is what slog writes.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }
