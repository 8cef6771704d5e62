package configs

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

const redacted = "[redacted]"

// Secret is a text that is [redacted] wherever it is formatted, logged or marshalled. Only Reveal
// returns it.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format makes every verb print what String returns.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText returns the redacted text for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the redacted text for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// URL is an address that may hold a password. It is shown without the password.
type URL string

// Reveal returns the complete address.
func (u URL) Reveal() string { return string(u) }

// queryPassword finds a password in a query.
var queryPassword = regexp.MustCompile(`(?i)((?:sslpassword|password|passwd|pwd)=)[^\s&]+`)

// String returns the address without its password. The password ends at the last @ of the text:
// without percent-encoding it may hold any character.
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
	case user != "" && !strings.HasPrefix(scheme, "postgres"): // a password without its colon
		user = "xxxxx"
	}
	return scheme + "://" + user + queryPassword.ReplaceAllString(rest[at:], "${1}xxxxx")
}

// Format makes every verb print what String returns.
func (u URL) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(u.String())) }

// MarshalText returns the address without its password, for encoders.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue returns the address without its password, for slog.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }
