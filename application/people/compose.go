package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// errNoRecipient means that a mail has no recipient: no such person, or one who left.
var errNoRecipient = errors.New("there is no one to tell it to")

// errInvited means that an invitation, a separate mail, is sent instead of a sign-in link.
var errInvited = errors.New("an invitation is sent instead")

// compose reads the recipient and the current facts of the mail.
func (s *MailSender) compose(ctx context.Context, m domain.Mail) (l ports.Letter, err error) {
	switch {
	case m.Kind == domain.MailInvitation || m.Kind == domain.MailSignInLink:
		l, err = s.withLink(ctx, m)
	case m.Kind.AboutAccount():
		l, err = s.aboutAccount(ctx, m)
	default:
		l, err = s.aboutMember(ctx, m)
	}
	if errors.Is(err, domain.ErrNotFound) {
		err = errNoRecipient
	}
	if err != nil {
		return l, err
	}
	if m.Facts[domain.FactBy] != "" {
		l.By = m.Facts[domain.FactBy]
	}
	l.ID, l.At, l.Device, l.Host = m.ID, m.At, m.Facts[domain.FactDevice], m.Facts[domain.FactURL]
	return l, nil
}

// aboutAccount returns the letter to a person about their credentials. They also get it after
// leaving the business of the session: the account is theirs.
func (s *MailSender) aboutAccount(ctx context.Context, m domain.Mail) (l ports.Letter, err error) {
	person, err := s.storage.Read().Persons.Get(ctx, m.PersonID)
	if err != nil {
		return l, err
	}
	if person.State != domain.PersonActive {
		return l, errNoRecipient
	}
	l = ports.Letter{Kind: m.Kind, To: person.Email, Name: person.Name, Page: s.page(m.BusinessID, "/account"),
		Passkey: m.Facts[domain.FactName], Since: factTime(m, domain.FactSince)}
	l.Business, err = s.business(ctx, m.BusinessID)
	return l, err
}

// aboutMember returns the letter to a member of a business.
func (s *MailSender) aboutMember(ctx context.Context, m domain.Mail) (l ports.Letter, err error) {
	member, err := s.storage.Read().Memberships.Member(ctx, m.BusinessID, m.PersonID)
	if err != nil {
		return l, err
	}
	if !m.TellsMember(member) {
		return l, errNoRecipient
	}
	l = ports.Letter{Kind: m.Kind, To: member.Person.Email, Name: member.Person.Name}
	if l.Business, err = s.business(ctx, m.BusinessID); err != nil {
		return l, err
	}
	switch m.Kind {
	case domain.MailKeyChanges:
		err = s.addChanges(ctx, &l, m)
	case domain.MailEndpointChanges:
		l.Page, l.Since = s.page(m.BusinessID, "/webhooks"), factTime(m, domain.FactSince)
	case domain.MailKeyCreated, domain.MailKeyRotated, domain.MailKeyRevoked, domain.MailKeyExpires:
		err = s.addKey(ctx, &l, m)
	case domain.MailEndpointFailing, domain.MailEndpointDisabled, domain.MailEndpointRecovered:
		l.Endpoint, l.Page = m.About, s.page(m.BusinessID, "/webhooks/"+string(m.About))
		l.Enabled = m.Facts[domain.FactReason] == domain.FactEnabled
		if !l.Enabled {
			l.Reason = domain.DisabledReason(m.Facts[domain.FactReason])
		}
		l.Since, l.Until = factTime(m, domain.FactSince), factTime(m, domain.FactUntil)
		if m.Kind == domain.MailEndpointFailing {
			err = s.stillFails(ctx, m)
		}
	default:
		err = fmt.Errorf("a mail of the kind %q has no text", m.Kind)
	}
	return l, err
}

// keysListed limits the key changes that a summary lists, and changesRead how many are read at a
// time to find them.
const (
	keysListed  = 50
	changesRead = 500
)

// addChanges adds the changes of keys within the hour of a summary, live ones first. It includes
// those that were sent in a mail of their own.
func (s *MailSender) addChanges(ctx context.Context, l *ports.Letter, m domain.Mail) error {
	l.Page, l.Since = s.page(m.BusinessID, "/apps"), factTime(m, domain.FactSince)
	apps := map[domain.ID]string{}
	for _, action := range domain.MailedActions() {
		entries, err := s.changes(ctx, m.BusinessID, domain.AuditFilter{Action: action, Since: l.Since, Until: &m.At})
		if err != nil {
			return err
		}
		for _, e := range entries {
			key, err := s.storage.Read().Tenancy.APIKey(ctx, e.Target)
			if err != nil {
				return err
			}
			if apps[key.ApplicationID] == "" {
				app, err := s.storage.Read().Tenancy.Application(ctx, key.ApplicationID)
				if err != nil {
					return err
				}
				apps[key.ApplicationID] = app.Name
			}
			notice, _ := domain.AuditNotice(e)
			l.Changes = append(l.Changes, ports.KeyChange{
				Kind: notice.Kind, At: e.At, By: notice.Facts[domain.FactBy], App: apps[key.ApplicationID], Env: key.Environment, Key: key.LastFour,
			})
		}
	}
	slices.SortStableFunc(l.Changes, func(a, b ports.KeyChange) int {
		return cmp.Or(cmp.Compare(a.Env, b.Env), a.At.Compare(b.At)) // live before sandbox
	})
	l.More = len(l.Changes) > keysListed
	l.Changes = l.Changes[:min(len(l.Changes), keysListed)]
	return nil
}

// changes returns entries of the audit log about keys, at most one more than is listed. Those of
// live come first: none is left out for later ones of the sandbox.
func (s *MailSender) changes(ctx context.Context, business domain.ID, f domain.AuditFilter) ([]domain.AuditEntry, error) {
	var live, sandbox []domain.AuditEntry
	for p, more := (domain.PageRequest{Limit: changesRead}), true; more; {
		entries, err := s.storage.Read().Audit.ListOfBusiness(ctx, business, f, p)
		if err != nil {
			return nil, err
		}
		more = len(entries) > changesRead
		for _, e := range entries[:min(len(entries), changesRead)] {
			of := &sandbox
			if e.Details["environment"] == string(domain.Live) {
				of = &live
			}
			if len(*of) <= keysListed {
				*of = append(*of, e)
			}
			p.After = &domain.Position{ID: e.ID}
		}
		more = more && len(live) <= keysListed
	}
	all := append(live, sandbox...)
	return all[:min(len(all), keysListed+1)], nil
}

// factTime returns a time among the facts of a mail, or nil.
func factTime(m domain.Mail, fact string) *time.Time {
	at, err := time.Parse(time.RFC3339, m.Facts[fact])
	if err != nil {
		return nil
	}
	return &at
}

// stillFails returns errNoRecipient for an endpoint that is no longer about to be disabled.
func (s *MailSender) stillFails(ctx context.Context, m domain.Mail) error {
	e, err := s.storage.Read().Webhooks.EndpointOf(ctx, m.BusinessID, m.About)
	if errors.Is(err, domain.ErrNotFound) {
		return errNoRecipient
	}
	if since := e.Health.FailingSince; err == nil && (!e.Enabled || since == nil || domain.FormatTime(*since) != m.Facts[domain.FactSince]) {
		return errNoRecipient
	}
	return err
}

func (s *MailSender) addKey(ctx context.Context, l *ports.Letter, m domain.Mail) error {
	key, err := s.storage.Read().Tenancy.APIKey(ctx, m.About)
	if err != nil {
		return err
	}
	if m.Kind == domain.MailKeyExpires && (key.RevokedAt != nil || key.ExpiresAt == nil) {
		return errNoRecipient // the mail is out of date
	}
	app, err := s.storage.Read().Tenancy.Application(ctx, key.ApplicationID)
	if err != nil {
		return err
	}
	l.App, l.Env, l.Key, l.KeyID, l.Expires = app.Name, key.Environment, key.LastFour, key.ID, key.ExpiresAt
	l.Page = s.page(m.BusinessID, "/apps/"+string(app.ID)+"/"+string(key.Environment)+"/keys")
	if next := m.Facts[domain.FactNext]; next != "" {
		successor, err := s.storage.Read().Tenancy.APIKey(ctx, domain.ID(next))
		if err != nil {
			return err
		}
		l.NextKey = successor.LastFour
	}
	return nil
}

// withLink makes a link and the letter that carries it. A link requested on the invitation page
// accepts the invitation. If one is requested on the sign-in page by a person who has not accepted
// an invitation, the invitation is sent again: errInvited. It is a separate mail within the budget
// of the business.
func (s *MailSender) withLink(ctx context.Context, m domain.Mail) (l ports.Letter, err error) {
	person := m.PersonID
	if m.Email != "" {
		found, err := s.storage.Read().Persons.FindByEmail(ctx, m.Email)
		if err != nil {
			return l, err
		}
		person = found.ID
	}
	var member domain.Member
	var link domain.Link
	invited := false
	secret := domain.MakeBearerSecret(s.ids.SigningSecret())
	err = s.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		locked, err := tx.Persons.Lock(ctx, person)
		if err != nil {
			return err
		}
		if member, err = s.leadsTo(ctx, tx, m, locked); err != nil {
			return err
		}
		if s.sites.of(member.Membership.BusinessID) == "" {
			return errors.New("there is no site for a link to lead to")
		}
		now := s.clock.Now()
		if invited = m.Email != "" && member.Membership.AcceptedAt == nil; invited {
			// Anyone may request it. Inviting strangers could fill their mailboxes this way.
			made, err := tx.Links.Invitations(ctx, person, member.Membership.BusinessID, now.Add(-time.Hour))
			if err != nil || made >= domain.MailsAnHourToOne {
				return cmp.Or(err, errNoRecipient)
			}
			return tx.Mails.Tell(ctx, domain.Notice{
				Kind: domain.MailInvitation, Cause: m.Cause, PersonID: person, BusinessID: member.Membership.BusinessID, At: now,
				Facts: map[string]string{}, Budget: domain.BudgetAskedInvitations,
			})
		}
		purpose, origin := domain.LinkSignIn, domain.LinkMailed
		if m.Email != "" {
			origin = domain.LinkAsked
		}
		if member.Membership.AcceptedAt == nil && m.Kind == domain.MailInvitation {
			purpose = domain.LinkInvitation
		}
		link = domain.Link{
			ID: s.ids.ID(domain.PrefixLink), PersonID: person, BusinessID: member.Membership.BusinessID, Purpose: purpose, Origin: origin,
			Digest: domain.BearerDigest(secret), CreatedAt: now, ExpiresAt: now.Add(purpose.Lifetime()),
		}
		return tx.Links.Insert(ctx, link)
	})
	switch {
	case domain.HasCode(err, domain.CodeTooManyMails):
		return l, errNoRecipient
	case err != nil:
		return l, err
	case invited:
		return l, errInvited
	}
	l = ports.Letter{
		Kind: domain.MailSignInLink, To: member.Person.Email, Name: member.Person.Name, Role: member.Membership.Role,
		Link: s.page(link.BusinessID, "/enter/"+secret), LinkFor: link.Purpose.Lifetime(),
		Accepts: link.Purpose == domain.LinkSignIn && member.Membership.AcceptedAt == nil, Ends: link.EndsCredentials(member.Person),
	}
	if link.Purpose == domain.LinkInvitation {
		l.Kind = domain.MailInvitation
		if l.By, err = s.invitedBy(ctx, member); err != nil {
			return l, err
		}
	}
	l.Business, err = s.business(ctx, link.BusinessID)
	return l, err
}

// invitedBy returns the name of the person who sent an invitation to a business, or "" for an
// operator.
func (s *MailSender) invitedBy(ctx context.Context, m domain.Member) (string, error) {
	if m.Membership.BusinessID == "" {
		return "", nil
	}
	f := domain.AuditFilter{Action: domain.ActionPersonInvite, Target: m.Person.ID}
	last, err := s.storage.Read().Audit.ListOfBusiness(ctx, m.Membership.BusinessID, f, domain.PageRequest{Limit: 1})
	if err != nil || len(last) == 0 || last[0].Actor.Kind() != domain.ActorPerson {
		return "", err
	}
	return last[0].Actor.Name, nil
}

// leadsTo returns the membership that a link opens: that of the business which the mail names, or
// else the one that a sign-in prefers. A person who has accepted none is invited again.
func (s *MailSender) leadsTo(ctx context.Context, tx ports.Stores, m domain.Mail, person domain.Person) (domain.Member, error) {
	if person.State == domain.PersonDisabled {
		return domain.Member{}, errNoRecipient
	}
	if m.Email == "" {
		member, err := tx.Memberships.Member(ctx, m.BusinessID, person.ID)
		switch pending := member.Membership.AcceptedAt == nil; {
		case err != nil:
		case m.Kind == domain.MailInvitation && !pending:
			err = errNoRecipient // the person has accepted by the link on a screen and needs no invitation
		case m.Kind == domain.MailSignInLink && pending && person.State != domain.PersonActive:
			err = errNoRecipient // there is no account to sign in to
		}
		return member, err
	}
	all, err := tx.Memberships.OfPerson(ctx, person.ID)
	if err != nil {
		return domain.Member{}, err
	}
	there := func(membership domain.Membership) bool { return string(membership.Site()) == m.Facts[domain.FactSite] }
	found := places(all, s.clock.Now(), there)
	if len(found) == 0 {
		found = slices.DeleteFunc(all, func(membership domain.Membership) bool { return !there(membership) })
	}
	if len(found) == 0 {
		return domain.Member{}, errNoRecipient
	}
	to, err := firstEnabled(ctx, tx.Tenancy, found)
	return domain.NewMember(person, to), err
}

// business returns its name, which is empty for the staff of the delivery company.
func (s *MailSender) business(ctx context.Context, id domain.ID) (string, error) {
	if id == "" {
		return "", nil
	}
	b, err := s.storage.Read().Tenancy.Business(ctx, id)
	return b.Name, err
}

// page returns an address on the site of a business or, for an empty ID, on that of the staff. It
// is empty where there is no site.
func (s *MailSender) page(business domain.ID, path string) string {
	site := s.sites.of(business)
	if site == "" {
		return ""
	}
	return site + path
}
