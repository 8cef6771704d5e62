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
	// FreshFor is how recent a sign-in has to be for keys of live, secrets, people
	// and credentials.
	FreshFor = 10 * time.Minute
	// SessionKept is how long a session is kept after it would have expired, so that a
	// browser that comes back is no new one.
	SessionKept = 90 * day
	// DeviceKept is how long a browser is remembered after its last sign-in: as long
	// as browsers keep a cookie.
	DeviceKept = 400 * day
	// SeenEvery is how exactly it is kept when a session was used last.
	SeenEvery = time.Minute
)

// SignInMethod is how a person proved their identity.
type SignInMethod string

// The methods there are.
const (
	SignInByLink     SignInMethod = "link"
	SignInByPassword SignInMethod = "password"
)

// Session is a signed-in browser. Its secret is in a cookie alone; the digest is
// what is kept.
type Session struct {
	ID         ID
	PersonID   ID
	BusinessID ID // that the portal shows; empty: a session of the console
	// OneBusiness is set where the link of an operator opened the session: it shows that
	// business alone, and proves nothing about the person. So it reaches nothing of their
	// account: no other membership, password, passkey, session or connected identity.
	OneBusiness bool
	Digest      [32]byte
	Method      SignInMethod
	Device      string // the browser as it calls itself, at most MaxDevice characters
	CreatedAt   time.Time
	SignedInAt  time.Time // when the person proved who they are: after CreatedAt where that was asked again, before it by OIDC
	LastSeenAt  time.Time // up to SeenEvery behind
	ExpiresAt   time.Time
	EndedAt     *time.Time
}

// Site is where the session came in.
func (s Session) Site() Site { return SiteOf(s.BusinessID) }

// Live reports whether the session works: it was not ended, has not expired and
// was used within SessionIdle.
func (s Session) Live(now time.Time) bool {
	return s.EndedAt == nil && now.Before(s.ExpiresAt) && now.Before(s.LastSeenAt.Add(SessionIdle))
}

// Fresh reports a sign-in younger than FreshFor.
func (s Session) Fresh(now time.Time) bool { return now.Before(s.SignedInAt.Add(FreshFor)) }

// SessionEnded answers where a session is unknown, expired or ended. The three are
// not told apart.
func SessionEnded() *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodeSessionEnded, Message: "You are not signed in, or no longer. Sign in to go on."}
}

// OwnSignInNeeded answers for what belongs to the person where the link of an operator opened
// the session.
func OwnSignInNeeded() *Error {
	return &Error{Kind: KindForbidden, Code: CodeOwnSignInNeeded,
		Message: "Somebody else had the link that opened this session: the website of your delivery company, or an owner of your business. " +
			"It shows one business, and not your account. " +
			"To change your account, sign out and sign in yourself: by password, passkey or a link that is sent to your email address. " +
			"If you have none of these, ask the delivery company for a sign-in link: it makes one with waybill person link."}
}

// SignInRefused answers where a password does not let in, for whatever reason: a
// caller learns not even whether there is such a person.
func SignInRefused() *Error {
	return &Error{Kind: KindUnauthenticated, Code: CodeSignInRefused,
		Message: "E-mail address and password do not match. Try again, or use a link."}
}

// BusinessDisabled answers a person who has proved to be one of a business that the
// delivery company has switched off.
func BusinessDisabled() *Error {
	return &Error{Kind: KindForbidden, Code: CodeBusinessDisabled,
		Message: "The delivery company has switched off the account of this business. Ask it to switch it on."}
}

// ViewDisabled answers staff who ask to see such a business as it does itself.
func ViewDisabled() *Error {
	return &Error{Kind: KindConflict, Code: CodeBusinessDisabled,
		Message: "This customer is disabled, and sees nothing of its portal. Read its pages in the console, or enable it first."}
}

// DeviceName is a browser in a few words, from what it calls itself.
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
