package domain

import (
	"crypto/sha256"
	"slices"
	"time"
)

// MailKind is the subject of a mail.
type MailKind string

// The kinds.
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
	MailAccountChanges     MailKind = "account_changes"     // summary of further notices about the own account

	MailKeyCreated MailKind = "key_created"
	MailKeyRotated MailKind = "key_rotated"
	MailKeyRevoked MailKind = "key_revoked"
	MailKeyExpires MailKind = "key_expires"
	MailKeyChanges MailKind = "key_changes" // summary of further notices about keys

	MailEndpointFailing   MailKind = "endpoint_failing" // and will be disabled
	MailEndpointDisabled  MailKind = "endpoint_disabled"
	MailEndpointRecovered MailKind = "endpoint_recovered"
	MailEndpointChanges   MailKind = "endpoint_changes" // summary of further notices about endpoints
)

// MailKinds lists every kind.
func MailKinds() []MailKind {
	return []MailKind{
		MailInvitation, MailSignInLink, MailNewDevice, MailPasskeyAdded, MailPasskeyRemoved, MailPasswordSet, MailPasswordChanged,
		MailIdentityConnected, MailCredentialsRemoved, MailAccountChanges, MailKeyCreated, MailKeyRotated, MailKeyRevoked, MailKeyExpires,
		MailKeyChanges, MailEndpointFailing, MailEndpointDisabled, MailEndpointRecovered, MailEndpointChanges,
	}
}

// Roles lists the roles whose members get a mail about their business: those that act on it. It
// lists none for a mail to one person.
func (k MailKind) Roles() []Role {
	if k == MailInvitation || k == MailSignInLink || k.AboutAccount() {
		return nil
	}
	return []Role{RoleOwner, RoleDeveloper}
}

// AboutAccount reports whether a mail is a notice to one person about how they sign in.
func (k MailKind) AboutAccount() bool {
	switch k {
	case MailNewDevice, MailPasskeyAdded, MailPasskeyRemoved, MailPasswordSet, MailPasswordChanged, MailIdentityConnected,
		MailCredentialsRemoved, MailAccountChanges:
		return true
	}
	return false
}

// Lifetime returns how long a mail is tried. Later its content is of no use.
func (k MailKind) Lifetime() time.Duration {
	switch k {
	case MailSignInLink:
		return time.Hour // later the person has gone, or has requested another one
	case MailInvitation:
		return LinkInvitation.Lifetime()
	}
	return 3 * day
}

// actionMails maps changes to the mails about them.
var actionMails = map[Action]MailKind{ActionKeyCreate: MailKeyCreated, ActionKeyRotate: MailKeyRotated, ActionKeyRevoke: MailKeyRevoked}

// MailedActions returns the actions that AuditNotice makes mails of.
func MailedActions() []Action { return []Action{ActionKeyCreate, ActionKeyRotate, ActionKeyRevoke} }

// Notice is something to tell people by mail. It goes only to Email, or only to PersonID, or else
// to the members of the business whose role is one of Kind.Roles.
type Notice struct {
	Kind MailKind
	// Cause is the record that the notice comes from. A person gets one mail for each kind and
	// cause, however often the notice is given.
	Cause      ID
	BusinessID ID    // empty: the staff's console, or none
	PersonID   ID    // empty: not for one person
	Email      Email // the address that requested a link; there may be no such person, and BusinessID only says in whose turn it is sent
	About      ID    // the key, or the webhook endpoint
	// Facts are values for the text that no record has, never a secret.
	Facts  map[string]string
	At     time.Time
	Budget MailBudget // the budget it counts against; empty: none
}

// The names of facts.
const (
	FactBy     = "by"     // name of the person who did it; absent: the delivery company
	FactDevice = "device" // the browser, in a few words
	FactSite   = "site"   // the site of a requested link
	FactReason = "reason" // why an endpoint was disabled, as a DisabledReason; of a recovered one: FactEnabled
	FactSince  = "since"  // when an endpoint began to fail
	FactUntil  = "until"  // when it is disabled if it continues to fail
	FactNext   = "next"   // ID of the key that replaced another
	FactURL    = "url"    // host of an endpoint
	FactName   = "name"   // name of a passkey

	FactEnabled = "enabled"
)

// AuditNotice returns the notice of a change, or false where there is none.
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

// DisabledNotice reports that an endpoint was disabled. cause is the event that reports it to
// programs.
func DisabledNotice(e WebhookEndpoint, cause ID) Notice {
	n := endpointNotice(MailEndpointDisabled, e, cause, e.UpdatedAt)
	n.Facts[FactReason] = string(e.Disabled)
	if e.Health.FailingSince != nil {
		n.Facts[FactSince] = FormatTime(*e.Health.FailingSince)
	}
	return n
}

// RecoveredNotice reports that an endpoint responds again after a time without webhooks. It returns
// false where it does not respond, or where nothing was withheld from it. An endpoint that goes up
// and down gets one notice an hour.
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

// EnabledNotice reports that an endpoint that was disabled because of its responses is enabled
// again. It returns false where it was not, or is not.
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

// AccountNotice tells the person of a session about a change of their own account. cause is the
// changed record, or an ID of the change.
func AccountNotice(k MailKind, s Session, cause ID, at time.Time) Notice {
	return Notice{Kind: k, Cause: cause, PersonID: s.PersonID, BusinessID: s.BusinessID, At: at, Budget: BudgetAccount,
		Facts: map[string]string{FactDevice: DeviceName(s.Device)}}
}

// MailState is the state of a mail.
type MailState string

// The states. A mail begins as waiting and ends as one of the others.
const (
	MailWaiting MailState = "waiting"
	MailSent    MailState = "sent"     // the mail server accepted it
	MailGivenUp MailState = "given_up" // permanently refused, or its time was over
	MailDropped MailState = "dropped"  // nobody is left to receive it
)

// Mail is one notice to one recipient in the outbox. It has no text and no secret. Both are made
// when it is sent.
type Mail struct {
	ID ID
	Notice
	State     MailState
	DueAt     time.Time
	ExpiresAt time.Time // it is not tried later
	Attempts  int
	SettledAt *time.Time // nil while it is pending
	LastError string     // of the last attempt, for operators
}

// MailKept is how long the result of a mail is kept. It is longer than TellExpiry, because an
// existing mail is not made again.
const MailKept = 30 * day

// MailTo returns the mail of a notice to a recipient. Its ID is derived from kind, cause and
// recipient, so that a repeated notice is the same mail.
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

// digestID returns an ID derived from the parts.
func digestID(p Prefix, parts ...string) ID {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(append([]byte(part), 0))
	}
	return MakeID(p, [16]byte(sum.Sum(nil)[:16]))
}

// mailPauses are the pauses after failed attempts. The last one repeats.
var mailPauses = []time.Duration{
	10 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
}

// NextAttempt returns when a mail is retried, or false where its time is over by then.
func (m Mail) NextAttempt(now time.Time) (time.Time, bool) {
	pause := mailPauses[min(max(m.Attempts, 1), len(mailPauses))-1]
	next := now.Add(pause)
	return next, next.Before(m.ExpiresAt)
}

// TellsMember reports whether a member gets the mail, now.
func (m Mail) TellsMember(of Member) bool {
	roles := m.Kind.Roles()
	return of.Person.State == PersonActive && of.Membership.AcceptedAt != nil && (roles == nil || slices.Contains(roles, of.Membership.Role))
}

// TellExpiry is how long before its expiry people are told of a key. For a key with a shorter life,
// the mail about its creation is enough.
const TellExpiry = 7 * day

// ExpiryNotice reports that a key expires soon. It returns false where it does not, or where people
// know it.
func ExpiryNotice(c Credential, now time.Time) (Notice, bool) {
	k := c.Key
	if k.ExpiresAt == nil || k.RevokedAt != nil || c.Application.Disabled || !now.Before(*k.ExpiresAt) ||
		k.ExpiresAt.Sub(now) > TellExpiry || k.ExpiresAt.Sub(k.CreatedAt) <= TellExpiry {
		return Notice{}, false
	}
	return Notice{Kind: MailKeyExpires, Cause: k.ID, BusinessID: c.Business.ID, About: k.ID, At: now, Budget: keyBudget(k.Environment)}, true
}
