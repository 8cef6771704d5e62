package configs

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
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

// keywordPassword finds the password of libpq's keyword=value form, which is
// no URL, and of a query.
var keywordPassword = regexp.MustCompile(`(?i)((?:sslpassword|password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)`)

func (u URL) String() string {
	if u == "" {
		return ""
	}
	parsed, err := url.Parse(string(u))
	if err != nil {
		return redacted
	}
	if _, has := parsed.User.Password(); has {
		parsed.User = url.UserPassword(parsed.User.Username(), "xxxxx")
	}
	return keywordPassword.ReplaceAllString(parsed.String(), "${1}xxxxx")
}

// Format keeps every verb from showing more than String.
func (u URL) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(u.String())) }

// MarshalText is what encoders write.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue is what slog writes.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }
