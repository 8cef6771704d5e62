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

// What a browser that was sent to the identity provider comes back for.
const (
	CeremonyOIDCSignIn  CeremonyPurpose = "oidc_sign_in"
	CeremonyOIDCConfirm CeremonyPurpose = "oidc_confirm" // of a session that goes on
	CeremonyOIDCConnect CeremonyPurpose = "oidc_connect" // the account there with the person of a session
)

// IdentityLifetime is how long a browser may be away at the identity provider. A person
// may have to find a second factor meanwhile.
const IdentityLifetime = 15 * time.Minute

// MaxSubject is how long the name of an account may be that a provider gives it, as
// OpenID Connect bounds it.
const MaxSubject = 255

// Identity is an account of the identity provider, as it vouched for it just now.
type Identity struct {
	Issuer, Subject string // which account it is, for good
	Email           string // as the provider wrote it
	EmailVerified   bool
	Name            string
	Groups          []string
	GroupsLeftOut   bool      // the account is in groups that the provider does not name, for they are too many
	AuthenticatedAt time.Time // when the person proved who they are there; zero: it does not tell
}

// ConnectedIdentity is an account of the identity provider that lets a person in.
type ConnectedIdentity struct {
	Issuer, Subject string // unique together
	PersonID        ID
	CreatedAt       time.Time
}

// RoleRules give roles of staff to groups of the identity provider, by "group:" and the
// group's name, and to domains of e-mail addresses, by "domain:" and the domain in small
// letters.
type RoleRules map[string]Role

// MakeRoleRules are the rules of a setting. An entry whose role is none gives none.
func MakeRoleRules(texts map[string]string) RoleRules {
	rules := make(RoleRules, len(texts))
	for of, role := range texts {
		rules[of] = Role(role)
	}
	return rules
}

// ByGroup reports whether some rule is about a group.
func (r RoleRules) ByGroup() bool {
	for of := range r {
		if strings.HasPrefix(of, "group:") {
			return true
		}
	}
	return false
}

// Role is the strongest role that the rules give an identity; false: none.
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

// ProvenAt is when a session counts as signed in by the identity: never later than now,
// and not as recent where the provider does not tell.
func (i Identity) ProvenAt(now time.Time) time.Time {
	switch {
	case i.AuthenticatedAt.IsZero():
		return now.Add(-FreshFor)
	case i.AuthenticatedAt.Before(now):
		return i.AuthenticatedAt
	}
	return now
}

// IdentityRefused answers where the identity provider did not let a person in, or
// Waybill does not let in the account it vouched for; why is a sentence for them.
func IdentityRefused(why string, cause error) *Error {
	return &Error{Kind: KindForbidden, Code: CodeIdentityRefused, Message: why, Err: cause}
}

// IdentityTaken answers where an account of the identity provider lets in another person.
func IdentityTaken() *Error {
	return &Error{Kind: KindConflict, Code: CodeIdentityTaken,
		Message: "This company account is connected with another person here. Sign in with it, or ask an admin."}
}

// IdentityUnavailable answers where the identity provider does not answer as one.
func IdentityUnavailable(cause error) *Error {
	return &Error{Kind: KindUnavailable, Code: CodeIdentityUnavailable, Err: cause,
		Message: "The company's identity provider does not answer as it should. Try again in a minute, or sign in another way."}
}

// IdentityClientRefused answers where the identity provider refuses this client, so that it
// lets nobody in.
func IdentityClientRefused(cause error) *Error {
	return &Error{Kind: KindUnavailable, Code: CodeIdentityClientRefused, Err: cause,
		Message: "The company's identity provider refuses the client ID or the client secret of this console, so that nobody can sign in " +
			"by it. The secret may have expired. Sign in another way, and tell an admin."}
}

// IdentityOver answers where a browser came back from the identity provider for a second
// time, too late, or was never sent there.
func IdentityOver() *Error {
	return &Error{Kind: KindForbidden, Code: CodeIdentityRefused,
		Message: "This sign-in was used already, took longer than 15 minutes, or was begun in another browser. Begin again."}
}
