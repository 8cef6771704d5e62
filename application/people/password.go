package people

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// SignIn signs a person in by email address and password, to the business that places prefers.
// Unknown, disabled, without a password, of another site and wrong password get the same error
// after the same work. The error names the person where it is a *Refused.
func (a *Access) SignIn(ctx context.Context, b Browser, site domain.Site, email, password string) (entered Entered, err error) {
	folded, malformed := domain.ParseEmail(email)
	person, member, err := a.candidate(ctx, site, folded, malformed != nil)
	if err != nil {
		return entered, err
	}
	counted, err := a.passwordGuesses(ctx, b, site, person.ID, namedBy(folded, email))
	if err != nil {
		return entered, err
	}
	err = a.attempt(ctx, counted, func() error {
		if err := a.maySignIn(ctx, site, person.ID); err != nil {
			return err
		}
		caller := counted.hashing(b, member)
		outdated, err := a.verify(ctx, caller, person.PasswordHash, password)
		if err != nil {
			return err
		}
		if member, err = a.preferEnabled(ctx, member); err != nil {
			return err
		}
		upgraded := person.PasswordHash
		if outdated {
			if hash, err := a.passwords.Hash(ctx, caller, password); err == nil { // if this fails, the next sign-in does it
				upgraded = hash
			}
		}
		by := domain.AuditActor{ID: person.ID, Name: person.Name, BusinessID: member.BusinessID, RequestID: b.RequestID}
		change := func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
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
			err = a.begin(ctx, tx, &entered, there, domain.SignInByPassword, a.clock.Now(), b)
			return signInRecord(domain.ActionPersonSignIn, entered.Principal), err
		}
		return a.succeed(ctx, signedIn(bySelf, site, person.ID), func() error { return a.log.Change(ctx, by, change) })
	})
	return entered, refusedTo(person.ID, err)
}

// unknownPerson is an ID that no person has. It makes a sign-in of nobody do the same reads.
var unknownPerson = domain.MakeID(domain.PrefixPerson, [16]byte{})

// candidate finds the person of a sign-in by password, and the membership. It returns a person
// without an accepted membership of the site without a password.
func (a *Access) candidate(ctx context.Context, site domain.Site, email domain.Email, malformed bool) (person domain.Person,
	member domain.Membership, err error) {
	if malformed {
		email = "nobody@invalid"
	}
	person, err = a.storage.Read().Persons.FindByEmail(ctx, email)
	if errors.Is(err, domain.ErrNotFound) {
		person, err = domain.Person{ID: unknownPerson}, nil
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

// place returns where an active person signs in: the first one of places at the site, or
// domain.ErrNotFound.
func (a *Access) place(ctx context.Context, site domain.Site, person domain.Person) (domain.Membership, error) {
	all, err := a.storage.Read().Memberships.OfPerson(ctx, person.ID)
	if err != nil {
		return domain.Membership{}, err
	}
	found := places(all, a.clock.Now(), func(m domain.Membership) bool { return m.Site() == site })
	if len(found) == 0 || person.State != domain.PersonActive {
		return domain.Membership{}, domain.ErrNotFound
	}
	return found[0], nil
}

// signedOutLately is for how long a business that signed a person out is passed over.
const signedOutLately = time.Hour

// places returns the accepted memberships among all that lead somewhere, in the order in which a
// sign-in prefers them: as they were joined, but businesses that signed the person out just now
// come last. So an owner who does that again and again keeps nobody out of the others.
func places(all []domain.Membership, now time.Time, leads func(domain.Membership) bool) []domain.Membership {
	var first, last []domain.Membership
	for _, m := range all {
		switch {
		case m.AcceptedAt == nil || !leads(m):
		case m.SignedOutAt == nil || now.Sub(*m.SignedOutAt) > signedOutLately:
			first = append(first, m)
		default:
			last = append(last, m)
		}
	}
	return append(first, last...)
}

// preferEnabled returns the next one of places in the portal, if the first business is disabled and
// another one is not. It is called only after the person proved who they are, since it takes longer
// for some people than for others.
func (a *Access) preferEnabled(ctx context.Context, first domain.Membership) (domain.Membership, error) {
	off, err := disabled(ctx, a.storage.Read().Tenancy, first.BusinessID)
	if err != nil || !off {
		return first, err
	}
	all, err := a.storage.Read().Memberships.OfPerson(ctx, first.PersonID)
	if err != nil {
		return first, err
	}
	found := places(all, a.clock.Now(), func(m domain.Membership) bool { return m.Site() == domain.Portal })
	return firstEnabled(ctx, a.storage.Read().Tenancy, append(found, first))
}

// firstEnabled returns the first membership whose business is not disabled, or else the first one.
func firstEnabled(ctx context.Context, tenants ports.TenancyReader, all []domain.Membership) (domain.Membership, error) {
	for _, m := range all {
		if off, err := disabled(ctx, tenants, m.BusinessID); err != nil || !off {
			return m, err
		}
	}
	return all[0], nil
}

// verify returns SIGN_IN_REFUSED for a password that does not match the hash.
func (a *Access) verify(ctx context.Context, c ports.Caller, hash, password string) (outdated bool, err error) {
	matches, outdated, err := a.passwords.Verify(ctx, c, hash, password)
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

// Confirm checks the password again within a session and makes the session fresh. Failures are
// counted by session and person, separately from those of signing in. Nobody without a session of
// the person can cause any.
func (a *Access) Confirm(ctx context.Context, b Browser, p domain.Principal, password string) error {
	if err := p.OwnSignIn(); err != nil {
		return err
	}
	return a.attempt(ctx, confirmGuesses(p), func() error {
		person, err := a.storage.Read().Persons.Get(ctx, p.Person.ID)
		if err != nil {
			return err
		}
		if _, err := a.verify(ctx, hashingOf(p), person.PasswordHash, password); err != nil {
			return err
		}
		change := func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
			p.Session.Method = domain.SignInByPassword
			return signInRecord(domain.ActionPersonSignIn, p), tx.Sessions.SignedIn(ctx, p.Session.ID, p.Session.Method, a.clock.Now())
		}
		return a.succeed(ctx, signedIn(confirmed, p.Site(), p.Person.ID), func() error { return a.log.Change(ctx, p.Actor(b.RequestID), change) })
	})
}

// hashingOf returns the queue in which a password of a session is hashed.
func hashingOf(p domain.Principal) ports.Caller {
	return member(p.Site(), p.Session.BusinessID, p.Person.ID)
}

// mayChange returns nil if a session may set a password or add a passkey. That takes a fresh
// sign-in, or the session of a link while the person has neither.
func (a *Access) mayChange(ctx context.Context, persons ports.PersonReader, passkeys ports.PasskeyReader, p domain.Principal) error {
	err := p.Allows(domain.ActOwnAccount, a.clock.Now())
	if !domain.HasCode(err, domain.CodeSignInTooOld) || p.Session.Method != domain.SignInByLink {
		return err
	}
	person, failed := persons.Get(ctx, p.Person.ID)
	if failed != nil {
		return failed
	}
	known, failed := passkeys.OfPerson(ctx, p.Person.ID)
	if failed != nil {
		return failed
	}
	if person.PasswordHash == "" && len(known) == 0 {
		return nil
	}
	return err
}

// MayChange returns nil if the session may set a password or add a passkey now.
func (a *Access) MayChange(ctx context.Context, p domain.Principal) error {
	r := a.storage.Read()
	return a.mayChange(ctx, r.Persons, r.Passkeys, p)
}

// SetPassword sets or replaces the person's password, and ends all other sessions and unused links.
// It requires a fresh sign-in. The first password, if there is no passkey either, may be set
// throughout the session of a link. The person gets a mail.
func (a *Access) SetPassword(ctx context.Context, p domain.Principal, requestID, password string) error {
	if err := a.MayChange(ctx, p); err != nil {
		return err
	}
	if err := domain.CheckPassword(password, p.Person); err != nil {
		return err
	}
	hash, err := a.passwords.Hash(ctx, hashingOf(p), password)
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
		// The session, and the account, may have ended while the password was hashed.
		if err := a.stillIn(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := a.mayChange(ctx, tx.Persons, tx.Passkeys, p); err != nil {
			return domain.AuditRecord{}, err
		}
		kind := domain.MailPasswordChanged
		if person.PasswordHash == "" {
			kind = domain.MailPasswordSet
		}
		person.PasswordHash = hash
		if err := tx.Persons.Update(ctx, person); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := a.endElsewhere(ctx, tx, p); err != nil {
			return domain.AuditRecord{}, err
		}
		return accountRecord(domain.ActionPersonPassword, p, nil), a.tellOwner(ctx, tx, kind, p, a.ids.ID(domain.PrefixAuditEntry))
	})
}

func passwordsBusy(cause error) error {
	return &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: 3 * time.Second, Err: cause,
		Message: "Too many people are signing in at the moment. Try again in a few seconds."}
}
