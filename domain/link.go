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

// LinkPurpose is the purpose of a link.
type LinkPurpose string

// The purposes.
const (
	LinkSignIn     LinkPurpose = "sign_in"
	LinkInvitation LinkPurpose = "invitation"
)

// LinkOrigin says who saw a link besides the person.
type LinkOrigin string

// The origins. A person who uses a link that nobody else saw has proved the email address of the
// account.
const (
	LinkShown     LinkOrigin = ""        // somebody else saw it
	LinkMailed    LinkOrigin = "mailed"  // it was sent to the email address, to open one business or to accept its invitation
	LinkAsked     LinkOrigin = "asked"   // it was asked for at the sign-in page, and sent to the email address
	LinkByCommand LinkOrigin = "command" // the delivery company created it on the server, for the person
)

// Lifetime returns how long a link works.
func (p LinkPurpose) Lifetime() time.Duration {
	if p == LinkInvitation {
		return 7 * day
	}
	return 10 * time.Minute
}

// LinkKept is how long an expired link is kept, so that its page says what happened to it and not
// that it does not exist.
const LinkKept = 30 * day

// Link signs one person in, once. Only the link's address has its secret. Storage keeps the digest.
type Link struct {
	ID         ID
	PersonID   ID
	BusinessID ID // empty: to the console; of one with LinkAsked: where a sign-in led when it was made
	Purpose    LinkPurpose
	// OneBusiness is set for a link that an operator made for a customer of the company's own
	// site, for a sign-in link that another person sees, and for all links made in their sessions.
	// It opens only that business and accepts no invitation: see Session.OneBusiness.
	OneBusiness bool
	Origin      LinkOrigin
	Digest      [32]byte
	CreatedAt   time.Time
	ExpiresAt   time.Time  // of a disabled link: when it was disabled
	UsedAt      *time.Time // when it was used, or disabled
}

// Site returns the site that the link opens.
func (l Link) Site() Site { return SiteOf(l.BusinessID) }

// Usable returns nil, or the reason why the link does not work.
func (l Link) Usable(now time.Time) error {
	switch {
	case l.UsedAt != nil && !l.UsedAt.Before(l.ExpiresAt):
		return &Error{Kind: KindGone, Code: CodeLinkReplaced,
			Message: "A later link replaced this one, or access was changed since. Ask for a new one."}
	case l.UsedAt != nil:
		return LinkUsed()
	case !now.Before(l.ExpiresAt) || ahead(l.CreatedAt, now): // the clock was set back
		return &Error{Kind: KindGone, Code: CodeLinkExpired, Message: "This link has expired. Ask for a new one."}
	}
	return nil
}

// Accepts reports whether the link may accept the invitation to its business.
func (l Link) Accepts() bool {
	return l.Purpose == LinkInvitation || l.Origin == LinkMailed || l.Origin == LinkByCommand
}

// Private reports whether nobody but the person saw the link.
func (l Link) Private() bool { return l.Origin != LinkShown }

// EndsCredentials reports whether using the link ends the password, passkeys and sessions of a
// person: it is the first one that nobody else saw, and somebody else may have set them.
func (l Link) EndsCredentials(p Person) bool {
	return l.Private() && l.Purpose == LinkSignIn && !p.EmailProven && p.State == PersonActive
}

// TakesSignIn reports whether the link accepts an invitation only after a sign-in to the person's
// own account, which was opened before.
func (l Link) TakesSignIn(m Member) bool {
	return l.Purpose == LinkInvitation && !l.OneBusiness && m.Membership.AcceptedAt == nil && m.Person.State != PersonInvited
}

// OwnSignInToAccept returns the error where an invitation requires a sign-in to the person's own
// account.
func OwnSignInToAccept() *Error {
	return &Error{Kind: KindForbidden, Code: CodeOwnSignInToAccept,
		Message: "This email address has an account. Sign in to it to accept the invitation; nothing of the account changes."}
}

// LinkUsed returns the error for a used link.
func LinkUsed() *Error {
	return &Error{Kind: KindGone, Code: CodeLinkUsed, Message: "This link was used already. Ask for a new one."}
}

// LinkUnknown returns the error for an unknown link.
func LinkUnknown() *Error {
	return &Error{Kind: KindNotFound, Code: CodeLinkUnknown, Message: "There is no such link. Open the complete link again, or ask for a new one."}
}

// MakeBearerSecret renders 32 random bytes as the secret of a link or a session: 43 characters that
// need no escaping in a URL or a cookie.
func MakeBearerSecret(random [bearerBytes]byte) string {
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// BearerDigest returns the stored digest of such a secret. Unlike that of an API key it uses no
// pepper: 256 random bits cannot be searched for in a stolen table, and sessions survive a change
// of the pepper.
func BearerDigest(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }
