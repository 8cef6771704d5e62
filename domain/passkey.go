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

// SignInByPasskey is a sign-in by a key that a device keeps and that the person
// unlocks there.
const SignInByPasskey SignInMethod = "passkey"

// MaxPasskeys is how many passkeys a person has at most.
const MaxPasskeys = 20

// CeremonyLifetime is how long a browser may take to answer a challenge. A person
// looks for the right device meanwhile.
const CeremonyLifetime = 5 * time.Minute

// Passkey is the public half of a key that a device of a person keeps.
type Passkey struct {
	ID           ID
	PersonID     ID
	Name         string
	Host         string // of the page it was made at; it works there and below
	CredentialID []byte // as the device names it, at most MaxCredentialID bytes; unique
	PublicKey    []byte // COSE
	// SignCount grows with each use, or stays 0 where the device does not count. One
	// that does not grow means a copy of the key.
	SignCount uint32
	// Syncs tells that the key may be copied to other devices of the person. It never
	// changes.
	Syncs      bool
	CreatedAt  time.Time
	LastUsedAt *time.Time // nil: never
}

// PasskeyName is the name that a person gave, or the one that is given instead.
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

// CeremonyPurpose is what the answer to a challenge is for.
type CeremonyPurpose string

// The purposes there are.
const (
	CeremonyAdd     CeremonyPurpose = "add"     // of a passkey
	CeremonySignIn  CeremonyPurpose = "sign_in" // of a person not known yet
	CeremonyConfirm CeremonyPurpose = "confirm" // of a session that goes on
)

// Ceremony is a challenge that a browser was given. It is answered once, within
// CeremonyLifetime, right or wrong.
type Ceremony struct {
	ID        ID
	Purpose   CeremonyPurpose
	SessionID ID // that may answer; empty: a browser without one
	Challenge [32]byte
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Open reports whether an answer for the purpose, in the session, is in time.
func (c Ceremony) Open(purpose CeremonyPurpose, session ID, now time.Time) bool {
	return c.Purpose == purpose && c.SessionID == session && now.Before(c.ExpiresAt)
}

// PasskeyHost is the host for which passkeys of the pages below an address are made.
// PASSKEYS_UNAVAILABLE says why browsers have none there: they refuse addresses that
// are numbers, and all but https and localhost.
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

// WebOrigin is how browsers name the site of an address.
func WebOrigin(base *url.URL) string {
	host := strings.ToLower(base.Host)
	if usual := map[string]string{"http": ":80", "https": ":443"}[base.Scheme]; usual != "" {
		host = strings.TrimSuffix(host, usual)
	}
	return base.Scheme + "://" + host
}

// PasskeyRefused answers for every passkey that does not work, whatever the reason:
// unknown, removed, of a person who may not sign in, or signed wrongly.
func PasskeyRefused(cause error) *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodePasskeyRefused, Err: cause,
		Message: "This passkey does not let you in. Use another one, your password, or a link."}
}

// CeremonyOver answers where a challenge was answered before, too late, or elsewhere.
func CeremonyOver() *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodeCeremonyOver,
		Message: "That took longer than 5 minutes, or was sent twice. Use the passkey again."}
}

// PasskeyUnusable answers where a device made no passkey that can be kept.
func PasskeyUnusable(cause error) *Error {
	return &Error{Kind: KindConflict, Code: CodePasskeyUnusable, Err: cause,
		Message: "No passkey was added: the answer of this device cannot be used. Try again, or with another device."}
}

// PasskeyTaken answers where the key of a device is known already.
func PasskeyTaken() *Error {
	return &Error{Kind: KindConflict, Code: CodePasskeyTaken, Message: "This device has a passkey here already."}
}

// TooManyPasskeys answers where a person has MaxPasskeys.
func TooManyPasskeys() *Error {
	return &Error{Kind: KindConflict, Code: CodeTooManyPasskeys,
		Message: "You have 20 passkeys, and more are not kept. Remove one that you do not use."}
}
