package people

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Company signs staff in at the company's own identity provider, which controls their roles. Each
// sign-in sets the role that the rules derive from it, or none.
//
// Issuer and subject identify an account there. Its email address counts once, at the first
// sign-in. It makes a new person, or takes over an account whose address nobody has proved, whoever
// invited or opened it. Every way in from before ends, and memberships stay. A proved address is not
// taken over. Its person connects the account in a session opened in another way.
//
// When an account to which the rules give no role is used, its person leaves the staff. Neither
// password nor passkey opens the console for them after that. They, and a person who was removed by
// hand, come back with the next sign-in to which the rules give a role. To keep one out for good,
// remove the group at the provider or disable the account here. The last admin stays admin,
// whatever the rules say, so that a mistake in them does not lock everybody out of the console.
//
// Anybody may begin a sign-in, so nothing is stored for it: the secret of the browser is derived
// from the ID in the address and the pepper of the server. It has no limit by address either, with
// which one person could lock out a whole office. A sign-in that succeeds stores the ID, so that it
// works once. A visit within a session is stored until the browser is back.
type Company struct {
	access   *Access
	provider ports.IdentityProvider // nil: there is none
	rules    domain.RoleRules
	digest   ports.KeyDigester
}

// NewCompany returns the use cases of an identity provider, or of none.
func NewCompany(a *Access, p ports.IdentityProvider, r domain.RoleRules, d ports.KeyDigester) *Company {
	return &Company{access: a, provider: p, rules: r, digest: d}
}

// Offered reports whether there is an identity provider.
func (c *Company) Offered() bool { return c.provider != nil }

// Departure tells a browser how to go to the identity provider.
type Departure struct {
	Address string
	Secret  string // only for this browser, to store until it is back
}

// Answer holds what a browser brings back.
type Answer struct {
	Secret          string // of the departure
	State, Code     string
	Fault, FaultWhy string // of the provider instead of a code
}

// Returned describes a browser that came back and was accepted.
type Returned struct {
	Purpose domain.CeremonyPurpose
	Entered Entered // of a sign-in
}

// BeginSignIn sends a browser to the provider to sign in.
func (c *Company) BeginSignIn(ctx context.Context) (Departure, error) {
	if c.provider == nil {
		return Departure{}, domain.ErrNotFound
	}
	id := c.access.datedCeremony()
	secret := domain.MakeBearerSecret(c.digest.Digest(departureOf(id)))
	// With a maximum age, providers report when the person proved who they are. If it is as long as
	// a session, they do not ask a person who is signed in there.
	address, err := c.provider.Begin(ctx, request(id, secret, domain.SessionLifetime))
	if err != nil {
		return Departure{}, unavailable(err)
	}
	return Departure{Address: address, Secret: secret}, nil
}

// departureOf returns the text whose digest is the secret of a browser that left to sign in.
func departureOf(id domain.ID) string {
	return "waybill sign-in at the identity provider " + string(id)
}

// signInDeparture returns the ceremony of a sign-in as it is stored once it succeeds. ok is false
// for a secret that does not belong to the state. It may be of a previous pepper.
func (c *Company) signInDeparture(a Answer) (away domain.Ceremony, ok bool) {
	id, err := domain.ParseID(domain.PrefixCeremony, a.State)
	if err != nil {
		return away, false
	}
	made := id.MadeAt()
	away = domain.Ceremony{ID: id, Purpose: domain.CeremonyOIDCSignIn, Challenge: domain.BearerDigest(a.Secret),
		CreatedAt: made, ExpiresAt: made.Add(domain.IdentityLifetime)}
	for _, digest := range append([][32]byte{c.digest.Digest(departureOf(id))}, c.digest.Previous(departureOf(id))...) {
		if away.Challenge == domain.BearerDigest(domain.MakeBearerSecret(digest)) {
			return away, true
		}
	}
	return away, false
}

// BeginConfirm sends a browser to the provider to make its session fresh. The provider asks the
// person to prove who they are again, however recent the last sign-in was.
func (c *Company) BeginConfirm(ctx context.Context, p domain.Principal) (Departure, error) {
	if err := p.OwnSignIn(); err != nil {
		return Departure{}, err
	}
	return c.begin(ctx, domain.CeremonyOIDCConfirm, p.Session.ID, 0)
}

// BeginConnect sends a browser to the provider to connect an account there with the person. It
// requires a fresh sign-in.
func (c *Company) BeginConnect(ctx context.Context, p domain.Principal) (Departure, error) {
	if err := p.Allows(domain.ActOwnAccount, c.access.clock.Now()); err != nil {
		return Departure{}, err
	}
	return c.begin(ctx, domain.CeremonyOIDCConnect, p.Session.ID, 0)
}

// Connected lists the accounts at the provider that sign the person in.
func (c *Company) Connected(ctx context.Context, p domain.Principal) ([]domain.ConnectedIdentity, error) {
	return c.access.storage.Read().Identities.OfPerson(ctx, p.Person.ID)
}

// begin sends a browser with a session to the provider.
func (c *Company) begin(ctx context.Context, purpose domain.CeremonyPurpose, session domain.ID, maxAge time.Duration) (Departure, error) {
	if c.provider == nil {
		return Departure{}, domain.ErrNotFound
	}
	secret, now := domain.MakeBearerSecret(c.access.ids.SigningSecret()), c.access.clock.Now()
	away := domain.Ceremony{
		ID: c.access.ids.ID(domain.PrefixCeremony), Purpose: purpose, SessionID: session, Challenge: domain.BearerDigest(secret),
		CreatedAt: now, ExpiresAt: now.Add(domain.IdentityLifetime),
	}
	address, err := c.provider.Begin(ctx, request(away.ID, secret, maxAge))
	if err != nil {
		return Departure{}, unavailable(err)
	}
	err = c.access.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.Ceremonies.Insert(ctx, away) })
	return Departure{Address: address, Secret: secret}, err
}

// request returns the same for both calls of a sign-in. All but its state is derived from the
// secret that only the browser has, so that reading the table or the address is not enough to sign
// in.
func request(id domain.ID, secret string, maxAge time.Duration) ports.IdentityRequest {
	derive := func(what string) string {
		return domain.MakeBearerSecret(domain.BearerDigest(what + " " + string(id) + " " + secret))
	}
	return ports.IdentityRequest{State: string(id), Nonce: derive("nonce"), Verifier: derive("verifier"), MaxAge: maxAge}
}

func unavailable(err error) error {
	switch {
	case errors.Is(err, ports.ErrIdentityClientRefused):
		return domain.IdentityClientRefused(err)
	case errors.Is(err, ports.ErrIdentityUnavailable):
		return domain.IdentityUnavailable(err)
	}
	return err
}

// Return accepts a browser that came back. p is the person of its session, or zero. It works in the
// browser that was sent away. A sign-in succeeds once. A visit within a session ends in any case.
func (c *Company) Return(ctx context.Context, b Browser, p domain.Principal, a Answer) (back Returned, err error) {
	if c.provider == nil {
		return back, domain.ErrNotFound
	}
	away, err := c.departed(ctx, p.Session.ID, a)
	if err != nil {
		return back, err
	}
	back.Purpose = away.Purpose
	if a.Fault == "unauthorized_client" || a.Fault == "invalid_client" {
		return back, domain.IdentityClientRefused(errors.New(a.Fault + because(a.FaultWhy)))
	}
	if a.Fault != "" {
		return back, domain.IdentityRefused(faultWords(a), nil)
	}
	identity, err := c.provider.Finish(ctx, request(away.ID, a.Secret, 0), a.Code)
	if errors.Is(err, ports.ErrIdentityUnproven) {
		return back, domain.IdentityRefused("The answer of the identity provider proves nothing. Begin again.", err)
	}
	if err != nil {
		return back, unavailable(err)
	}
	if n := len(identity.Subject); n < 1 || n > domain.MaxSubject {
		return back, domain.IdentityRefused("The identity provider names your account in a way that cannot be kept. Ask an admin.", nil)
	}
	switch away.Purpose {
	case domain.CeremonyOIDCConfirm:
		return back, c.confirm(ctx, b, p, away, identity)
	case domain.CeremonyOIDCConnect:
		return back, c.connect(ctx, b, p, away, identity)
	}
	back.Entered, err = c.signIn(ctx, b, away, identity)
	return back, err
}

// departed returns the departure of an answer. It uses up one within a session, before the answer
// is checked.
func (c *Company) departed(ctx context.Context, session domain.ID, a Answer) (away domain.Ceremony, err error) {
	away, signIn := c.signInDeparture(a)
	if signIn {
		session = "" // a browser with a session may sign in again
	} else {
		away, err = c.access.takeCeremony(ctx, domain.ID(a.State))
	}
	if errors.Is(err, domain.ErrNotFound) {
		return away, domain.IdentityOver()
	}
	if err != nil {
		return away, err
	}
	ours := strings.HasPrefix(string(away.Purpose), "oidc_") && away.Challenge == domain.BearerDigest(a.Secret)
	if !ours || !away.Open(away.Purpose, session, c.access.clock.Now()) {
		return away, domain.IdentityOver()
	}
	return away, nil
}

// faultWords explains what a provider answered instead of a code.
func faultWords(a Answer) string {
	const other = " Sign in another way, or ask an admin."
	switch a.Fault {
	case "access_denied":
		return "The sign-in was cancelled, or the identity provider does not let you in." + other
	case "temporarily_unavailable", "server_error":
		return "The identity provider has a fault of its own at the moment. Try again in a minute." + other
	case "login_required", "interaction_required", "consent_required", "account_selection_required":
		return "The identity provider did not finish the sign-in. Begin again."
	}
	return fmt.Sprintf("The identity provider refused with %q%s.", shortened(a.Fault), because(a.FaultWhy)) + other
}

func because(why string) string {
	if why = shortened(why); why == "" {
		return ""
	}
	return fmt.Sprintf(" and says %q", why)
}

// confirm makes a session fresh. The time that the provider reports shows whether the person was
// asked again. That we requested it proves nothing.
func (c *Company) confirm(ctx context.Context, b Browser, p domain.Principal, away domain.Ceremony, i domain.Identity) error {
	switch connected, err := c.access.storage.Read().Identities.Find(ctx, i.Issuer, i.Subject); {
	case err != nil && !errors.Is(err, domain.ErrNotFound):
		return err
	case err != nil || connected.PersonID != p.Person.ID:
		return domain.IdentityRefused("You signed in there with an account that is not the one of your session here. Begin again with that one.",
			nil)
	}
	if err := c.askedAgain(away, i); err != nil {
		return err
	}
	return c.access.log.Change(ctx, p.Actor(b.RequestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if _, err := tx.Persons.Lock(ctx, p.Person.ID); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := c.access.stillIn(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		p.Session.Method = domain.SignInByOIDC
		return signInRecord(domain.ActionPersonSignIn, p), tx.Sessions.SignedIn(ctx, p.Session.ID, p.Session.Method,
			i.ProvenAt(c.access.clock.Now()))
	})
}

// askedAgain returns nil if the person proved who they are after the browser was sent away. The
// browser may be signed in there as somebody else.
func (c *Company) askedAgain(away domain.Ceremony, i domain.Identity) error {
	const clocks = time.Minute // the difference allowed between two clocks
	switch {
	case i.AuthenticatedAt.IsZero():
		return domain.IdentityRefused("The identity provider does not tell when you proved who you are, so that this is no recent sign-in. "+
			"Use your password, a passkey or a link.", nil)
	case i.AuthenticatedAt.Before(away.CreatedAt.Add(-clocks)):
		return domain.IdentityRefused("The identity provider did not ask you again. Sign out there, and begin again.", nil)
	case i.AuthenticatedAt.After(c.access.clock.Now().Add(clocks)):
		return domain.IdentityRefused("The identity provider says that you proved who you are in the future. "+
			"Ask those who look after it to check its clock, and the one of this server.", nil)
	}
	return nil
}

// connect stores that an account there signs in the person of a session. It requires a sign-in
// there that is as recent as for confirm.
func (c *Company) connect(ctx context.Context, b Browser, p domain.Principal, away domain.Ceremony, i domain.Identity) error {
	if err := c.askedAgain(away, i); err != nil {
		return err
	}
	return c.access.log.Change(ctx, p.Actor(b.RequestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if _, err := tx.Persons.Lock(ctx, p.Person.ID); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := c.access.stillIn(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		connected, err := tx.Identities.Find(ctx, i.Issuer, i.Subject)
		switch {
		case err == nil && connected.PersonID == p.Person.ID:
			return domain.AuditRecord{}, nil
		case err == nil:
			return domain.AuditRecord{}, domain.IdentityTaken()
		case !errors.Is(err, domain.ErrNotFound):
			return domain.AuditRecord{}, err
		}
		if err := tx.Identities.Insert(ctx, c.connected(p.Person.ID, i)); err != nil {
			return domain.AuditRecord{}, err
		}
		return accountRecord(domain.ActionIdentityConnect, p, map[string]string{"issuer": i.Issuer, "subject": i.Subject}),
			c.access.tellOwner(ctx, tx, domain.MailIdentityConnected, p, c.access.ids.ID(domain.PrefixAuditEntry))
	})
}

func (c *Company) connected(person domain.ID, i domain.Identity) domain.ConnectedIdentity {
	return domain.ConnectedIdentity{Issuer: i.Issuer, Subject: i.Subject, PersonID: person, CreatedAt: c.access.clock.Now()}
}
