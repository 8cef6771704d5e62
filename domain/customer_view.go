package domain

import "time"

// How long a view of a customer's portal lasts.
const (
	ViewLifetime     = time.Hour       // at most, from the use of its link
	ViewLinkLifetime = 2 * time.Minute // of the link before it is used
)

// CustomerView lets a person of the staff see the portal as a customer does: read-only, as a
// viewer, for a reason that the customer reads in its own audit log. It begins when its link is
// used, which works once, and ends with the console session it comes from.
type CustomerView struct {
	ID         ID
	PersonID   ID // person of the staff
	BusinessID ID // the viewed business
	SessionID  ID // session of the console
	Reason     string
	LinkDigest [32]byte
	Digest     [32]byte // of the secret in the cookie; zero until the link is used
	CreatedAt  time.Time
	ExpiresAt  time.Time  // of the link; once used, of the view
	OpenedAt   *time.Time // nil: the link is unused
	EndedAt    *time.Time
}

// NewCustomerView checks the reason, which is trimmed, and sets the times. console is the session
// that the view comes from.
func NewCustomerView(id ID, console Session, business ID, reason string, now time.Time) (CustomerView, error) {
	if code, message := ViewReasonRule.Judge(reason); code != "" {
		return CustomerView{}, Invalid(FieldError{Field: "reason", Code: code, Message: message})
	}
	return CustomerView{ID: id, PersonID: console.PersonID, BusinessID: business, SessionID: console.ID, Reason: reason,
		CreatedAt: now, ExpiresAt: now.Add(ViewLinkLifetime)}, nil
}

// Openable returns nil, or the reason why the link does not work.
func (v CustomerView) Openable(now time.Time) error {
	switch {
	case v.OpenedAt != nil:
		return LinkUsed()
	case v.EndedAt != nil || !now.Before(v.ExpiresAt):
		return &Error{Kind: KindGone, Code: CodeLinkExpired, Message: "This link has expired. Make another one on the customer's page."}
	}
	return nil
}

// Works reports whether the view shows pages. console is the session it comes from, with the
// person's current staff role.
func (v CustomerView) Works(console Principal, now time.Time) bool {
	return v.OpenedAt != nil && v.EndedAt == nil && now.Before(v.ExpiresAt) &&
		console.Session.ID == v.SessionID && console.Site() == Console && console.Session.Live(now) &&
		May(Console, console.Role, ActViewAsCustomer)
}

// Principal returns the person of the staff as the portal sees them: a viewer of the business.
func (v CustomerView) Principal(person Person) Principal {
	return Principal{
		Person: person, Role: RoleViewer, View: &v,
		Session: Session{ID: v.ID, PersonID: v.PersonID, BusinessID: v.BusinessID, Digest: v.Digest, CreatedAt: *v.OpenedAt,
			SignedInAt: *v.OpenedAt, LastSeenAt: *v.OpenedAt, ExpiresAt: v.ExpiresAt, EndedAt: v.EndedAt},
	}
}
