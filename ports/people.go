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
	// Add inserts the person, or returns the one that has the e-mail address;
	// created tells which.
	Add(ctx context.Context, p domain.Person) (stored domain.Person, created bool, err error)
	// Lock reads the person and holds the row until the transaction ends.
	Lock(ctx context.Context, id domain.ID) (domain.Person, error)
	// Update stores name, state, password and EmailProven of a locked person.
	Update(ctx context.Context, p domain.Person) error
}

// MembershipReader reads the members of each business. An empty business is the
// staff of the delivery company; a malformed or unknown one has no members.
type MembershipReader interface {
	// Members are the persons of one business, oldest membership first.
	Members(ctx context.Context, business domain.ID) ([]domain.Member, error)
	// Member is one of them.
	Member(ctx context.Context, business, person domain.ID) (domain.Member, error)
	// OfPerson are the memberships of a person, oldest first, in businesses and on
	// the staff.
	OfPerson(ctx context.Context, person domain.ID) ([]domain.Membership, error)
}

// MembershipStore stores the members of each business.
type MembershipStore interface {
	MembershipReader
	// LockMembers is Members, in the order of their IDs, and holds their rows until
	// the transaction ends: of two changes of owners the second one decides on the
	// outcome of the first.
	LockMembers(ctx context.Context, business domain.ID) ([]domain.Member, error)
	// Insert answers domain.ErrNotFound where there is no such person or business,
	// and fails where the person has a membership there.
	Insert(ctx context.Context, m domain.Membership) error
	// Update stores all but when it was created.
	Update(ctx context.Context, m domain.Membership) error
	Remove(ctx context.Context, business, person domain.ID) error
}

// LinkReader finds links.
type LinkReader interface {
	// FindByDigest finds used and expired links too, until they are cleaned away.
	FindByDigest(ctx context.Context, digest [32]byte) (domain.Link, error)
}

// LinkStore keeps links.
type LinkStore interface {
	LinkReader
	Insert(ctx context.Context, l domain.Link) error
	// Use marks a link as used. Of any number of callers at once one succeeds and
	// the others get domain.LinkUsed.
	Use(ctx context.Context, id domain.ID, at time.Time) error
	// UseAll makes links that are neither used nor expired useless: at is stored as when
	// they were used and expired.
	UseAll(ctx context.Context, which LinksOf, at time.Time) error
	// Invitations counts the links of invitations of a person to a business, or to the staff,
	// that were made after a time.
	Invitations(ctx context.Context, person, business domain.ID, since time.Time) (int, error)
}

// LinksOf selects links of one person.
type LinksOf struct {
	PersonID   domain.ID
	BusinessID *domain.ID // those to one business alone, to the console when empty; nil: all
	// OneBusiness selects those that domain.Link calls so; false: all.
	OneBusiness bool
	Purpose     domain.LinkPurpose // empty: all
}

// SessionReader finds sessions.
type SessionReader interface {
	// FindByDigest finds a session with its person and the role that the person has
	// there now: domain.ErrNotFound where the membership is gone or not accepted, the
	// person is not active, or the business is disabled. Whether the session still works is the caller's to check.
	FindByDigest(ctx context.Context, digest [32]byte) (domain.Principal, error)
	// Get is FindByDigest by the ID of the session.
	Get(ctx context.Context, id domain.ID) (domain.Principal, error)
	// Those is Get for many with one query, in any order and without those that Get does not find.
	Those(ctx context.Context, ids []domain.ID) ([]domain.Principal, error)
	// OfPerson are the sessions of a person that work at a time, newest first.
	OfPerson(ctx context.Context, person domain.ID, at time.Time) ([]domain.Session, error)
}

// SessionStore keeps sessions.
type SessionStore interface {
	SessionReader
	Insert(ctx context.Context, s domain.Session) error
	// Seen keeps when a session was used last, unless a later time is there.
	Seen(ctx context.Context, id domain.ID, at time.Time) error
	// SignedIn keeps that the person signed in again in place.
	SignedIn(ctx context.Context, id domain.ID, method domain.SignInMethod, at time.Time) error
	// Show makes a session one of another business.
	Show(ctx context.Context, id, business domain.ID) error
	// End ends sessions that have not ended, and tells how many.
	End(ctx context.Context, which SessionsOf, at time.Time) (int, error)
}

// SessionsOf selects sessions of one person.
type SessionsOf struct {
	PersonID   domain.ID
	ID         domain.ID  // this one alone; empty: all
	Except     domain.ID  // not this one; empty: no exception
	BusinessID *domain.ID // those of one business alone, of the console when empty; nil: all
}
