package domain

import (
	"strings"
	"time"
)

// Codes about signing in and sessions.
const (
	CodeSignInRefused  = "SIGN_IN_REFUSED"
	CodeSessionEnded   = "SESSION_ENDED"
	CodeTooManySignIns = "TOO_MANY_SIGN_INS"
	CodeTooManyPages   = "TOO_MANY_PAGES"

	CodeBusinessDisabled = "BUSINESS_DISABLED"
	CodeOwnSignInNeeded  = "OWN_SIGN_IN_NEEDED"
)

// How long sessions live.
const (
	SessionLifetime = 12 * time.Hour
	SessionIdle     = time.Hour
	// FreshFor limits the age of a sign-in for acts on keys of live, secrets, people and
	// credentials.
	FreshFor = 10 * time.Minute
	// SessionKept is how long a session is kept after its expiry, so that a returning browser does
	// not count as new.
	SessionKept = 90 * day
	// DeviceKept is how long a browser is remembered after its last sign-in: as long as browsers
	// keep a cookie.
	DeviceKept = 400 * day
	// SeenEvery is the precision of a session's last use.
	SeenEvery = time.Minute
)

// SignInMethod is how a person proved their identity.
type SignInMethod string

// The methods.
const (
	SignInByLink     SignInMethod = "link"
	SignInByPassword SignInMethod = "password"
)

// Session is a signed-in browser. Only the cookie has its secret. Storage keeps the digest.
type Session struct {
	ID         ID
	PersonID   ID
	BusinessID ID // the business that the portal shows; empty: a session of the console
	// OneBusiness is set where an operator's link opened the session. It shows only that business
	// and proves nothing about the person. So it reaches nothing of their account: no other
	// membership, password, passkey, session or connected identity.
	OneBusiness bool
	Digest      [32]byte
	Method      SignInMethod
	Device      string // the browser's name for itself, at most MaxDevice characters
	CreatedAt   time.Time
	SignedInAt  time.Time // when the person last proved their identity: after CreatedAt if asked again, before it with OIDC
	LastSeenAt  time.Time // lags by SeenEvery at most
	ExpiresAt   time.Time
	EndedAt     *time.Time
}

// Site returns the site of the session.
func (s Session) Site() Site { return SiteOf(s.BusinessID) }

// Live reports whether the session works: it was not ended, has not expired and was used within
// SessionIdle. One that was made or used ahead does not, because the clock was set back.
func (s Session) Live(now time.Time) bool {
	return s.EndedAt == nil && now.Before(s.ExpiresAt) && now.Before(s.LastSeenAt.Add(SessionIdle)) &&
		!ahead(s.CreatedAt, now) && !ahead(s.LastSeenAt, now)
}

// Fresh reports whether the sign-in is younger than FreshFor. One that lies ahead is not.
func (s Session) Fresh(now time.Time) bool {
	return now.Before(s.SignedInAt.Add(FreshFor)) && !ahead(s.SignedInAt, now)
}

// ahead reports whether a stored time is later than the clocks of two processes may differ.
func ahead(at, now time.Time) bool { return at.After(now.Add(time.Minute)) }

// SessionEnded returns the error for a session that is unknown, expired or ended. It does not
// distinguish the three.
func SessionEnded() *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodeSessionEnded, Message: "You are not signed in. Sign in to continue."}
}

// OwnSignInNeeded returns the error for what belongs to the person where an operator's link opened
// the session.
func OwnSignInNeeded() *Error {
	return &Error{Kind: KindForbidden, Code: CodeOwnSignInNeeded,
		Message: "This session was opened by a link that someone else also had: the website of your delivery company, or an owner of your business. " +
			"It shows one business, not your account. " +
			"To change your account, sign out and sign in yourself: by password, passkey or a link that is sent to your email address. " +
			"If you have none of these, ask the delivery company for a sign-in link: it makes one with waybill person link."}
}

// SignInRefused returns the error where a password does not sign in, for whatever reason. It does
// not reveal whether the person exists.
func SignInRefused() *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodeSignInRefused,
		Message: "The email address and password do not match. Try again, or use a sign-in link."}
}

// BusinessDisabled returns the error for a proven member of a business that the delivery company
// has disabled.
func BusinessDisabled() *Error {
	return &Error{Kind: KindForbidden, Code: CodeBusinessDisabled,
		Message: "The delivery company has disabled this business. Ask it to enable the business again."}
}

// ViewDisabled returns the error for staff who want to see such a business as it does itself.
func ViewDisabled() *Error {
	return &Error{Kind: KindConflict, Code: CodeBusinessDisabled,
		Message: "This customer is disabled, and sees nothing of its portal. Read its pages in the console, or enable it first."}
}

// DeviceName returns a short name of a browser, from its user agent.
func DeviceName(agent string) string {
	name, system := "", ""
	for _, known := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"},
		{"Safari/", "Safari"}, {"curl/", "curl"}} {
		if strings.Contains(agent, known[0]) {
			name = known[1]
			break
		}
	}
	for _, known := range [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"},
		{"Mac OS", "macOS"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, known[0]) {
			system = known[1]
			break
		}
	}
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case name != "" || system != "":
		return name + system
	case agent != "":
		return agent
	}
	return "Unknown browser"
}
