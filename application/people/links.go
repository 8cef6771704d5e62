package people

import (
	"cmp"
	"context"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// Look finds a link that works. It changes nothing, so that a mail scanner that opens
// the address spends nothing. Unknown links are counted by address.
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
	return link, refusedTo(link.PersonID, link.Usable(a.clock.Now()))
}

// Enter uses a link, once: of any number of browsers at once one gets a session and
// the others are told LINK_USED.
func (a *Access) Enter(ctx context.Context, b Browser, secret string) (entered Entered, err error) {
	link, err := a.find(ctx, secret)
	if err == nil {
		scope := byLink
		if link.OneBusiness {
			scope = byPortal
		}
		err = a.succeed(ctx, scope, link.PersonID, func() error {
			entered, err = a.enter(ctx, b, link)
			return err
		})
		err = refusedTo(link.PersonID, err)
	}
	return entered, a.unknownLink(ctx, b, err)
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
		// in needs neither. Who came by the link of an operator has not shown to be that person.
		others := ports.LinksOf{PersonID: person.ID, BusinessID: &link.BusinessID, OneBusiness: link.OneBusiness}
		if err := tx.Links.UseAll(ctx, others, now); err != nil {
			return domain.AuditRecord{}, err
		}
		member, err := tx.Memberships.Member(ctx, link.BusinessID, person.ID)
		if errors.Is(err, domain.ErrNotFound) || person.State == domain.PersonDisabled ||
			member.Membership.AcceptedAt == nil && link.Purpose != domain.LinkInvitation && !link.OneBusiness {
			return domain.AuditRecord{}, domain.LinkUnknown() // the person or the membership is gone
		}
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if link.OneBusiness {
			if staff, err := isStaff(ctx, tx, person.ID); err != nil || staff {
				return domain.AuditRecord{}, cmp.Or(err, error(domain.LinkUnknown()))
			}
		}
		member.Person = person
		action := domain.ActionPersonSignIn
		if member.Membership.AcceptedAt == nil && !link.OneBusiness {
			action = domain.ActionPersonAccept
			if entered.CredentialsEnded, err = a.accept(ctx, tx, &member); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		entered.Session.OneBusiness = link.OneBusiness
		err = a.begin(ctx, tx, &entered, member, domain.SignInByLink, now, b)
		return signInRecord(action, entered.Principal), err
	})
	return entered, err
}

// accept makes the membership of a locked person one that was accepted just now, and
// the person active. What may let in another person than the one who is here ends:
// sessions, links, passkeys and the password; ended tells whether there may have been
// some.
func (a *Access) accept(ctx context.Context, tx ports.Stores, m *domain.Member) (ended bool, err error) {
	now := a.clock.Now()
	m.Membership.AcceptedAt = &now
	if err := tx.Memberships.Update(ctx, m.Membership); err != nil {
		return false, err
	}
	if _, err := endAll(ctx, tx, m.Person.ID, now); err != nil {
		return false, err
	}
	if _, err := tx.Passkeys.RemoveAll(ctx, m.Person.ID); err != nil {
		return false, err
	}
	ended = m.Person.State == domain.PersonActive
	m.Person.State, m.Person.PasswordHash = domain.PersonActive, ""
	return ended, tx.Persons.Update(ctx, m.Person)
}

// SendLink queues a mail with a link for signing in to an e-mail address, if a person
// with that address may sign in there. The sender of the mail checks that: for any
// address the answer here is the same and takes the same work, one stored row.
func (a *Access) SendLink(ctx context.Context, b Browser, site domain.Site, email string) error {
	folded, err := domain.ParseEmail(email)
	if err != nil {
		return err
	}
	// The charge is not given back: any request may fill a mailbox.
	allowance, err := a.limiter.Take(ctx,
		ports.Bucket{Scope: "link_address", Name: b.Address, Limit: linksPerAddress},
		ports.Bucket{Scope: "link_person", Name: digestOf(string(folded)), Limit: linksPerPerson})
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
