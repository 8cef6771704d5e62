package people

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
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

// Browser is what is looked at of a request that wants to come in.
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

// Look finds a link that works. It changes nothing, so that a mail scanner that opens
// the address spends nothing. Unknown links count as attempts of the address.
func (a *Access) Look(ctx context.Context, b Browser, secret string) (link domain.Link, err error) {
	err = a.attempt(ctx, func() error {
		link, err = a.find(ctx, secret)
		return err
	}, addressBucket(b))
	return link, err
}

func (a *Access) find(ctx context.Context, secret string) (domain.Link, error) {
	link, err := a.storage.Read().Links.FindByDigest(ctx, domain.BearerDigest(secret))
	if errors.Is(err, domain.ErrNotFound) {
		return link, domain.LinkUnknown()
	}
	if err != nil {
		return link, err
	}
	return link, link.Usable(a.clock.Now())
}

// Enter uses a link, once: of any number of browsers at once one gets a session and
// the others are told LINK_USED.
func (a *Access) Enter(ctx context.Context, b Browser, secret string) (entered Entered, err error) {
	err = a.attempt(ctx, func() error {
		link, err := a.find(ctx, secret)
		if err != nil {
			return err
		}
		entered, err = a.enter(ctx, b, link)
		return err
	}, addressBucket(b))
	return entered, err
}

func (a *Access) enter(ctx context.Context, b Browser, link domain.Link) (entered Entered, err error) {
	person, err := a.storage.Read().Persons.Get(ctx, link.PersonID)
	if err != nil {
		return entered, err
	}
	by := domain.AuditActor{ID: person.ID, Name: person.Name, BusinessID: link.BusinessID, RequestID: b.RequestID}
	err = a.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		entered = Entered{}
		person, err := tx.Persons.Lock(ctx, link.PersonID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		now := a.clock.Now()
		if err := tx.Links.Use(ctx, link.ID, now); err != nil {
			return domain.AuditRecord{}, err
		}
		// There may be one on a screen and another one in a mail: a person who has signed
		// in needs neither.
		if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: person.ID, BusinessID: &link.BusinessID}, now); err != nil {
			return domain.AuditRecord{}, err
		}
		member, err := tx.Memberships.Member(ctx, link.BusinessID, person.ID)
		if errors.Is(err, domain.ErrNotFound) || person.State == domain.PersonDisabled ||
			member.Membership.AcceptedAt == nil && link.Purpose != domain.LinkInvitation {
			return domain.AuditRecord{}, domain.LinkUnknown() // what it led to is gone
		}
		if err != nil {
			return domain.AuditRecord{}, err
		}
		action := domain.ActionPersonSignIn
		if member.Membership.AcceptedAt == nil {
			action = domain.ActionPersonAccept
			member.Membership.AcceptedAt = &now
			if err := tx.Memberships.Update(ctx, member.Membership); err != nil {
				return domain.AuditRecord{}, err
			}
			if _, err := endAll(ctx, tx, person.ID, now); err != nil {
				return domain.AuditRecord{}, err
			}
			entered.CredentialsEnded = person.State == domain.PersonActive
			if _, err := tx.Passkeys.RemoveAll(ctx, person.ID); err != nil {
				return domain.AuditRecord{}, err
			}
			person.State, person.PasswordHash = domain.PersonActive, ""
			if err := tx.Persons.Update(ctx, person); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		member.Person = person
		err = a.begin(ctx, tx, &entered, member, domain.SignInByLink, b)
		return signInRecord(action, entered.Principal), err
	})
	return entered, err
}

// begin stores a session of a member whose identity is proved, and queues a mail to a
// person who signed in by an unknown browser.
func (a *Access) begin(ctx context.Context, tx ports.Stores, e *Entered, m domain.Member, method domain.SignInMethod, b Browser) error {
	secret, now := domain.MakeBearerSecret(a.ids.SigningSecret()), a.clock.Now()
	session := domain.Session{
		ID: a.ids.ID(domain.PrefixSession), PersonID: m.Person.ID, BusinessID: m.Membership.BusinessID, Digest: domain.BearerDigest(secret),
		Method: method, Device: shortened(b.Device), CreatedAt: now, SignedInAt: now, LastSeenAt: now, ExpiresAt: now.Add(domain.SessionLifetime),
	}
	e.Principal, e.Secret, e.Mark = domain.Principal{Session: session, Person: m.Person, Role: m.Membership.Role}, secret, ""
	mark := b.Mark
	if mark == "" {
		mark = domain.MakeBearerSecret(a.ids.SigningSecret())
		e.Mark = mark
	}
	known, others, err := tx.Devices.Seen(ctx, m.Person.ID, domain.BearerDigest(mark), now)
	if err == nil && !known && others {
		err = tx.Mails.Tell(ctx, domain.Notice{
			Kind: domain.MailNewDevice, Cause: session.ID, PersonID: m.Person.ID, BusinessID: session.BusinessID, At: now,
			Facts: map[string]string{domain.FactDevice: domain.DeviceName(session.Device)},
		})
	}
	if err != nil {
		return err
	}
	return tx.Sessions.Insert(ctx, session)
}

// SendLink queues a mail with a link for signing in to an e-mail address, if a person
// with that address may sign in there. The sender of the mail checks that: for any
// address the answer here is the same and takes the same work, one stored row.
func (a *Access) SendLink(ctx context.Context, b Browser, site domain.Site, email string) error {
	folded, err := domain.ParseEmail(email)
	if err != nil {
		return err
	}
	// What is charged is not given back: any request may fill a mailbox.
	toAddress, toPerson := addressBucket(b), personBucket(folded, "")
	toAddress.Scope, toPerson.Scope, toPerson.Limit = "link_address", "link_person", linksPerPerson
	allowance, err := a.limiter.Take(ctx, toAddress, toPerson)
	if err != nil {
		return domain.Internal(err)
	}
	if !allowance.Admitted {
		return &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManySignIns, RetryAfter: allowance.RetryAfter,
			Message: "Too many links were asked for. Wait a few minutes, and look for those that were sent: spam folders take some."}
	}
	now := a.clock.Now()
	return a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		return tx.Mails.Tell(ctx, domain.Notice{
			Kind: domain.MailSignInLink, Cause: a.ids.ID(domain.PrefixLink), Email: folded, At: now,
			Facts: map[string]string{domain.FactSite: string(site)},
		})
	})
}

// SignIn lets a person in by e-mail address and password, to the business joined
// first. Unknown, disabled, without a password, not of this site and wrong are one
// answer after the same work.
func (a *Access) SignIn(ctx context.Context, b Browser, site domain.Site, email, password string) (entered Entered, err error) {
	folded, malformed := domain.ParseEmail(email)
	err = a.attempt(ctx, func() error {
		person, member, err := a.candidate(ctx, site, folded, malformed != nil)
		if err != nil {
			return err
		}
		outdated, err := a.verify(ctx, person.PasswordHash, password)
		if err != nil {
			return err
		}
		upgraded := person.PasswordHash
		if outdated {
			if hash, err := a.passwords.Hash(ctx, password); err == nil { // next time, otherwise
				upgraded = hash
			}
		}
		by := domain.AuditActor{ID: person.ID, Name: person.Name, BusinessID: member.BusinessID, RequestID: b.RequestID}
		return a.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
			now, err := tx.Persons.Lock(ctx, person.ID)
			if err != nil {
				return domain.AuditRecord{}, err
			}
			there, err := tx.Memberships.Member(ctx, member.BusinessID, person.ID)
			if errors.Is(err, domain.ErrNotFound) || now.State != domain.PersonActive || now.PasswordHash != person.PasswordHash {
				return domain.AuditRecord{}, domain.SignInRefused() // changed while the password was checked
			}
			if err != nil {
				return domain.AuditRecord{}, err
			}
			if upgraded != now.PasswordHash {
				now.PasswordHash = upgraded
				if err := tx.Persons.Update(ctx, now); err != nil {
					return domain.AuditRecord{}, err
				}
			}
			there.Person = now
			err = a.begin(ctx, tx, &entered, there, domain.SignInByPassword, b)
			return signInRecord(domain.ActionPersonSignIn, entered.Principal), err
		})
	}, addressBucket(b), personBucket(folded, email))
	return entered, err
}

// nobody has an ID that no person has, to do the same reads for.
var nobody = domain.MakeID(domain.PrefixPerson, [16]byte{})

// candidate finds the person of a sign-in by password, and the membership. A
// person without an accepted membership of the site comes back without a
// password.
func (a *Access) candidate(ctx context.Context, site domain.Site, email domain.Email, malformed bool) (person domain.Person,
	member domain.Membership, err error) {
	if malformed {
		email = "nobody@invalid"
	}
	person, err = a.storage.Read().Persons.FindByEmail(ctx, email)
	if errors.Is(err, domain.ErrNotFound) {
		person, err = domain.Person{ID: nobody}, nil
	}
	if err != nil {
		return person, member, err
	}
	member, err = a.place(ctx, site, person)
	if errors.Is(err, domain.ErrNotFound) {
		person.PasswordHash, err = "", nil
	}
	return person, member, err
}

// place is where an active person comes in: the first accepted membership at the
// site, or domain.ErrNotFound.
func (a *Access) place(ctx context.Context, site domain.Site, person domain.Person) (domain.Membership, error) {
	all, err := a.storage.Read().Memberships.OfPerson(ctx, person.ID)
	if err != nil {
		return domain.Membership{}, err
	}
	for _, m := range all {
		if m.Site() == site && m.AcceptedAt != nil && person.State == domain.PersonActive {
			return m, nil
		}
	}
	return domain.Membership{}, domain.ErrNotFound
}

// verify answers SIGN_IN_REFUSED for a password that is not the one of the hash.
func (a *Access) verify(ctx context.Context, hash, password string) (outdated bool, err error) {
	matches, outdated, err := a.passwords.Verify(ctx, hash, password)
	switch {
	case errors.Is(err, ports.ErrPasswordsBusy):
		return false, passwordsBusy(err)
	case err != nil:
		return false, err
	case !matches:
		return false, domain.SignInRefused()
	}
	return outdated, nil
}

// Confirm checks the password again within a session and makes the session fresh. Its
// failures are counted apart from those of signing in, so that guesses at the sign-in
// page do not lock out a person with a session.
func (a *Access) Confirm(ctx context.Context, b Browser, p domain.Principal, password string) error {
	return a.attempt(ctx, func() error {
		person, err := a.storage.Read().Persons.Get(ctx, p.Person.ID)
		if err != nil {
			return err
		}
		if _, err := a.verify(ctx, person.PasswordHash, password); err != nil {
			return err
		}
		return a.log.Change(ctx, p.Actor(b.RequestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
			p.Session.Method = domain.SignInByPassword
			return signInRecord(domain.ActionPersonSignIn, p), tx.Sessions.SignedIn(ctx, p.Session.ID, p.Session.Method, a.clock.Now())
		})
	}, addressBucket(b), personBucket("", string(p.Person.ID)))
}

// Identify tells whose session a secret is, at a site, or answers SESSION_ENDED.
func (a *Access) Identify(ctx context.Context, site domain.Site, secret string) (domain.Principal, error) {
	p, err := a.storage.Read().Sessions.FindByDigest(ctx, domain.BearerDigest(secret))
	now := a.clock.Now()
	if errors.Is(err, domain.ErrNotFound) || err == nil && (p.Site() != site || !p.Session.Live(now)) {
		return domain.Principal{}, domain.SessionEnded()
	}
	if err == nil && now.Sub(p.Session.LastSeenAt) >= domain.SeenEvery {
		err = a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.Sessions.Seen(ctx, p.Session.ID, now) })
	}
	return p, err
}

// Show makes the session one of another business of the person's.
func (a *Access) Show(ctx context.Context, p domain.Principal, business domain.ID) error {
	return a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		member, err := tx.Memberships.Member(ctx, business, p.Person.ID)
		if err != nil {
			return err
		}
		if member.Membership.AcceptedAt == nil || member.Membership.Site() != p.Site() {
			return domain.ErrNotFound
		}
		return tx.Sessions.Show(ctx, p.Session.ID, business)
	})
}

// Businesses are the memberships between which a person may choose in the portal,
// oldest first.
func (a *Access) Businesses(ctx context.Context, p domain.Principal) ([]domain.Membership, error) {
	all, err := a.storage.Read().Memberships.OfPerson(ctx, p.Person.ID)
	var accepted []domain.Membership
	for _, m := range all {
		if m.AcceptedAt != nil && m.Site() == domain.Portal {
			accepted = append(accepted, m)
		}
	}
	return accepted, err
}

// Sessions are the person's own, at both sites, newest first.
func (a *Access) Sessions(ctx context.Context, p domain.Principal) ([]domain.Session, error) {
	return a.storage.Read().Sessions.OfPerson(ctx, p.Person.ID, a.clock.Now())
}

// SignOut ends the session itself.
func (a *Access) SignOut(ctx context.Context, p domain.Principal, requestID string) error {
	_, err := a.end(ctx, p, requestID, ports.SessionsOf{ID: p.Session.ID})
	return err
}

// EndSession ends one session of the person's own; domain.ErrNotFound where there is
// none that works.
func (a *Access) EndSession(ctx context.Context, p domain.Principal, requestID string, id domain.ID) error {
	ended, err := a.end(ctx, p, requestID, ports.SessionsOf{ID: id})
	if err == nil && ended == 0 {
		return domain.ErrNotFound
	}
	return err
}

// EndOtherSessions ends all sessions of the person but this one.
func (a *Access) EndOtherSessions(ctx context.Context, p domain.Principal, requestID string) (int, error) {
	return a.end(ctx, p, requestID, ports.SessionsOf{Except: p.Session.ID})
}

func (a *Access) end(ctx context.Context, p domain.Principal, requestID string, which ports.SessionsOf) (ended int, err error) {
	which.PersonID = p.Person.ID
	err = a.log.Change(ctx, p.Actor(requestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if ended, err = tx.Sessions.End(ctx, which, a.clock.Now()); err != nil || ended == 0 {
			return domain.AuditRecord{}, err
		}
		return accountRecord(domain.ActionPersonEndSessions, p, map[string]string{"ended": strconv.Itoa(ended)}), nil
	})
	return ended, err
}

// SetPassword sets or replaces the person's password. It takes a fresh sign-in, and
// ends all other sessions and unused links.
func (a *Access) SetPassword(ctx context.Context, p domain.Principal, requestID, password string) error {
	if err := p.Allows(domain.ActOwnAccount, a.clock.Now()); err != nil {
		return err
	}
	if err := domain.CheckPassword(password, p.Person); err != nil {
		return err
	}
	hash, err := a.passwords.Hash(ctx, password)
	if errors.Is(err, ports.ErrPasswordsBusy) {
		return passwordsBusy(err)
	}
	if err != nil {
		return err
	}
	return a.log.Change(ctx, p.Actor(requestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		person, err := tx.Persons.Lock(ctx, p.Person.ID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		// The session may have ended while the password was hashed, and the account with it.
		if err := a.stillIn(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		person.PasswordHash = hash
		if err := tx.Persons.Update(ctx, person); err != nil {
			return domain.AuditRecord{}, err
		}
		return accountRecord(domain.ActionPersonPassword, p, nil), a.endElsewhere(ctx, tx, p)
	})
}

// stillIn answers SESSION_ENDED where the session has ended meanwhile. The person is locked.
func (a *Access) stillIn(ctx context.Context, tx ports.Stores, p domain.Principal) error {
	now, err := tx.Sessions.FindByDigest(ctx, p.Session.Digest)
	if errors.Is(err, domain.ErrNotFound) || err == nil && !now.Session.Live(a.clock.Now()) {
		return domain.SessionEnded()
	}
	return err
}

// endElsewhere ends the unused links of a person and all sessions but the one itself.
func (a *Access) endElsewhere(ctx context.Context, tx ports.Stores, p domain.Principal) error {
	now := a.clock.Now()
	if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: p.Person.ID}, now); err != nil {
		return err
	}
	_, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: p.Person.ID, Except: p.Session.ID}, now)
	return err
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

func passwordsBusy(cause error) error {
	return &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: 3 * time.Second, Err: cause,
		Message: "Too many people are signing in at the moment. Try again in a few seconds."}
}

func signInRecord(action domain.Action, p domain.Principal) domain.AuditRecord {
	return accountRecord(action, p, map[string]string{"method": string(p.Session.Method), "site": string(p.Site()),
		"session_id": string(p.Session.ID)})
}

func accountRecord(action domain.Action, p domain.Principal, details map[string]string) domain.AuditRecord {
	return domain.AuditRecord{Action: action, Target: p.Person.ID, BusinessID: p.Session.BusinessID, Details: details}
}

// shortened cuts what a browser calls itself to what is kept, of printable characters.
func shortened(device string) string {
	kept := make([]rune, 0, domain.MaxDevice)
	for _, r := range device {
		if len(kept) == domain.MaxDevice {
			break
		}
		if domain.TextFault(string(r)) == "" && r != '\uFFFD' {
			kept = append(kept, r)
		}
	}
	return string(kept)
}
