package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// Codes about links.
const (
	CodeOwnSignInToAccept = "OWN_SIGN_IN_TO_ACCEPT"

	CodeLinkUnknown  = "LINK_UNKNOWN"
	CodeLinkUsed     = "LINK_USED"
	CodeLinkReplaced = "LINK_REPLACED"
	CodeLinkExpired  = "LINK_EXPIRED"
)

// LinkPurpose is what a link is for.
type LinkPurpose string

// The purposes there are.
const (
	LinkSignIn     LinkPurpose = "sign_in"
	LinkInvitation LinkPurpose = "invitation"
)

// LinkOrigin tells who was shown a link beside the person.
type LinkOrigin string

// The origins there are. Who comes by a link that nobody else was shown has proved the email
// address of the account.
const (
	LinkShown     LinkOrigin = ""        // somebody else was shown it
	LinkMailed    LinkOrigin = "mailed"  // it was sent to the email address
	LinkByCommand LinkOrigin = "command" // the delivery company made it on the server, for the person
)

// Lifetime is how long a link works.
func (p LinkPurpose) Lifetime() time.Duration {
	if p == LinkInvitation {
		return 7 * day
	}
	return 10 * time.Minute
}

// LinkKept is how long a link is kept after it has expired, so that its page says what
// became of it and not that there is none.
const LinkKept = 30 * day

// Link lets one person in, once. Its secret is in its address alone; the digest is
// what is kept.
type Link struct {
	ID         ID
	PersonID   ID
	BusinessID ID // empty: to the console
	Purpose    LinkPurpose
	// OneBusiness is set for a link that an operator made for a customer of the company's own
	// site, for a sign-in link that another person is shown, and for all that are made in their
	// sessions. It opens the business alone and accepts no invitation: Session.OneBusiness.
	OneBusiness bool
	Origin      LinkOrigin
	Digest      [32]byte
	CreatedAt   time.Time
	ExpiresAt   time.Time  // of one that was made useless: when that was
	UsedAt      *time.Time // when it was used, or made useless
}

// Site is where the link leads.
func (l Link) Site() Site { return SiteOf(l.BusinessID) }

// Usable answers nil, or the reason why the link does not work.
func (l Link) Usable(now time.Time) error {
	switch {
	case l.UsedAt != nil && !l.UsedAt.Before(l.ExpiresAt):
		return &Error{Kind: KindGone, Code: CodeLinkReplaced,
			Message: "A later link replaced this one, or access was changed since. Ask for a new one."}
	case l.UsedAt != nil:
		return LinkUsed()
	case !now.Before(l.ExpiresAt):
		return &Error{Kind: KindGone, Code: CodeLinkExpired, Message: "This link has expired. Ask for a new one."}
	}
	return nil
}

// Private reports whether nobody but the person was shown the link.
func (l Link) Private() bool { return l.Origin != LinkShown }

// TakesSignIn reports whether the link accepts an invitation only together with the sign-in
// of the person's own account: one that was opened before.
func (l Link) TakesSignIn(m Member) bool {
	return l.Purpose == LinkInvitation && !l.OneBusiness && m.Membership.AcceptedAt == nil && m.Person.State != PersonInvited
}

// OwnSignInToAccept answers where an invitation takes the sign-in of the person's own account.
func OwnSignInToAccept() *Error {
	return &Error{Kind: KindForbidden, Code: CodeOwnSignInToAccept,
		Message: "This email address has an account. Sign in to it to accept the invitation; nothing of the account changes."}
}

// LinkUsed answers for a link that was used.
func LinkUsed() *Error {
	return &Error{Kind: KindGone, Code: CodeLinkUsed, Message: "This link was used already. Ask for a new one."}
}

// LinkUnknown answers for a link that there is not.
func LinkUnknown() *Error {
	return &Error{Kind: KindNotFound, Code: CodeLinkUnknown, Message: "There is no such link. Open it again whole, or ask for a new one."}
}

// MakeBearerSecret renders 32 random bytes as the secret of a link or a session: 43
// characters that an address and a cookie take as they are.
func MakeBearerSecret(random [bearerBytes]byte) string {
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// BearerDigest is the stored digest of such a secret. Unlike that of an API key
// it is under no pepper: 256 random bits leave nothing to search for in a stolen
// table, and sessions outlive a change of the pepper.
func BearerDigest(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
