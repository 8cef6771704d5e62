package people

import (
	"cmp"
	"context"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// Look finds a link that works. It changes nothing, so a mail scanner that opens the address does
// not use the link. Unknown links are counted by address.
func (a *Access) Look(ctx context.Context, b Browser, secret string) (link domain.Link, err error) {
	link, err = a.find(ctx, secret)
	return link, a.unknownLink(ctx, b, err)
}

func (a *Access) find(ctx context.Context, secret string) (domain.Link, error) {
	link, err := a.storage.Read().Links.FindByDigest(ctx, domain.BearerDigest(secret))
	if errors.Is(err, domain.ErrNotFound) {
		return link, domain.LinkUnknown()
	}
	if err != nil {
		return link, err
	}
	return link, refusedLink(link, link.Usable(a.clock.Now()))
}

// Enter uses a link, once. Of several browsers at the same time one gets a session, and the others
// get LINK_USED.
func (a *Access) Enter(ctx context.Context, b Browser, secret string) (entered Entered, err error) {
	link, err := a.find(ctx, secret)
	if err == nil {
		err = a.succeed(ctx, byLinkTo(link), func() error {
			entered, err = a.enter(ctx, b, link, nil)
			return err
		})
		err = refusedLink(link, err)
	}
	return entered, a.unknownLink(ctx, b, err)
}

// proof describes how a person signed in to their own account, to accept an invitation by a link.
type proof struct {
	method domain.SignInMethod
	// holds checks the proof again, with the person locked.
	holds func(ctx context.Context, tx ports.Stores, now domain.Person) error
	// session is the person's current session, which continues; nil: a new one begins.
	session *domain.Principal
}

// enter uses a link. by is the proof for a link that does not sign in alone; nil: there is none.
func (a *Access) enter(ctx context.Context, b Browser, link domain.Link, by *proof) (entered Entered, err error) {
	if link.Origin == domain.LinkAsked {
		if link.BusinessID, err = a.leadsTo(ctx, link); err != nil {
			return entered, err
		}
	}
	invited, err := a.storage.Read().Memberships.Member(ctx, link.BusinessID, link.PersonID)
	if errors.Is(err, domain.ErrNotFound) {
		return entered, domain.LinkUnknown()
	}
	if err != nil {
		return entered, err
	}
	actor := domain.AuditActor{ID: link.PersonID, Name: invited.Person.Name, BusinessID: link.BusinessID, RequestID: b.RequestID}
	err = a.log.Change(ctx, actor, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		entered = Entered{}
		person, err := tx.Persons.Lock(ctx, link.PersonID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		now := a.clock.Now()
		if err := tx.Links.Use(ctx, link.ID, now); err != nil {
			return domain.AuditRecord{}, err
		}
		// One link may be on a screen and another one in a mail: a person who has signed in needs
		// neither. Whoever used the link of an operator has not proved to be that person.
		others := ports.LinksOf{PersonID: person.ID, BusinessID: &link.BusinessID, OneBusiness: link.OneBusiness}
		if err := tx.Links.UseAll(ctx, others, now); err != nil {
			return domain.AuditRecord{}, err
		}
		if !link.OneBusiness {
			own := ports.LinksOf{PersonID: person.ID, Origins: []domain.LinkOrigin{domain.LinkAsked}}
			if err := tx.Links.UseAll(ctx, own, now); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		member, err := tx.Memberships.Member(ctx, link.BusinessID, person.ID)
		pending := err == nil && member.Membership.AcceptedAt == nil
		if errors.Is(err, domain.ErrNotFound) || person.State == domain.PersonDisabled ||
			pending && !link.OneBusiness && !link.Accepts() {
			return domain.AuditRecord{}, domain.LinkUnknown() // the person or the membership is gone
		}
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if !pending && link.Purpose == domain.LinkInvitation && !link.OneBusiness {
			return domain.AuditRecord{}, domain.LinkUsed() // the invitation was accepted in another way
		}
		takesSignIn, err := takesSignIn(ctx, tx.Memberships, tx.Passkeys, link, domain.Member{Person: person, Membership: member.Membership})
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if takesSignIn {
			if by == nil {
				return domain.AuditRecord{}, domain.OwnSignInToAccept()
			}
			if err := by.holds(ctx, tx, person); err != nil {
				return domain.AuditRecord{}, err
			}
			person.EmailProven = person.EmailProven || link.Private()
		}
		if link.OneBusiness {
			if staff, err := isStaff(ctx, tx.Memberships, person.ID); err != nil || staff {
				return domain.AuditRecord{}, cmp.Or(err, error(domain.LinkUnknown()))
			}
		}
		if link.OneBusiness {
			entered.Session.OneBusiness = true
			err = a.begin(ctx, tx, &entered, member, domain.SignInByLink, now, b)
			return signInRecord(domain.ActionPersonSignIn, entered.Principal), err
		}
		member.Person = person
		if entered.CredentialsEnded, err = a.arrive(ctx, tx, &member.Person, link.Private()); err != nil {
			return domain.AuditRecord{}, err
		}
		action, method := domain.ActionPersonSignIn, domain.SignInByLink
		if pending {
			action = domain.ActionPersonAccept
			if err := a.accept(ctx, tx, &member); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		if by != nil && by.session != nil {
			entered.Principal = *by.session
			entered.Session.BusinessID = link.BusinessID
			if off, err := disabled(ctx, tx.Tenancy, link.BusinessID); err != nil || off {
				return domain.AuditRecord{}, cmp.Or(err, error(domain.BusinessDisabled()))
			}
			return signInRecord(action, entered.Principal), tx.Sessions.Show(ctx, by.session.Session.ID, link.BusinessID)
		}
		if by != nil {
			method = by.method
		}
		err = a.begin(ctx, tx, &entered, member, method, now, b)
		return signInRecord(action, entered.Principal), err
	})
	return entered, err
}

// leadsTo returns the business that a link opens which the person asked for, or LINK_UNKNOWN. It
// chooses again, as every sign-in does: the one that was chosen when the link was made may have
// signed the person out, removed them or been disabled since.
func (a *Access) leadsTo(ctx context.Context, link domain.Link) (domain.ID, error) {
	person, err := a.storage.Read().Persons.Get(ctx, link.PersonID)
	if err != nil {
		return "", err
	}
	to, err := a.place(ctx, link.Site(), person)
	if errors.Is(err, domain.ErrNotFound) {
		return "", domain.LinkUnknown()
	}
	if err != nil {
		return "", err
	}
	to, err = a.preferEnabled(ctx, to)
	return to.BusinessID, err
}

// InvitedMember returns the member of an invitation that requires a sign-in to the person's own
// account. ok is false for a link that signs in alone.
func (a *Access) InvitedMember(ctx context.Context, link domain.Link) (m domain.Member, ok bool, err error) {
	m, err = a.storage.Read().Memberships.Member(ctx, link.BusinessID, link.PersonID)
	if errors.Is(err, domain.ErrNotFound) {
		return m, false, nil // Enter returns the reason
	}
	if err != nil {
		return m, false, err
	}
	ok, err = takesSignIn(ctx, a.storage.Read().Memberships, a.storage.Read().Passkeys, link, m)
	return m, ok, err
}

// takesSignIn reports whether a link accepts an invitation only together with a sign-in to the
// person's own account. The link of a command signs in alone where the account has no credentials,
// unless the person belongs to the staff.
func takesSignIn(ctx context.Context, all ports.MembershipReader, keys ports.PasskeyReader, link domain.Link, m domain.Member) (bool, error) {
	if !link.TakesSignIn(m) || link.Origin != domain.LinkByCommand || m.Person.PasswordHash != "" {
		return link.TakesSignIn(m), nil
	}
	known, err := keys.OfPerson(ctx, m.Person.ID)
	if err != nil || len(known) > 0 {
		return true, err
	}
	return isStaff(ctx, all, m.Person.ID)
}

// AcceptByPassword accepts an invitation with the password of the account that was invited.
func (a *Access) AcceptByPassword(ctx context.Context, b Browser, secret, password string) (entered Entered, err error) {
	link, err := a.Look(ctx, b, secret)
	if err != nil {
		return entered, err
	}
	person, err := a.storage.Read().Persons.Get(ctx, link.PersonID)
	if err != nil {
		return entered, err
	}
	counted, err := a.passwordGuesses(ctx, b, link.Site(), person.ID, namedBy(person.Email, ""))
	if err != nil {
		return entered, err
	}
	holds := func(_ context.Context, _ ports.Stores, now domain.Person) error {
		if now.PasswordHash != person.PasswordHash {
			return domain.SignInRefused() // changed while the password was checked
		}
		return nil
	}
	err = a.attempt(ctx, counted, func() error {
		if err := a.maySignIn(ctx, link.Site(), person.ID); err != nil {
			return err
		}
		if _, err := a.verify(ctx, counted.hashing(b, domain.Membership{PersonID: person.ID, BusinessID: link.BusinessID}), person.PasswordHash, password); err != nil {
			return err
		}
		return a.succeed(ctx, signedIn(bySelf, link.Site(), person.ID), func() error {
			entered, err = a.enter(ctx, b, link, &proof{method: domain.SignInByPassword, holds: holds})
			return err
		})
	})
	return entered, refusedLink(link, err)
}

// AcceptHere accepts an invitation in a session of the account that was invited. The session
// continues and shows the business. The session of another person gets SESSION_ENDED.
func (a *Access) AcceptHere(ctx context.Context, b Browser, p domain.Principal, secret string) error {
	if err := p.OwnSignIn(); err != nil {
		return err
	}
	link, err := a.Look(ctx, b, secret)
	if err != nil {
		return err
	}
	if link.PersonID != p.Person.ID || link.Site() != p.Site() || p.View != nil {
		return domain.SessionEnded()
	}
	_, err = a.enter(ctx, b, link, &proof{session: &p, holds: func(ctx context.Context, tx ports.Stores, _ domain.Person) error {
		return a.stillIn(ctx, tx, p)
	}})
	return err
}

// SendAcceptLink mails a sign-in link to the address that was invited. It accepts the invitation of
// the given link.
func (a *Access) SendAcceptLink(ctx context.Context, b Browser, secret string) error {
	link, err := a.Look(ctx, b, secret)
	if err != nil {
		return err
	}
	m, takesSignIn, err := a.InvitedMember(ctx, link)
	if err != nil {
		return err
	}
	if !takesSignIn {
		return domain.LinkUsed()
	}
	return a.mailLink(ctx, b, link.Site(), m.Person.ID, m.Person.Email,
		domain.Notice{Kind: domain.MailSignInLink, PersonID: link.PersonID, BusinessID: link.BusinessID})
}

// accept marks the membership of a locked person as accepted now. An account that was only invited
// so far becomes active, and takes the name of the invitation. An active account does not change.
func (a *Access) accept(ctx context.Context, tx ports.Stores, m *domain.Member) error {
	now := a.clock.Now()
	if m.Person.State == domain.PersonInvited {
		m.Person.State = domain.PersonActive
		if m.Membership.Name != "" {
			m.Person.Name = m.Membership.Name
		}
	}
	m.Membership.AcceptedAt, m.Membership.Name = &now, ""
	if err := tx.Memberships.Update(ctx, m.Membership); err != nil {
		return err
	}
	return tx.Persons.Update(ctx, m.Person)
}

// arrive records that a locked person came to the account, and whether that proves the email
// address. Before that, another person who was shown an invitation may have opened it. So every way
// in from before ends: password, passkeys, sessions, sign-in links, known browsers and connected
// identities. ended reports that there may have been some. Memberships and invitations stay:
// whoever invited the address meant the person who reads its mail.
func (a *Access) arrive(ctx context.Context, tx ports.Stores, p *domain.Person, proven bool) (ended bool, err error) {
	if p.EmailProven || !proven && p.State == domain.PersonActive {
		return false, nil
	}
	now := a.clock.Now()
	if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: p.ID, Purpose: domain.LinkSignIn}, now); err != nil {
		return false, err
	}
	if _, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: p.ID}, now); err != nil {
		return false, err
	}
	if _, err := tx.Passkeys.RemoveAll(ctx, p.ID); err != nil {
		return false, err
	}
	if err := cmp.Or(tx.Identities.RemoveAll(ctx, p.ID), tx.Devices.RemoveAll(ctx, p.ID)); err != nil {
		return false, err
	}
	p.EmailProven, p.PasswordHash = proven, ""
	return p.State == domain.PersonActive, tx.Persons.Update(ctx, *p)
}

// SendLink queues a mail with a sign-in link to an email address, if a person with that address may
// sign in there. The mail sender checks that. For any address the response here is the same and
// costs the same: two reads and one stored row. The mail is queued for the business that the person
// would sign in to.
func (a *Access) SendLink(ctx context.Context, b Browser, site domain.Site, email string) error {
	folded, err := domain.ParseEmail(email)
	if err != nil {
		return err
	}
	person, member, err := a.candidate(ctx, site, folded, false)
	if err != nil {
		return err
	}
	return a.mailLink(ctx, b, site, person.ID, folded, domain.Notice{
		Kind: domain.MailSignInLink, Email: folded, BusinessID: member.BusinessID, Facts: map[string]string{domain.FactSite: string(site)},
	})
}

// mailLink queues a mail with a link to a site, which anybody may request.
func (a *Access) mailLink(ctx context.Context, b Browser, site domain.Site, person domain.ID, to domain.Email, n domain.Notice) error {
	// The charge is not given back: any request may fill a mailbox. It is by exact address. Another
	// one of the same mailbox is another person, or nobody, and must not delay this one.
	known, err := a.known(ctx, b, person)
	if err != nil {
		return err
	}
	name := at(site, digestOf(string(to)))
	counted := attempts{
		buckets: []ports.Bucket{{Scope: "link_person", Name: name, Limit: linksPerPerson}},
		crowds:  []ports.Bucket{{Scope: "link_address", Name: at(site, b.Address), Limit: linksPerAddress}},
		instead: ports.Bucket{Scope: "link_crowd", Name: name + " " + b.Address, Limit: linksInCrowd},
	}
	if known {
		counted = attempts{buckets: []ports.Bucket{
			{Scope: "link_browser", Name: name + " " + digestOf(b.Mark), Limit: linksPerPerson},
			{Scope: "link_browsers", Name: name, Limit: linksPerBrowsers},
		}}
	}
	_, err = a.charge(ctx, counted)
	var limited *domain.Error
	if errors.As(err, &limited) && limited.Code == domain.CodeTooManySignIns {
		limited.Message = "Too many sign-in links were requested. Wait a few minutes. Check your spam folder for links that were already sent."
	}
	if err != nil {
		return err
	}
	n.Cause, n.At = a.ids.ID(domain.PrefixLink), a.clock.Now()
	return a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.Mails.Tell(ctx, n) })
}
