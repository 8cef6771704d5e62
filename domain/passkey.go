package domain

import (
	"net"
	"net/url"
	"strings"
	"time"
)

// Codes about passkeys.
const (
	CodePasskeyRefused      = "PASSKEY_REFUSED"
	CodePasskeyTaken        = "PASSKEY_TAKEN"
	CodePasskeyUnusable     = "PASSKEY_UNUSABLE" //nolint:gosec // no credential
	CodePasskeysUnavailable = "PASSKEYS_UNAVAILABLE"
	CodeTooManyPasskeys     = "TOO_MANY_PASSKEYS"
	CodeCeremonyOver        = "CEREMONY_OVER"
)

// SignInByPasskey is a sign-in with a key that a device stores and the person unlocks there.
const SignInByPasskey SignInMethod = "passkey"

// MaxPasskeys limits the passkeys of a person.
const MaxPasskeys = 20

// CeremonyLifetime limits how long a browser may take to answer a challenge. The person may have to
// find the right device.
const CeremonyLifetime = 5 * time.Minute

// Passkey is the public half of a key that a device of a person stores.
type Passkey struct {
	ID           ID
	PersonID     ID
	Name         string
	Host         string // of the page it was made on; it works there and below
	CredentialID []byte // the device's name for it, at most MaxCredentialID bytes; unique
	PublicKey    []byte // COSE
	// SignCount grows with each use, or stays 0 where the device does not count. A count that does
	// not grow means that the key was copied.
	SignCount uint32
	// Syncs reports whether the key may be copied to other devices of the person. It never changes.
	Syncs      bool
	CreatedAt  time.Time
	LastUsedAt *time.Time // nil: never
}

// PasskeyName returns the name that a person gave, or the default name.
func PasskeyName(text string) (string, error) {
	name := strings.TrimSpace(text)
	if name == "" {
		return "Passkey", nil
	}
	if code, message := NameRule.Judge(name); code != "" {
		return "", Invalid(FieldError{Field: "name", Code: code, Message: message})
	}
	return name, nil
}

// CeremonyPurpose is the purpose of a challenge.
type CeremonyPurpose string

// The purposes.
const (
	CeremonyAdd     CeremonyPurpose = "add"     // adds a passkey
	CeremonySignIn  CeremonyPurpose = "sign_in" // signs in a person who is not known yet; stored once it was answered
	CeremonyConfirm CeremonyPurpose = "confirm" // the person of a running session signs in again
)

// Ceremony is a challenge for a browser, or its visit at the identity provider. It can be answered
// once, in time. Wrong answers count, apart from those of a sign-in, which is not stored before.
type Ceremony struct {
	ID        ID
	Purpose   CeremonyPurpose
	SessionID ID // the session that may answer; empty: a browser without one
	Challenge [32]byte
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Open reports whether an answer for the purpose, in the session, is in time.
func (c Ceremony) Open(purpose CeremonyPurpose, session ID, now time.Time) bool {
	return c.Purpose == purpose && c.SessionID == session && now.Before(c.ExpiresAt)
}

// PasskeyHost returns the host of passkeys for the pages below a base URL. PASSKEYS_UNAVAILABLE has
// the reason why browsers allow none there: they refuse numeric addresses, and everything but https
// and localhost.
func PasskeyHost(base string) (string, error) {
	u, err := url.Parse(base)
	host := ""
	if err == nil {
		host = strings.ToLower(u.Hostname())
	}
	unavailable := func(why string) (string, error) {
		return "", &Error{Kind: KindConflict, Code: CodePasskeysUnavailable, Message: why}
	}
	switch {
	case host == "":
		return unavailable("Passkeys need an address with a host.")
	case net.ParseIP(host) != nil:
		return unavailable("Browsers refuse passkeys at an address that is a number, such as " + host +
			". They work where the portal has a name.")
	case u.Scheme != "https" && host != "localhost" && !strings.HasSuffix(host, ".localhost"):
		return unavailable("Browsers refuse passkeys without https. They work where the portal has it.")
	}
	return host, nil
}

// WebOrigin returns the origin of a URL as browsers write it.
func WebOrigin(base *url.URL) string {
	host := strings.ToLower(base.Host)
	if usual := map[string]string{"http": ":80", "https": ":443"}[base.Scheme]; usual != "" {
		host = strings.TrimSuffix(host, usual)
	}
	return base.Scheme + "://" + host
}

// PasskeyRefused returns the error for every passkey that does not work: unknown, removed, of a
// person who may not sign in, or with a wrong signature.
func PasskeyRefused(cause error) *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodePasskeyRefused, Err: cause,
		Message: "This passkey does not let you in. Use another one, your password, or a link."}
}

// CeremonyOver returns the error where a challenge was answered before, too late, or elsewhere.
func CeremonyOver() *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodeCeremonyOver,
		Message: "That took longer than 5 minutes, or was sent twice. Use the passkey again."}
}

// PasskeyUnusable returns the error where a device made no passkey that can be stored.
func PasskeyUnusable(cause error) *Error {
	return &Error{Kind: KindConflict, Code: CodePasskeyUnusable, Err: cause,
		Message: "The passkey was not added, because the response of this device cannot be used. Try again, or use another device."}
}

// PasskeyTaken returns the error where the key of a device is known already.
func PasskeyTaken() *Error {
	return &Error{Kind: KindConflict, Code: CodePasskeyTaken, Message: "This device has a passkey here already."}
}

// TooManyPasskeys returns the error where a person has MaxPasskeys.
func TooManyPasskeys() *Error {
	return &Error{Kind: KindConflict, Code: CodeTooManyPasskeys,
		Message: "You have 20 passkeys, and more are not kept. Remove one that you do not use."}
}
