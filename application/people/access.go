package people

import (
	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Access signs people in and keeps their sessions.
type Access struct {
	storage   ports.Storage
	log       *audit.Log
	passwords ports.Passwords
	limiter   ports.RateLimiter
	clock     ports.Clock
	ids       ports.Identifiers
}

// NewAccess returns the use cases of signing in.
func NewAccess(s ports.Storage, p ports.Passwords, l ports.RateLimiter, c ports.Clock, ids ports.Identifiers) *Access {
	return &Access{storage: s, log: audit.New(s, c, ids), passwords: p, limiter: l, clock: c, ids: ids}
}

// Browser holds what signing in reads from a request.
type Browser struct {
	Address   string // of the client, as domain.ClientAddress makes it
	Device    string // the browser as it calls itself
	Mark      string // a secret that identifies a browser which signed in before; empty: it has none
	Foreign   bool   // a page of another site made the browser send the request
	RequestID string
}

// Entered holds a new session. Only now is its secret known.
type Entered struct {
	domain.Principal
	Secret string
	Mark   string // for the browser to store; empty: it has one
	// CredentialsEnded reports that the person proved the email address of an account that another
	// person may have opened. So the password, the passkeys and all other sessions ended.
	CredentialsEnded bool
}

func signInRecord(action domain.Action, p domain.Principal) domain.AuditRecord {
	return accountRecord(action, p, map[string]string{"method": string(p.Session.Method), "site": string(p.Site()),
		"session_id": string(p.Session.ID)})
}

func accountRecord(action domain.Action, p domain.Principal, details map[string]string) domain.AuditRecord {
	return domain.AuditRecord{Action: action, Target: p.Person.ID, BusinessID: p.Session.BusinessID, Details: details}
}
