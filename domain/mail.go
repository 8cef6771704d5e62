package domain

import (
	"crypto/sha256"
	"slices"
	"time"
)

// MailKind is what a mail is about.
type MailKind string

// The kinds there are.
const (
	MailInvitation MailKind = "invitation"   // carries a link
	MailSignInLink MailKind = "sign_in_link" // carries a link
	MailNewDevice  MailKind = "new_device"

	MailPasskeyAdded       MailKind = "passkey_added"
	MailPasskeyRemoved     MailKind = "passkey_removed"
	MailPasswordSet        MailKind = "password_set"
	MailPasswordChanged    MailKind = "password_changed"
	MailIdentityConnected  MailKind = "identity_connected"  // an account at the identity provider signs the person in
	MailCredentialsRemoved MailKind = "credentials_removed" // password and passkeys
	MailAccountChanges     MailKind = "account_changes"     // joins further notices of the own account

	MailKeyCreated MailKind = "key_created"
	MailKeyRotated MailKind = "key_rotated"
	MailKeyRevoked MailKind = "key_revoked"
	MailKeyExpires MailKind = "key_expires"
	MailKeyChanges MailKind = "key_changes" // joins further notices of keys

	MailEndpointFailing   MailKind = "endpoint_failing" // and will be disabled
	MailEndpointDisabled  MailKind = "endpoint_disabled"
	MailEndpointRecovered MailKind = "endpoint_recovered"
	MailEndpointChanges   MailKind = "endpoint_changes" // joins further notices of endpoints
)

// MailKinds is every kind.
func MailKinds() []MailKind {
	return []MailKind{
		MailInvitation, MailSignInLink, MailNewDevice, MailPasskeyAdded, MailPasskeyRemoved, MailPasswordSet, MailPasswordChanged,
		MailIdentityConnected, MailCredentialsRemoved, MailAccountChanges, MailKeyCreated, MailKeyRotated, MailKeyRevoked, MailKeyExpires,
		MailKeyChanges, MailEndpointFailing, MailEndpointDisabled, MailEndpointRecovered, MailEndpointChanges,
	}
}

// Roles are the roles whose members are told about something of their business: those
// that act on it. None for a mail that is one person's own.
func (k MailKind) Roles() []Role {
	if k == MailInvitation || k == MailSignInLink || k.AboutAccount() {
		return nil
	}
	return []Role{RoleOwner, RoleDeveloper}
}

// AboutAccount reports a notice to one person about what lets them in.
func (k MailKind) AboutAccount() bool {
	switch k {
	case MailNewDevice, MailPasskeyAdded, MailPasskeyRemoved, MailPasswordSet, MailPasswordChanged, MailIdentityConnected,
		MailCredentialsRemoved, MailAccountChanges:
		return true
	}
	return false
}

// Lifetime is for how long a mail is tried: later its content is of no use.
func (k MailKind) Lifetime() time.Duration {
	switch k {
	case MailSignInLink:
		return time.Hour // later the person has gone, or has asked again
	case MailInvitation:
		return LinkInvitation.Lifetime()
	}
	return 3 * day
}

// actionMails are the changes that people are told of by mail.
var actionMails = map[Action]MailKind{ActionKeyCreate: MailKeyCreated, ActionKeyRotate: MailKeyRotated, ActionKeyRevoke: MailKeyRevoked}

// MailedActions returns the actions that AuditNotice tells of.
func MailedActions() []Action { return []Action{ActionKeyCreate, ActionKeyRotate, ActionKeyRevoke} }

// Notice is something that people are told by mail. It goes to Email alone, or to
// PersonID alone, or else to the members of the business whose role is one of Kind.Roles.
type Notice struct {
	Kind MailKind
	// Cause is the record that the notice comes from. A notice of the same kind and
	// cause is told to a person once, however often it is given.
	Cause      ID
	BusinessID ID    // empty: of the staff's console, or of none
	PersonID   ID    // empty: not to one person
	Email      Email // a link was asked for by this address; there may be no such person, and BusinessID only says in whose turn it is sent
	About      ID    // the key, or the webhook endpoint
	// Facts are values for the text that no record has. Never a secret.
	Facts  map[string]string
	At     time.Time
	Budget MailBudget // that it counts against; empty: none
}

// The names of facts.
const (
	FactBy     = "by"     // the person who did it, by name; absent: the delivery company
	FactDevice = "device" // the browser, in a few words
	FactSite   = "site"   // to which a link was asked for
	FactReason = "reason" // why an endpoint was disabled, as a DisabledReason; of a recovered one: FactEnabled
	FactSince  = "since"  // when an endpoint began to fail
	FactUntil  = "until"  // from when on one that goes on failing is disabled
	FactNext   = "next"   // the ID of the key that took the place of another
	FactURL    = "url"    // the host of an endpoint
	FactName   = "name"   // of a passkey

	FactEnabled = "enabled"
)

// AuditNotice is the mail about a change, or false where there is none.
func AuditNotice(e AuditEntry) (Notice, bool) {
	kind, told := actionMails[e.Action]
	n := Notice{
		Kind: kind, Cause: e.ID, BusinessID: e.BusinessID, About: e.Target, At: e.At, Facts: map[string]string{},
		Budget: keyBudget(Environment(e.Details["environment"])),
	}
	if e.Actor.Kind() == ActorPerson {
		n.Facts[FactBy] = e.Actor.Name
	}
	if next := e.Details["successor"]; next != "" {
		n.Facts[FactNext] = next
	}
	return n, told
}

// DisabledNotice tells that nothing is sent to an endpoint any more; cause is the event
// that says so to programs.
func DisabledNotice(e WebhookEndpoint, cause ID) Notice {
	n := endpointNotice(MailEndpointDisabled, e, cause, e.UpdatedAt)
	n.Facts[FactReason] = string(e.Disabled)
	if e.Health.FailingSince != nil {
		n.Facts[FactSince] = FormatTime(*e.Health.FailingSince)
	}
	return n
}

// RecoveredNotice tells that an endpoint to which nothing was sent for a while answers
// again; false where it does not, or where nothing was kept from it. An endpoint that
// goes up and down is told of once an hour.
func RecoveredNotice(before WebhookEndpoint, now WebhookHealth, at time.Time) (Notice, bool) {
	since := before.Health.FailingSince
	if !before.Enabled || before.Health.Opened == 0 || since == nil || now.FailingSince != nil || at.IsZero() {
		return Notice{}, false
	}
	n := endpointNotice(MailEndpointRecovered, before, before.ID, at)
	n.Cause = digestID(PrefixWebhookEndpoint, string(before.ID), FormatTime(at.Truncate(time.Hour)))
	n.Facts[FactSince] = FormatTime(*since)
	return n, true
}

// EnabledNotice tells that an endpoint which had been disabled because of its answers is
// enabled again; false where it was not, or is not.
func EnabledNotice(before, now WebhookEndpoint) (Notice, bool) {
	if before.Enabled || !now.Enabled || before.Disabled == DisabledByCaller {
		return Notice{}, false
	}
	n := endpointNotice(MailEndpointRecovered, now, "", now.UpdatedAt)
	n.Cause = digestID(PrefixWebhookEndpoint, string(now.ID), FormatTime(now.UpdatedAt.Truncate(time.Hour)))
	n.Facts[FactReason] = FactEnabled
	return n, true
}

func endpointNotice(k MailKind, e WebhookEndpoint, cause ID, at time.Time) Notice {
	return Notice{Kind: k, Cause: cause, BusinessID: e.Tenant.BusinessID, About: e.ID, At: at, Facts: map[string]string{FactURL: e.Host()},
		Budget: endpointBudget(e.Tenant.Environment)}
}

// AccountNotice tells the person of a session what has changed about the own account; cause
// is the record that was changed, or one of its own.
func AccountNotice(k MailKind, s Session, cause ID, at time.Time) Notice {
	return Notice{Kind: k, Cause: cause, PersonID: s.PersonID, BusinessID: s.BusinessID, At: at, Budget: BudgetAccount,
		Facts: map[string]string{FactDevice: DeviceName(s.Device)}}
}

// MailState is the state of a mail.
type MailState string

// The states there are. A mail begins as waiting and ends as one of the others.
const (
	MailWaiting MailState = "waiting"
	MailSent    MailState = "sent"     // the mail server took it
	MailGivenUp MailState = "given_up" // refused for good, or its time was over
	MailDropped MailState = "dropped"  // there is no one to tell it to any more
)

// Mail is one notice to one recipient, as the outbox holds it. It has no text and no
// secret: both are made when it is sent.
type Mail struct {
	ID ID
	Notice
	State     MailState
	DueAt     time.Time
	ExpiresAt time.Time // it is not tried later
	Attempts  int
	SettledAt *time.Time // nil while it waits
	LastError string     // of the last attempt, for operators
}

// MailKept is how long it is kept what became of a mail: longer than TellExpiry, because
// a mail that is there is not made again.
const MailKept = 30 * day

// MailTo is the mail that a notice becomes for a recipient. Its ID follows from kind,
// cause and recipient, so that the same notice again is the same mail.
func MailTo(n Notice, person ID) Mail {
	recipient := string(person)
	if person == "" {
		recipient = string(n.Email)
	}
	n.PersonID = person
	return Mail{
		ID: digestID(PrefixMail, string(n.Kind), string(n.Cause), recipient), Notice: n, State: MailWaiting, DueAt: n.At,
		ExpiresAt: n.At.Add(n.Kind.Lifetime()),
	}
}

// digestID is an ID that follows from what it is made of.
func digestID(p Prefix, parts ...string) ID {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(append([]byte(part), 0))
	}
	return MakeID(p, [16]byte(sum.Sum(nil)[:16]))
}

// mailPauses are the pauses after failed attempts; the last one goes on.
var mailPauses = []time.Duration{
	10 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
}

// NextAttempt is when a mail is tried again after so many attempts; false where its
// time is over by then.
func (m Mail) NextAttempt(now time.Time) (time.Time, bool) {
	pause := mailPauses[min(max(m.Attempts, 1), len(mailPauses))-1]
	next := now.Add(pause)
	return next, next.Before(m.ExpiresAt)
}

// TellsMember reports whether a member is to be told what the mail says, now.
func (m Mail) TellsMember(of Member) bool {
	roles := m.Kind.Roles()
	return of.Person.State == PersonActive && of.Membership.AcceptedAt != nil && (roles == nil || slices.Contains(roles, of.Membership.Role))
}

// TellExpiry is for how long before it expires people are told of a key. Of a key that
// was made for less the mail about its making says enough.
const TellExpiry = 7 * day

// ExpiryNotice tells that a key expires soon; false where that is not so, or not news.
func ExpiryNotice(c Credential, now time.Time) (Notice, bool) {
	k := c.Key
	if k.ExpiresAt == nil || k.RevokedAt != nil || c.Application.Disabled || !now.Before(*k.ExpiresAt) ||
		k.ExpiresAt.Sub(now) > TellExpiry || k.ExpiresAt.Sub(k.CreatedAt) <= TellExpiry {
		return Notice{}, false
	}
	return Notice{Kind: MailKeyExpires, Cause: k.ID, BusinessID: c.Business.ID, About: k.ID, At: now, Budget: keyBudget(k.Environment)}, true
}
