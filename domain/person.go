package domain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Codes that people and their administrators meet.
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

// PersonState is whether a person can sign in.
type PersonState string

// The states there are. A person is invited until the first sign-in.
const (
	PersonInvited  PersonState = "invited"
	PersonActive   PersonState = "active"
	PersonDisabled PersonState = "disabled"
)

// Person signs in to the portal or to the console. The permissions of a person
// follow from memberships alone.
type Person struct {
	ID           ID
	Name         string
	Email        Email
	State        PersonState
	PasswordHash string // as ports.Passwords makes it; empty: none is set
	// EmailProven is set once the person came by a link that nobody else was shown, or by the
	// identity provider. Before that, whoever was shown the invitation may have opened the
	// account and set its password.
	EmailProven bool
	CreatedAt   time.Time
}

// Email is an address of an e-mail account in the form in which it is unique:
// ASCII, in small letters.
type Email string

// emailForm is a dot-atom of RFC 5322 and the name of a host. Quoted local parts
// and address literals are refused: no account of a person has one. Addresses
// outside ASCII are refused too: two that look alike would be two persons.
var emailForm = regexp.MustCompile("^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@" +
	`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// ParseEmail folds an address, or tells in a VALIDATION_ERROR on "email" what is
// wrong with it.
func ParseEmail(text string) (Email, error) {
	folded := strings.ToLower(strings.TrimSpace(text))
	local, _, _ := strings.Cut(folded, "@")
	if len(folded) > MaxEmail || len(local) > MaxEmailLocal || !emailForm.MatchString(folded) {
		return "", Invalid(FieldError{Field: "email", Code: FieldInvalidFormat,
			Message: fmt.Sprintf("an e-mail address such as ama@example.com, in ASCII (a domain of other letters as xn--...) and of at most %d characters", MaxEmail)})
	}
	return Email(folded), nil
}

// Site is one of the web sites that people sign in to.
type Site string

// The sites there are.
const (
	Portal  Site = "portal"  // for the people of a business
	Console Site = "console" // for the staff of the delivery company
)

// SiteOf is the portal for a business, and the console for an empty ID.
func SiteOf(business ID) Site {
	if business == "" {
		return Console
	}
	return Portal
}

// Role is what a person may do at a site.
type Role string

// The roles there are. The portal's first three are of people of a business, the
// console's four of staff; a viewer of one site is not a viewer of the other.
const (
	RoleOwner     Role = "owner"
	RoleDeveloper Role = "developer"
	RoleViewer    Role = "viewer"

	RoleAdmin      Role = "admin"
	RoleDispatcher Role = "dispatcher"
	RoleSupport    Role = "support"
)

// Roles are the roles of a site, the strongest one first.
func Roles(s Site) []Role {
	if s == Console {
		return []Role{RoleAdmin, RoleDispatcher, RoleSupport, RoleViewer}
	}
	return []Role{RoleOwner, RoleDeveloper, RoleViewer}
}

// ParseRole accepts the roles of a site, or tells in a VALIDATION_ERROR on "role"
// which there are.
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

// Membership joins a person to a business, or, with an empty BusinessID, to the
// staff of the delivery company. It gives no right before it was accepted.
type Membership struct {
	PersonID   ID
	BusinessID ID
	Role       Role
	Name       string // that the inviter typed, until the invitation is accepted
	CreatedAt  time.Time
	AcceptedAt *time.Time // nil: the invitation was not used yet
	// SignedOutAt is when the person was last signed out of the business; nil: never. A
	// session from before ends where it is to show it again.
	SignedOutAt *time.Time
}

// Site is where the membership lets the person in.
func (m Membership) Site() Site { return SiteOf(m.BusinessID) }

// Member is a person as one business, or the staff, sees them. Until the invitation is
// accepted, Person.Name is the name that the inviter typed, and the email address where none
// is kept: nobody sees what the person is called elsewhere.
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
// accepted its invitation. The ID of a person says when the account was made, and so whether
// it is older than the invitation.
func InvitedReference(person ID) ID {
	return digestID(PrefixPerson, "invited", string(person))
}

// LosesLastOwner reports whether no owner (of the staff: no admin) who can sign in
// is left when the person's membership gets another role; an empty role means that
// it ends.
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

// LastOwner answers where a change would leave a business without an owner.
func LastOwner(s Site) *Error {
	role := string(Roles(s)[0])
	return &Error{Kind: KindConflict, Code: CodeLastOwner,
		Message: "This is the last " + role + " who can sign in. Make another person " + role + " first."}
}

// DisableSelf answers a person who wants to disable their own account.
func DisableSelf() *Error {
	return &Error{Kind: KindConflict, Code: CodeDisableSelf, Message: "You cannot disable your own account. Ask another admin to do it."}
}

// PersonIsStaff answers where an operator asks for a link into the portal for a person of the
// staff.
func PersonIsStaff(e Email) *Error {
	return &Error{Kind: KindConflict, Code: CodePersonIsStaff,
		Message: string(e) + " belongs to the staff of the delivery company, and no link into the portal is made for it. " +
			"Use another email address of the customer."}
}
