package domain

import "strings"

// ActorKind says what made a change.
type ActorKind string

// The kinds there are.
const (
	ActorOperator ActorKind = "operator" // the delivery company: a token of the operations API, or a person of its staff
	ActorPerson   ActorKind = "person"   // a person of a business, on its behalf
	ActorCommand  ActorKind = "command"  // a command on the server
)

// AuditActor makes a change. Every use case that changes something for an operator, a
// person or a command takes one, and puts it into the audit log.
type AuditActor struct {
	ID        ID     // of an operator token or a person; empty: a command
	Name      string // of the token or the person, or command:USER
	RequestID string // empty: not by a request
	// BusinessID is set for a person of a business and empty for all others. Such an
	// actor changes nothing of another business: audit.Log refuses.
	BusinessID ID
	// OneBusiness is set for a person in a session that the link of an operator opened. It is
	// not kept.
	OneBusiness bool
}

// Kind follows from the ID and the business.
func (a AuditActor) Kind() ActorKind {
	switch {
	case a.ID == "":
		return ActorCommand
	case a.BusinessID != "":
		return ActorPerson
	}
	return ActorOperator
}

// IsPerson tells people, of a business or of the staff, from tokens and commands.
func (a AuditActor) IsPerson() bool { return strings.HasPrefix(string(a.ID), string(PrefixPerson)) }

// ActsFor reports whether the actor may see and change what is the business's. A use
// case that takes a bare ID asks for it as soon as it knows whose the record is, and
// answers ErrNotFound otherwise.
func (a AuditActor) ActsFor(business ID) bool { return a.BusinessID == "" || a.BusinessID == business }
