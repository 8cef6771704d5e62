package domain

import (
	"hash/crc32"
	"slices"
	"strings"
	"time"
)

// Scope is one permission of an API key.
type Scope string

// The scopes a key can have.
const (
	ScopeQuotesRead      Scope = "quotes:read"
	ScopeRecipientsRead  Scope = "recipients:read"
	ScopeRecipientsWrite Scope = "recipients:write"
	ScopeDeliveriesRead  Scope = "deliveries:read"
	ScopeDeliveriesWrite Scope = "deliveries:write"
	ScopeWebhooksRead    Scope = "webhooks:read"
	ScopeWebhooksWrite   Scope = "webhooks:write"
)

// AllScopes lists every scope, in the order in which people see them.
func AllScopes() []Scope {
	return []Scope{
		ScopeQuotesRead, ScopeRecipientsRead, ScopeRecipientsWrite,
		ScopeDeliveriesRead, ScopeDeliveriesWrite, ScopeWebhooksRead, ScopeWebhooksWrite,
	}
}

// ParseScopes reads "all" or a comma-separated list. For an empty list, a repeated or an unknown
// scope it returns an error that names the existing scopes.
func ParseScopes(text string) ([]Scope, error) {
	if text == "all" {
		return AllScopes(), nil
	}
	var scopes []Scope
	for part := range strings.SplitSeq(text, ",") {
		s := Scope(strings.TrimSpace(part))
		if !slices.Contains(AllScopes(), s) || slices.Contains(scopes, s) {
			return nil, Invalid(FieldError{
				Field: "scopes", Code: FieldNotAllowed,
				Message: "unknown or repeated scope " + quoted(string(s)) + "; use all, or some of " + joinScopes(AllScopes()),
			})
		}
		scopes = append(scopes, s)
	}
	return scopes, nil
}

func joinScopes(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ",")
}

// APIKey is a stored key. It holds the digest of its secret, never the secret.
type APIKey struct {
	ID            ID
	ApplicationID ID
	Environment   Environment
	Digest        [32]byte // HMAC-SHA256 of the secret under one of the server's peppers
	Pepper        [32]byte // mark of that pepper; zero: the oldest one
	LastFour      string
	Name          string // what people call it; empty: it has none
	Scopes        []Scope
	CreatedAt     time.Time
	ExpiresAt     *time.Time
	RevokedAt     *time.Time
	// LastUsedAt lags by some ten seconds at most. Nil: never used.
	LastUsedAt *time.Time
}

// Allows reports whether the key has the scope.
func (k *APIKey) Allows(s Scope) bool { return slices.Contains(k.Scopes, s) }

// Past reports whether the key was revoked or has expired.
func (k *APIKey) Past(now time.Time) bool {
	return k.RevokedAt != nil || k.ExpiresAt != nil && !now.Before(*k.ExpiresAt)
}

// Credential is a key together with its application and business.
type Credential struct {
	Key         APIKey
	Application Application
	Business    Business
}

// Tenant returns the customer that the credential acts for.
func (c *Credential) Tenant() Tenant {
	return Tenant{BusinessID: c.Business.ID, ApplicationID: c.Application.ID, Environment: c.Key.Environment}
}

// Usable returns nil, or the 401 with the reason why the key does not work now.
func (c *Credential) Usable(now time.Time) error {
	switch {
	case c.Business.Disabled:
		return &Error{Kind: KindUnauthenticated, Code: CodeInvalidAPIKey,
			Message: "The account of the key ending " + c.Key.LastFour + " is switched off, and all its keys with it. Ask the delivery company " +
				"to switch it on.",
			Details: map[string]any{"reason": "unknown"}}
	case c.Application.Disabled:
		return &Error{Kind: KindUnauthenticated, Code: CodeInvalidAPIKey,
			Message: "The application of the key ending " + c.Key.LastFour + " is switched off, and all its keys with it. Ask the delivery " +
				"company to switch it on.",
			Details: map[string]any{"reason": "unknown"}}
	case c.Key.RevokedAt != nil:
		return &Error{Kind: KindUnauthenticated, Code: CodeAPIKeyRevoked,
			Message: "The key ending " + c.Key.LastFour + " was revoked. Use the key that replaced it."}
	case c.Key.ExpiresAt != nil && !now.Before(*c.Key.ExpiresAt):
		return &Error{Kind: KindUnauthenticated, Code: CodeAPIKeyExpired,
			Message: "The key ending " + c.Key.LastFour + " expired at " + FormatTime(*c.Key.ExpiresAt) + ". Ask for a new one."}
	}
	return nil
}

// UnknownAPIKey returns the 401 for a well-formed key that does not exist.
func UnknownAPIKey(lastFour string) *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodeInvalidAPIKey,
		Message: "Unknown key ending " + lastFour + ". Check that it was copied from the right application.",
		Details: map[string]any{"reason": "unknown"}}
}

const (
	livePrefix = "svc_live_key_"
	testPrefix = "svc_test_key_"
	base62     = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	secretLength   = 32 // base62 characters of randomness, 190 bits
	checksumLength = 6  // base62 characters of CRC32
)

// KeyPrefix returns the prefix of every key of the environment.
func KeyPrefix(e Environment) string {
	if e == Live {
		return livePrefix
	}
	return testPrefix
}

// MakeAPIKey renders a key from 32 random bytes. The checksum at its end lets ParseAPIKey refuse a
// mistyped key without a database query.
func MakeAPIKey(e Environment, random [secretLength]byte) string {
	return makeSecret(KeyPrefix(e), random)
}

func makeSecret(prefix string, random [secretLength]byte) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, r := range random {
		// 256 is not a multiple of 62. A bias of 1/256 per character leaves over 189 bits, far
		// beyond guessing.
		b.WriteByte(base62[int(r)%len(base62)])
	}
	return b.String() + checksum(b.String())
}

// ParseAPIKey returns the environment of a key, or false when its form or its checksum is wrong.
func ParseAPIKey(secret string) (Environment, bool) {
	for _, e := range []Environment{Live, Sandbox} {
		if soundSecret(KeyPrefix(e), secret) {
			return e, true
		}
	}
	return "", false
}

// KeyEnd returns the last characters of an API key, by which lists name it, or an empty text for
// any other text.
func KeyEnd(text string) string {
	if _, sound := ParseAPIKey(text); !sound {
		return ""
	}
	return text[len(text)-4:]
}

// soundSecret reports whether makeSecret can have made a secret.
func soundSecret(prefix, secret string) bool {
	rest, ok := strings.CutPrefix(secret, prefix)
	if !ok || len(rest) != secretLength+checksumLength {
		return false
	}
	for i := range len(rest) {
		if strings.IndexByte(base62, rest[i]) < 0 {
			return false
		}
	}
	body := secret[:len(secret)-checksumLength]
	return secret[len(body):] == checksum(body)
}

func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var out [checksumLength]byte
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}
