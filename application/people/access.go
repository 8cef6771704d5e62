package people

import (
	"context"
	"encoding/hex"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// How often it may be tried to come in without success.
var (
	attemptsPerAddress = domain.RateLimit{Limit: 30, Window: 15 * time.Minute} // an office has one address
	attemptsPerPerson  = domain.RateLimit{Limit: 10, Window: 15 * time.Minute}
	linksPerPerson     = domain.RateLimit{Limit: 5, Window: 15 * time.Minute} // by mail: a mailbox is not to be filled
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

// NewAccess makes the use cases of signing in.
func NewAccess(s ports.Storage, p ports.Passwords, l ports.RateLimiter, c ports.Clock, ids ports.Identifiers) *Access {
	return &Access{storage: s, log: audit.New(s, c, ids), passwords: p, limiter: l, clock: c, ids: ids}
}

// Browser is what signing in looks at of a request.
type Browser struct {
	Address   string // of the client, as domain.ClientAddress makes it
	Device    string // the browser as it calls itself
	Mark      string // the secret by which a browser that was here is known again; empty: it has none
	RequestID string
}

// Entered is a new session at the only moment its secret is known.
type Entered struct {
	domain.Principal
	Secret string
	Mark   string // for the browser to keep; empty: it has one
	// CredentialsEnded: the person has joined a further business, and the password, the
	// passkeys and all other sessions ended with that.
	CredentialsEnded bool
}

// attempt charges the buckets before it is tried to come in, and gives back what was
// charged unless that was refused: so the failures are no more than the limits,
// however many try at once.
func (a *Access) attempt(ctx context.Context, try func() error, buckets ...ports.Bucket) error {
	allowance, err := a.limiter.Take(ctx, buckets...)
	if err != nil {
		return domain.Internal(err)
	}
	if !allowance.Admitted {
		return tooManySignIns(allowance)
	}
	err = try()
	for _, guess := range []string{domain.CodeSignInRefused, domain.CodeLinkUnknown, domain.CodePasskeyRefused, domain.CodeCeremonyOver} {
		if domain.HasCode(err, guess) {
			return err
		}
	}
	// Where that fails it stays an attempt: the link is used, and the session made.
	_ = a.limiter.GiveBack(context.WithoutCancel(ctx), buckets...)
	return err
}

func tooManySignIns(a ports.Allowance) *domain.Error {
	return &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManySignIns, RetryAfter: a.RetryAfter,
		Message: "Too many attempts to sign in. Wait a few minutes; links that were sent before still work then."}
}

func addressBucket(b Browser) ports.Bucket {
	return ports.Bucket{Scope: "sign_in_address", Name: b.Address, Limit: attemptsPerAddress}
}

// personBucket counts for an e-mail address, whether there is such a person or not.
// The limiter keeps no addresses: its names are digests.
func personBucket(email domain.Email, malformed string) ports.Bucket {
	text := string(email)
	if text == "" {
		text = malformed
	}
	digest := domain.BearerDigest(text)
	return ports.Bucket{Scope: "sign_in_person", Name: hex.EncodeToString(digest[:16]), Limit: attemptsPerPerson}
}

func signInRecord(action domain.Action, p domain.Principal) domain.AuditRecord {
	return accountRecord(action, p, map[string]string{"method": string(p.Session.Method), "site": string(p.Site()),
		"session_id": string(p.Session.ID)})
}

func accountRecord(action domain.Action, p domain.Principal, details map[string]string) domain.AuditRecord {
	return domain.AuditRecord{Action: action, Target: p.Person.ID, BusinessID: p.Session.BusinessID, Details: details}
}
