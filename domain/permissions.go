package domain

import (
	"slices"
	"time"
)

// Codes about the permissions of a person with a session.
const (
	CodeRoleRefused  = "ROLE_REFUSED"
	CodeSignInTooOld = "SIGN_IN_TOO_OLD"
	CodeViewReadOnly = "VIEW_READ_ONLY"
)

// Act is something that a person does at a site.
type Act string

// Acts of the portal.
const (
	ActRead                   Act = "read"                     // applications, requests, deliveries, webhooks, usage, people
	ActReadAudit              Act = "audit.read"               // of the own business
	ActManageApplications     Act = "applications.manage"      // create, rename, disable
	ActManageSandboxKeys      Act = "sandbox_keys.manage"      // create, rotate, revoke
	ActManageLiveKeys         Act = "live_keys.manage"         //
	ActManageWebhooks         Act = "webhooks.manage"          // create, change, pause, delete, test
	ActReadWebhookSecrets     Act = "webhook_secrets.manage"   // shown when an endpoint is made or its secret rotated
	ActResendWebhooks         Act = "webhooks.resend"          // one, or a period
	ActSimulate               Act = "sandbox.simulate"         // book, move and cancel in the sandbox
	ActCancelLiveDeliveries   Act = "live_deliveries.cancel"   //
	ActManageSandboxLocations Act = "sandbox_locations.manage" // pickup locations
	ActManageLiveLocations    Act = "live_locations.manage"    //
	ActManagePeople           Act = "people.manage"            // invite, change role, remove
)

// Acts of the console.
const (
	ActReadEverything       Act = "everything.read"
	ActReadEveryAudit       Act = "every_audit.read"
	ActMoveDeliveries       Act = "deliveries.move"
	ActManageBusinesses     Act = "businesses.manage"      // limits, applications, keys, people, pickup locations
	ActRepairQueues         Act = "queues.repair"          // pause, resend, retry
	ActViewAsCustomer       Act = "customer.view_as"       // read-only, with a reason
	ActManageStaff          Act = "staff.manage"           // invite, change role, remove, end sessions
	ActManageOperatorTokens Act = "operator_tokens.manage" // of programs
)

// ActOwnAccount is a change of the own account, at either site: password, passkeys, sessions.
const ActOwnAccount Act = "account.manage"

// permission is one row of the table of what roles may do.
type permission struct {
	act     Act
	portal  []Role
	console []Role
	fresh   bool // needs a sign-in younger than FreshFor
}

var permissions = func() []permission {
	owner := []Role{RoleOwner}
	developers := []Role{RoleOwner, RoleDeveloper}
	admin := []Role{RoleAdmin}
	everyMember, everyStaff := Roles(Portal), Roles(Console)
	return []permission{
		{act: ActRead, portal: everyMember},
		{act: ActReadAudit, portal: developers},
		{act: ActManageApplications, portal: owner},
		{act: ActManageSandboxKeys, portal: developers},
		{act: ActManageLiveKeys, portal: owner, fresh: true},
		{act: ActManageWebhooks, portal: developers},
		{act: ActReadWebhookSecrets, portal: developers, fresh: true},
		{act: ActResendWebhooks, portal: developers},
		{act: ActSimulate, portal: developers},
		{act: ActCancelLiveDeliveries, portal: owner},
		{act: ActManageSandboxLocations, portal: developers},
		{act: ActManageLiveLocations, portal: owner},
		{act: ActManagePeople, portal: owner, fresh: true},

		{act: ActReadEverything, console: everyStaff},
		{act: ActReadEveryAudit, console: []Role{RoleAdmin, RoleSupport}},
		{act: ActMoveDeliveries, console: []Role{RoleAdmin, RoleDispatcher}},
		{act: ActManageBusinesses, console: admin, fresh: true},
		{act: ActRepairQueues, console: admin},
		{act: ActViewAsCustomer, console: []Role{RoleAdmin, RoleSupport}},
		{act: ActManageStaff, console: admin, fresh: true},
		{act: ActManageOperatorTokens, console: admin, fresh: true},

		{act: ActOwnAccount, portal: everyMember, console: everyStaff, fresh: true},
	}
}()

// Acts lists every act.
func Acts() []Act {
	acts := make([]Act, 0, len(permissions))
	for _, p := range permissions {
		acts = append(acts, p.act)
	}
	return acts
}

// May reports whether a role of a site includes an act. It refuses an act that is not in the table.
func May(s Site, r Role, a Act) bool {
	for _, p := range permissions {
		if p.act == a {
			return s == Portal && slices.Contains(p.portal, r) || s == Console && slices.Contains(p.console, r)
		}
	}
	return false
}

// NeedsFreshSignIn reports whether an act requires a sign-in younger than FreshFor.
func NeedsFreshSignIn(a Act) bool {
	return slices.ContainsFunc(permissions, func(p permission) bool { return p.act == a && p.fresh })
}

// Principal is a signed-in person with the session and its current permissions.
type Principal struct {
	Session Session
	Person  Person
	Role    Role
	// View is set for a person of the staff who sees the portal as a customer, and nil for all
	// others. Such a principal can only read.
	View *CustomerView
}

// Reader names the person in the business of the session. Limits on reading count by it, so that a
// session that others can open for a person in one business blocks none in another.
func (p Principal) Reader() ID { return p.Person.ID + " " + p.Session.BusinessID }

// Site returns the site of the session.
func (p Principal) Site() Site { return p.Session.Site() }

// Allows returns nil, the 403 for an act that the role does not include, or the error for an act
// that requires a younger sign-in. An edge calls it before each use case.
func (p Principal) Allows(a Act, now time.Time) error {
	switch {
	case p.View != nil && a != ActRead:
		return &Error{Kind: KindForbidden, Code: CodeViewReadOnly,
			Message: "You see this business as its customer, read-only. End the view to do anything else.",
			Details: map[string]any{"act": string(a)}}
	case !May(p.Site(), p.Role, a):
		return &Error{Kind: KindForbidden, Code: CodeRoleRefused,
			Message: "The role " + string(p.Role) + " does not include this.", Details: map[string]any{"role": string(p.Role), "act": string(a)}}
	case a == ActOwnAccount && p.Session.OneBusiness:
		return OwnSignInNeeded()
	case NeedsFreshSignIn(a) && !p.Session.Fresh(now):
		return &Error{Kind: KindForbidden, Code: CodeSignInTooOld,
			Message: "This needs a sign-in of the last 10 minutes. Sign in again; the session goes on.", Details: map[string]any{"act": string(a)}}
	}
	return nil
}

// Actor returns the person as the audit log names them.
func (p Principal) Actor(requestID string) AuditActor {
	return AuditActor{ID: p.Person.ID, Name: p.Person.Name, BusinessID: p.Session.BusinessID, RequestID: requestID,
		OneBusiness: p.Session.OneBusiness, Session: p.Session.ID, Role: p.Role}
}

// OwnSignIn returns nil, or OWN_SIGN_IN_NEEDED where an operator's link opened the session. It
// protects what belongs to the person and is no act of the table.
func (p Principal) OwnSignIn() error {
	if p.Session.OneBusiness {
		return OwnSignInNeeded()
	}
	return nil
}
