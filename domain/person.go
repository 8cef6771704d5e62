package domain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Codes that people and their administrators get.
const (
	CodeAlreadyMember  = "ALREADY_MEMBER"
	CodeLastOwner      = "LAST_OWNER"
	CodeNotAccepted    = "INVITATION_NOT_ACCEPTED"
	CodePersonDisabled = "PERSON_DISABLED"
	CodePersonIsStaff  = "PERSON_IS_STAFF"
	CodeDisableSelf    = "DISABLE_SELF"

	CodeFormAlreadySent    = "FORM_ALREADY_SENT"
	CodeDisabledByPlatform = "DISABLED_BY_PLATFORM" // of an application
)

// PersonState says whether a person can sign in.
type PersonState string

// The states. A person is invited until the first sign-in.
const (
	PersonInvited  PersonState = "invited"
	PersonActive   PersonState = "active"
	PersonDisabled PersonState = "disabled"
)

// Person signs in to the portal or to the console. Only memberships give a person permissions.
type Person struct {
	ID           ID
	Name         string
	Email        Email
	State        PersonState
	PasswordHash string // made by ports.Passwords; empty: none is set
	// EmailProven is set once the person used a link that nobody else saw, or the identity
	// provider. Before that, whoever saw the invitation may have opened the account and set its
	// password.
	EmailProven bool
	CreatedAt   time.Time
}

// Email is an email address in its unique form: ASCII, in small letters.
type Email string

// emailForm matches a dot-atom of RFC 5322 and a host name. Quoted local parts and address literals
// are refused: no account of a person has one. Addresses outside ASCII are refused too, since two
// that look alike would be two persons.
var emailForm = regexp.MustCompile("^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@" +
	`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// ParseEmail normalizes an address, or returns a VALIDATION_ERROR on "email" with the reason.
func ParseEmail(text string) (Email, error) {
	folded := strings.ToLower(strings.TrimSpace(text))
	local, _, _ := strings.Cut(folded, "@")
	if len(folded) > MaxEmail || len(local) > MaxEmailLocal || !emailForm.MatchString(folded) {
		return "", Invalid(FieldError{Field: "email", Code: FieldInvalidFormat,
			Message: fmt.Sprintf("an email address such as ama@example.com, in ASCII (a domain of other letters as xn--...) and of at most %d characters", MaxEmail)})
	}
	return Email(folded), nil
}

// Site is a web site that people sign in to.
type Site string

// The sites.
const (
	Portal  Site = "portal"  // for the people of a business
	Console Site = "console" // for the staff of the delivery company
)

// SiteOf returns the portal for a business, and the console for an empty ID.
func SiteOf(business ID) Site {
	if business == "" {
		return Console
	}
	return Portal
}

// Role is a role of a person at a site.
type Role string

// The roles. The portal's first three belong to people of a business, the console's four to staff.
// A viewer of one site is not a viewer of the other.
const (
	RoleOwner     Role = "owner"
	RoleDeveloper Role = "developer"
	RoleViewer    Role = "viewer"

	RoleAdmin      Role = "admin"
	RoleDispatcher Role = "dispatcher"
	RoleSupport    Role = "support"
)

// Roles lists the roles of a site, the strongest one first.
func Roles(s Site) []Role {
	if s == Console {
		return []Role{RoleAdmin, RoleDispatcher, RoleSupport, RoleViewer}
	}
	return []Role{RoleOwner, RoleDeveloper, RoleViewer}
}

// ParseRole accepts the roles of a site, or returns a VALIDATION_ERROR on "role" that lists them.
func ParseRole(s Site, text string) (Role, error) {
	if role := Role(text); slices.Contains(Roles(s), role) {
		return role, nil
	}
	names := make([]string, 0, len(Roles(s)))
	for _, role := range Roles(s) {
		names = append(names, string(role))
	}
	return "", Invalid(FieldError{Field: "role", Code: FieldNotAllowed, Message: "must be one of " + strings.Join(names, ", ")})
}

// Membership joins a person to a business, or, with an empty BusinessID, to the staff of the
// delivery company. It gives no right before it is accepted.
type Membership struct {
	PersonID   ID
	BusinessID ID
	Role       Role
	Name       string // as the inviter typed it, until the invitation is accepted
	CreatedAt  time.Time
	AcceptedAt *time.Time // nil: the invitation is unused
	// SignedOutAt is when the person was last signed out of the business; nil: never. An older
	// session ends when it is about to show the business again.
	SignedOutAt *time.Time
}

// Site returns the site that the membership opens.
func (m Membership) Site() Site { return SiteOf(m.BusinessID) }

// Member is a person as one business, or the staff, sees them. Until the invitation is accepted,
// Person.Name is the name that the inviter typed, or else the email address. So nobody sees the
// person's name elsewhere.
type Member struct {
	Person     Person
	Membership Membership
}

// NewMember joins a person with one of their memberships.
func NewMember(p Person, m Membership) Member {
	switch {
	case m.AcceptedAt != nil:
	case m.Name != "":
		p.Name = m.Name
	default:
		p.Name = string(p.Email)
	}
	return Member{Person: p, Membership: m}
}

// Reference returns the ID by which the pages of a business name the member.
func (m Member) Reference() ID {
	if m.Membership.AcceptedAt != nil || m.Membership.BusinessID == "" {
		return m.Person.ID
	}
	return InvitedReference(m.Person.ID)
}

// InvitedReference returns the ID by which the pages of a business name a person who has not
// accepted its invitation. The real ID would reveal when the account was made, and so whether it is
// older than the invitation.
func InvitedReference(person ID) ID {
	return digestID(PrefixPerson, "invited", string(person))
}

// LosesLastOwner reports whether a new role for the person leaves no owner (of the staff: no admin)
// who can sign in. An empty role means that the membership ends.
func LosesLastOwner(members []Member, person ID, role Role) bool {
	had, left := false, false
	for _, m := range members {
		strongest := Roles(m.Membership.Site())[0]
		if m.Membership.Role != strongest || m.Membership.AcceptedAt == nil || m.Person.State == PersonDisabled {
			continue
		}
		if m.Person.ID == person {
			had, left = true, left || role == strongest
			continue
		}
		left = true
	}
	return had && !left
}

// LastOwner returns the error where a change would leave a business without an owner.
func LastOwner(s Site) *Error {
	role := string(Roles(s)[0])
	return &Error{Kind: KindConflict, Code: CodeLastOwner,
		Message: "This is the last " + role + " who can sign in. Make another person " + role + " first."}
}

// DisableSelf returns the error for a person who wants to disable their own account.
func DisableSelf() *Error {
	return &Error{Kind: KindConflict, Code: CodeDisableSelf, Message: "You cannot disable your own account. Ask another admin to do it."}
}

// PersonIsStaff returns the error where an operator requests a link into the portal for a person of
// the staff.
func PersonIsStaff(e Email) *Error {
	return &Error{Kind: KindConflict, Code: CodePersonIsStaff,
		Message: string(e) + " belongs to the staff of the delivery company, and no link into the portal is made for it. " +
			"Use another email address of the customer."}
}
