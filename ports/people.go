package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// PersonReader reads the people who may sign in.
type PersonReader interface {
	Get(ctx context.Context, id domain.ID) (domain.Person, error)
	FindByEmail(ctx context.Context, email domain.Email) (domain.Person, error)
}

// PersonStore stores the people who may sign in.
type PersonStore interface {
	PersonReader
	// Add inserts the person, or returns the one with the same email address. created reports
	// which.
	Add(ctx context.Context, p domain.Person) (stored domain.Person, created bool, err error)
	// Lock reads the person and locks the row until the transaction ends.
	Lock(ctx context.Context, id domain.ID) (domain.Person, error)
	// Update stores name, state, password and EmailProven of a locked person.
	Update(ctx context.Context, p domain.Person) error
}

// MembershipReader reads the members of each business. An empty business is the staff of the
// delivery company. A malformed or unknown one has no members.
type MembershipReader interface {
	// Members lists the members of one business, oldest membership first.
	Members(ctx context.Context, business domain.ID) ([]domain.Member, error)
	// Member returns one of them.
	Member(ctx context.Context, business, person domain.ID) (domain.Member, error)
	// OfPerson lists the memberships of a person, oldest first, in businesses and on the staff.
	OfPerson(ctx context.Context, person domain.ID) ([]domain.Membership, error)
}

// MembershipStore stores the members of each business.
type MembershipStore interface {
	MembershipReader
	// LockMembers returns the members in the order of their IDs and locks their rows until the
	// transaction ends. So the second of two concurrent changes of owners decides on the outcome of
	// the first.
	LockMembers(ctx context.Context, business domain.ID) ([]domain.Member, error)
	// Insert returns domain.ErrNotFound where the person or business does not exist, and fails
	// where the person has a membership there.
	Insert(ctx context.Context, m domain.Membership) error
	// Update stores everything but the creation time.
	Update(ctx context.Context, m domain.Membership) error
	Remove(ctx context.Context, business, person domain.ID) error
}

// LinkReader finds links.
type LinkReader interface {
	// FindByDigest also finds used and expired links, until they are purged.
	FindByDigest(ctx context.Context, digest [32]byte) (domain.Link, error)
}

// LinkStore stores links.
type LinkStore interface {
	LinkReader
	Insert(ctx context.Context, l domain.Link) error
	// Use marks a link as used. Of concurrent callers one succeeds, and the others get
	// domain.LinkUsed.
	Use(ctx context.Context, id domain.ID, at time.Time) error
	// UseAll disables links that are neither used nor expired: it stores at as the time when they
	// were used and expired.
	UseAll(ctx context.Context, which LinksOf, at time.Time) error
	// Invitations counts the invitation links of a person to a business, or to the staff, that were
	// created after a time.
	Invitations(ctx context.Context, person, business domain.ID, since time.Time) (int, error)
}

// LinksOf selects links of one person.
type LinksOf struct {
	PersonID   domain.ID
	BusinessID *domain.ID // to this business only, to the console when empty; nil: all
	// OneBusiness selects the links with domain.Link.OneBusiness; false: all.
	OneBusiness bool
	Purpose     domain.LinkPurpose  // empty: all
	Origins     []domain.LinkOrigin // none: all
}

// SessionReader finds sessions.
type SessionReader interface {
	// FindByDigest finds a session with its person and the person's current role there. It returns
	// domain.ErrNotFound where the membership is gone or not accepted, the person is not active, or
	// the business is disabled. The caller checks whether the session is still valid.
	FindByDigest(ctx context.Context, digest [32]byte) (domain.Principal, error)
	// Get finds a session by its ID, as FindByDigest does.
	Get(ctx context.Context, id domain.ID) (domain.Principal, error)
	// Those finds many sessions by one query, in any order. It leaves out those that Get does not
	// find.
	Those(ctx context.Context, ids []domain.ID) ([]domain.Principal, error)
	// OfPerson lists the sessions of a person that are valid at a time, newest first.
	OfPerson(ctx context.Context, person domain.ID, at time.Time) ([]domain.Session, error)
}

// SessionStore stores sessions.
type SessionStore interface {
	SessionReader
	Insert(ctx context.Context, s domain.Session) error
	// Seen stores when a session was last used, unless a later time is stored.
	Seen(ctx context.Context, id domain.ID, at time.Time) error
	// SignedIn stores that the person signed in again within the session.
	SignedIn(ctx context.Context, id domain.ID, method domain.SignInMethod, at time.Time) error
	// Show switches a session to another business.
	Show(ctx context.Context, id, business domain.ID) error
	// End ends sessions that have not ended, and returns their number.
	End(ctx context.Context, which SessionsOf, at time.Time) (int, error)
}

// SessionsOf selects sessions of one person.
type SessionsOf struct {
	PersonID   domain.ID
	ID         domain.ID  // only this one; empty: all
	Except     domain.ID  // not this one; empty: no exception
	BusinessID *domain.ID // of this business only, of the console when empty; nil: all
}
