package domain

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The codes that only operators get.
const (
	CodeInvalidOperatorToken = "INVALID_OPERATOR_TOKEN"
	CodeOperatorTokenRevoked = "OPERATOR_TOKEN_REVOKED"
	CodeOperatorTokenExpired = "OPERATOR_TOKEN_EXPIRED"
	CodeOperatorKindRefused  = "OPERATOR_KIND_REFUSED"
	CodeImportInvalid        = "IMPORT_INVALID"
)

// OperatorKind says which part of the operations API a token opens.
type OperatorKind string

// The kinds.
const (
	OperatorAdmin      OperatorKind = "admin"      // everything
	OperatorDispatcher OperatorKind = "dispatcher" // reading deliveries and advancing them
	OperatorReadOnly   OperatorKind = "read-only"  // reading everything
)

// OperatorKinds lists every kind.
func OperatorKinds() []OperatorKind {
	return []OperatorKind{OperatorAdmin, OperatorDispatcher, OperatorReadOnly}
}

// OperatorToken opens the operations API to one person or program of the delivery company. It holds
// only the digest of the secret.
type OperatorToken struct {
	ID        ID
	Name      string
	Kind      OperatorKind
	Digest    [32]byte // HMAC-SHA256 of the secret under one of the server's peppers
	Pepper    [32]byte // mark of that pepper; zero: the oldest one
	LastFour  string
	CreatedAt time.Time
	ExpiresAt *time.Time
	RevokedAt *time.Time
	// LastUsedAt lags by a minute at most. Nil: never used.
	LastUsedAt *time.Time
}

// Usable returns nil, or the 401 with the reason why the token does not work now.
func (t *OperatorToken) Usable(now time.Time) error {
	switch {
	case t.RevokedAt != nil:
		return &Error{Kind: KindUnauthenticated, Code: CodeOperatorTokenRevoked,
			Message: "The operator token ending " + t.LastFour + " was revoked."}
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return &Error{Kind: KindUnauthenticated, Code: CodeOperatorTokenExpired,
			Message: "The operator token ending " + t.LastFour + " expired at " + FormatTime(*t.ExpiresAt) + "."}
	}
	return nil
}

// Allows returns nil, or the 403 where only admins and the other kinds are allowed.
func (t *OperatorToken) Allows(others ...OperatorKind) error {
	if t.Kind == OperatorAdmin || slices.Contains(others, t.Kind) {
		return nil
	}
	kinds := []string{string(OperatorAdmin)}
	for _, kind := range others {
		kinds = append(kinds, string(kind))
	}
	return &Error{Kind: KindForbidden, Code: CodeOperatorKindRefused,
		Message: "The operator token ending " + t.LastFour + " is of the kind " + string(t.Kind) + ", and this takes one of the kind " +
			strings.Join(kinds, " or ") + ".",
		Details: map[string]any{"kind": string(t.Kind), "required_kinds": kinds}}
}

// OperatorTokenPrefix is the prefix of every operator token.
const OperatorTokenPrefix = "svc_ops_" //nolint:gosec // a prefix, and no token

// MakeOperatorToken renders a token from 32 random bytes, in the form of an API key.
func MakeOperatorToken(random [32]byte) string { return makeSecret(OperatorTokenPrefix, random) }

// SoundOperatorToken reports whether the form and the checksum of a token are right.
func SoundOperatorToken(secret string) bool { return soundSecret(OperatorTokenPrefix, secret) }

// Action names what an actor did, such as key.create.
type Action string

// The actions.
const (
	ActionBusinessCreate     Action = "business.create"
	ActionBusinessUpdate     Action = "business.update"
	ActionBusinessDisable    Action = "business.disable"
	ActionBusinessEnable     Action = "business.enable"
	ActionApplicationCreate  Action = "application.create"
	ActionApplicationRename  Action = "application.rename"
	ActionApplicationDisable Action = "application.disable"
	ActionApplicationEnable  Action = "application.enable"
	ActionKeyCreate          Action = "key.create"
	ActionKeyRotate          Action = "key.rotate"
	ActionKeyRevoke          Action = "key.revoke"
	ActionPickupCreate       Action = "pickup_location.create"
	ActionPickupUpdate       Action = "pickup_location.update"
	ActionPickupImport       Action = "pickup_location.import"
	ActionDeliveryAdvance    Action = "delivery.advance"  // by the platform
	ActionDeliveryCancel     Action = "delivery.cancel"   // by a person of the business, as the three below
	ActionDeliveryMove       Action = "delivery.move"     //
	ActionDeliverySimulate   Action = "delivery.simulate" //
	ActionDeliveryStop       Action = "delivery.stop"     // of its simulation
	ActionDeliveryBook       Action = "delivery.book"     // a sample, in the sandbox
	ActionWebhookResend      Action = "webhook.resend"
	ActionEndpointCreate     Action = "webhook_endpoint.create" // by a person of the business, as the five below
	ActionEndpointUpdate     Action = "webhook_endpoint.update"
	ActionEndpointRotate     Action = "webhook_endpoint.rotate_secret"
	ActionEndpointDelete     Action = "webhook_endpoint.delete"
	ActionEndpointTest       Action = "webhook_endpoint.test"
	ActionEndpointRecover    Action = "webhook_endpoint.recover"
	ActionInboxOpen          Action = "inbox.open"            // of the sandbox of an application, by a person of the business
	ActionSendingPause       Action = "webhook_sending.pause" // of an environment, as the one below
	ActionSendingResume      Action = "webhook_sending.resume"
	ActionMailRetry          Action = "mail.retry"
	ActionMailDrop           Action = "mail.drop"
	ActionTaskRetry          Action = "queue_task.retry"
	ActionTaskDrop           Action = "queue_task.drop"
	ActionOperatorCreate     Action = "operator.create"
	ActionOperatorRevoke     Action = "operator.revoke"

	ActionPersonInvite      Action = "person.invite"
	ActionPersonLink        Action = "person.link"
	ActionPersonAccept      Action = "person.accept"
	ActionPersonRole        Action = "person.role"
	ActionPersonRemove      Action = "person.remove"
	ActionPersonDisable     Action = "person.disable"
	ActionPersonEnable      Action = "person.enable"
	ActionPersonSignIn      Action = "person.sign_in"
	ActionPersonRefused     Action = "person.refused" // attempts to sign in, or to do what the role does not include
	ActionPersonRename      Action = "person.rename"
	ActionPersonPassword    Action = "person.password"
	ActionPersonEndSessions Action = "person.end_sessions"
	ActionPasskeyAdd        Action = "passkey.add"
	ActionPasskeyRename     Action = "passkey.rename"
	ActionPasskeyRemove     Action = "passkey.remove"

	ActionViewBegin       Action = "customer_view.begin" // by a person of the staff
	ActionViewEnd         Action = "customer_view.end"
	ActionIdentityConnect Action = "identity.connect" // an account of the company's identity provider
)

// Actions lists every action.
func Actions() []Action {
	return []Action{
		ActionBusinessCreate, ActionBusinessUpdate, ActionBusinessDisable, ActionBusinessEnable,
		ActionApplicationCreate, ActionApplicationRename, ActionApplicationDisable, ActionApplicationEnable,
		ActionKeyCreate, ActionKeyRotate, ActionKeyRevoke,
		ActionPickupCreate, ActionPickupUpdate, ActionPickupImport,
		ActionDeliveryAdvance, ActionDeliveryCancel, ActionDeliveryMove, ActionDeliverySimulate, ActionDeliveryStop, ActionDeliveryBook,
		ActionWebhookResend, ActionEndpointCreate, ActionEndpointUpdate, ActionEndpointRotate, ActionEndpointDelete, ActionEndpointTest,
		ActionEndpointRecover, ActionInboxOpen, ActionSendingPause, ActionSendingResume, ActionMailRetry, ActionMailDrop, ActionTaskRetry, ActionTaskDrop,
		ActionOperatorCreate, ActionOperatorRevoke,
		ActionPersonInvite, ActionPersonLink, ActionPersonAccept, ActionPersonRole, ActionPersonRemove,
		ActionPersonDisable, ActionPersonEnable, ActionPersonSignIn, ActionPersonRefused, ActionPersonRename, ActionPersonPassword,
		ActionPersonEndSessions,
		ActionPasskeyAdd, ActionPasskeyRename, ActionPasskeyRemove, ActionIdentityConnect,
		ActionViewBegin, ActionViewEnd,
	}
}

// AuditRecord is a change that an actor made. The zero AuditRecord means that nothing was changed.
type AuditRecord struct {
	Action     Action
	Target     ID // the changed or created record
	BusinessID ID // empty: of none
	// Details are a few facts for people. They never hold a secret, a phone number or an address.
	Details map[string]string
}

// AuditEntry is a stored audit record. It is never changed.
type AuditEntry struct {
	ID    ID
	At    time.Time
	Actor AuditActor
	AuditRecord
}

// AuditFilter narrows the audit log; zero fields do not narrow.
type AuditFilter struct {
	ActorID ID // of an operator token or a person
	Action  Action
	Target  ID
	Since   *time.Time // not before
	Until   *time.Time // before
}

// DeliverySearch narrows the deliveries of all businesses; zero fields do not narrow. They are
// sorted by ID, which is the order of booking.
type DeliverySearch struct {
	ID            ID
	Reference     Reference
	ExternalID    string
	Phone         PhoneNumber // of the recipient
	Status        Status
	Open          bool // has an open status
	BusinessID    ID
	ApplicationID ID
	Environment   Environment
	CreatedAfter  *time.Time // inclusive
	CreatedBefore *time.Time // exclusive
	UpdatedAfter  *time.Time // inclusive
	UpdatedBefore *time.Time // exclusive
	NewestFirst   bool
}

const (
	day         = 24 * time.Hour
	maxLifetime = 3650 * day
)

var errLifetime = errors.New("a lifetime is a number and a unit, such as 1s, 2h or 90d, up to 3650d")

// ParseLifetime reads Go's durations and whole days, from a millisecond to ten years.
func ParseLifetime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * day
	}
	if err != nil || d < time.Millisecond || d > maxLifetime {
		return 0, errLifetime
	}
	return d, nil
}
