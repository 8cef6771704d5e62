package domain

import "strings"

// ActorKind says what kind of actor made a change.
type ActorKind string

// The kinds of actors.
const (
	ActorOperator ActorKind = "operator" // the delivery company: a token of the operations API, or a person of its staff
	ActorPerson   ActorKind = "person"   // a person of a business, on its behalf
	ActorCommand  ActorKind = "command"  // a command on the server
)

// AuditActor is who makes a change. Every use case that changes something for an operator, a person
// or a command takes one, and writes it to the audit log.
type AuditActor struct {
	ID        ID     // of an operator token or a person; empty: a command
	Name      string // of the token or the person, or command:USER
	RequestID string // empty: no request
	// BusinessID is set for a person of a business and empty for all others.
	// audit.Log refuses changes by such an actor to another business.
	BusinessID ID
	// OneBusiness is set for a person in a session that an operator's link opened. It is not
	// stored.
	OneBusiness bool
	// Session and Role are set for a person in a session. audit.Log refuses changes once the session
	// has ended or the person has another role. They are not stored.
	Session ID
	Role    Role
}

// Kind derives the kind from the ID and the business.
func (a AuditActor) Kind() ActorKind {
	switch {
	case a.ID == "":
		return ActorCommand
	case a.BusinessID != "":
		return ActorPerson
	}
	return ActorOperator
}

// IsPerson reports whether the actor is a person, of a business or of the staff, and no token or
// command.
func (a AuditActor) IsPerson() bool { return strings.HasPrefix(string(a.ID), string(PrefixPerson)) }

// ActsFor reports whether the actor may see and change the records of a business. A use case that
// takes a bare ID calls it as soon as it knows the record's owner, and returns ErrNotFound where it
// is false.
func (a AuditActor) ActsFor(business ID) bool { return a.BusinessID == "" || a.BusinessID == business }
