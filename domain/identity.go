package domain

import (
	"slices"
	"strings"
	"time"
)

// Codes about signing in at the company's identity provider.
const (
	CodeIdentityRefused     = "IDENTITY_REFUSED"
	CodeIdentityTaken       = "IDENTITY_TAKEN"
	CodeIdentityUnavailable = "IDENTITY_PROVIDER_UNAVAILABLE"

	CodeIdentityClientRefused = "IDENTITY_CLIENT_REFUSED"
)

// SignInByOIDC is a sign-in of staff at the company's identity provider.
const SignInByOIDC SignInMethod = "oidc"

// The purposes of a visit at the identity provider.
const (
	CeremonyOIDCSignIn  CeremonyPurpose = "oidc_sign_in"
	CeremonyOIDCConfirm CeremonyPurpose = "oidc_confirm" // the person of a running session signs in again
	CeremonyOIDCConnect CeremonyPurpose = "oidc_connect" // connects the account there with the person of a session
)

// IdentityLifetime limits how long a browser may stay at the identity provider. The person may need
// time to find a second factor.
const IdentityLifetime = 15 * time.Minute

// MaxSubject is the maximum length of a provider's name for an account, as OpenID Connect limits
// it.
const MaxSubject = 255

// Identity is an account that the identity provider has just confirmed.
type Identity struct {
	Issuer, Subject string // the permanent name of the account
	Email           string // as the provider wrote it
	EmailVerified   bool
	Name            string
	Groups          []string
	GroupsLeftOut   bool      // the account is in more groups than the provider names
	AuthenticatedAt time.Time // when the person signed in there; zero: the provider does not say
}

// ConnectedIdentity is an account of the identity provider that signs a person in.
type ConnectedIdentity struct {
	Issuer, Subject string // unique together
	PersonID        ID
	CreatedAt       time.Time
}

// RoleRules assign staff roles. A key is "group:" and the name of a group of the identity provider,
// or "domain:" and the domain of email addresses in small letters.
type RoleRules map[string]Role

// MakeRoleRules returns the rules of a setting. An entry with an unknown role assigns none.
func MakeRoleRules(texts map[string]string) RoleRules {
	rules := make(RoleRules, len(texts))
	for of, role := range texts {
		rules[of] = Role(role)
	}
	return rules
}

// ByGroup reports whether any rule is about a group.
func (r RoleRules) ByGroup() bool {
	for of := range r {
		if strings.HasPrefix(of, "group:") {
			return true
		}
	}
	return false
}

// Role returns the strongest role that the rules assign to an identity, or false for none.
func (r RoleRules) Role(i Identity) (Role, bool) {
	given := map[Role]bool{}
	for _, group := range i.Groups {
		given[r["group:"+group]] = true
	}
	if _, host, ok := strings.Cut(i.Email, "@"); ok && i.EmailVerified {
		given[r["domain:"+strings.ToLower(host)]] = true
	}
	roles := Roles(Console)
	strongest := slices.IndexFunc(roles, func(role Role) bool { return given[role] })
	if strongest < 0 {
		return "", false
	}
	return roles[strongest], true
}

// ProvenAt returns the sign-in time of a session by the identity. It is never later than now. Where
// the provider does not give a time, the sign-in does not count as recent.
func (i Identity) ProvenAt(now time.Time) time.Time {
	switch {
	case i.AuthenticatedAt.IsZero():
		return now.Add(-FreshFor)
	case i.AuthenticatedAt.Before(now):
		return i.AuthenticatedAt
	}
	return now
}

// IdentityRefused returns the error where the identity provider refused a person, or Waybill
// refuses the account it confirmed. why is a sentence for the person.
func IdentityRefused(why string, cause error) *Error {
	return &Error{Kind: KindForbidden, Code: CodeIdentityRefused, Message: why, Err: cause}
}

// IdentityTaken returns the error where an account of the identity provider signs in another
// person.
func IdentityTaken() *Error {
	return &Error{Kind: KindConflict, Code: CodeIdentityTaken,
		Message: "This company account is connected with another person here. Sign in with it, or ask an admin."}
}

// IdentityUnavailable returns the error where the identity provider does not respond properly.
func IdentityUnavailable(cause error) *Error {
	return &Error{Kind: KindUnavailable, Code: CodeIdentityUnavailable, Err: cause,
		Message: "The company's identity provider does not answer as it should. Try again in a minute, or sign in another way."}
}

// IdentityClientRefused returns the error where the identity provider refuses this client, so that
// nobody can sign in there.
func IdentityClientRefused(cause error) *Error {
	return &Error{Kind: KindUnavailable, Code: CodeIdentityClientRefused, Err: cause,
		Message: "The company's identity provider refuses the client ID or the client secret of this console, so that nobody can sign in " +
			"by it. The secret may have expired. Sign in another way, and tell an admin."}
}

// IdentityOver returns the error where a browser came back from the identity provider a second
// time, too late, or was never sent there.
func IdentityOver() *Error {
	return &Error{Kind: KindForbidden, Code: CodeIdentityRefused,
		Message: "This sign-in was used already, took longer than 15 minutes, or was begun in another browser. Begin again."}
}
