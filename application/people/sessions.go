package people

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// begin stores a session of a member who proved who they are at a time. A sign-in by an unknown
// browser also queues a mail to the person. It keeps OneBusiness of e.Session. Such a session does
// not make its browser a known one.
func (a *Access) begin(
	ctx context.Context, tx ports.Stores, e *Entered, m domain.Member, method domain.SignInMethod, proven time.Time, b Browser,
) error {
	if disabled, err := disabled(ctx, tx.Tenancy, m.Membership.BusinessID); err != nil || disabled {
		return cmp.Or(err, error(domain.BusinessDisabled()))
	}
	secret, now := domain.MakeBearerSecret(a.ids.SigningSecret()), a.clock.Now()
	session := domain.Session{
		ID: a.ids.ID(domain.PrefixSession), PersonID: m.Person.ID, BusinessID: m.Membership.BusinessID, Digest: domain.BearerDigest(secret),
		Method: method, Device: shortened(b.Device), CreatedAt: now, SignedInAt: proven, LastSeenAt: now,
		ExpiresAt: now.Add(domain.SessionLifetime), OneBusiness: e.Session.OneBusiness,
	}
	e.Principal, e.Secret, e.Mark = domain.Principal{Session: session, Person: m.Person, Role: m.Membership.Role}, secret, ""
	if session.OneBusiness {
		return tx.Sessions.Insert(ctx, session)
	}
	mark := b.Mark
	if mark == "" {
		mark = domain.MakeBearerSecret(a.ids.SigningSecret())
		e.Mark = mark
	}
	known, others, err := tx.Devices.Seen(ctx, m.Person.ID, domain.BearerDigest(mark), now)
	if err == nil && !known && others {
		err = tx.Mails.Tell(ctx, domain.AccountNotice(domain.MailNewDevice, session, session.ID, now))
	}
	if err != nil {
		return err
	}
	return tx.Sessions.Insert(ctx, session)
}

// disabled reports whether a business is disabled. The staff never is.
func disabled(ctx context.Context, tenants ports.TenancyReader, business domain.ID) (bool, error) {
	if business == "" {
		return false, nil
	}
	b, err := tenants.Business(ctx, business)
	return b.Disabled, err
}

// Identify returns the person of a session's secret at a site, or SESSION_ENDED.
func (a *Access) Identify(ctx context.Context, site domain.Site, secret string) (domain.Principal, error) {
	now := a.clock.Now()
	p, err := a.storage.Read().Sessions.FindByDigest(ctx, domain.BearerDigest(secret))
	if errors.Is(err, domain.ErrNotFound) || err == nil && (p.Site() != site || !p.Session.Live(now)) {
		return domain.Principal{}, domain.SessionEnded()
	}
	if err == nil && now.Sub(p.Session.LastSeenAt) >= domain.SeenEvery {
		// Where that cannot be stored, as on a full disk, pages are shown all the same.
		_ = a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error { return tx.Sessions.Seen(ctx, p.Session.ID, now) })
	}
	return p, err
}

// Follow returns which of many sessions still work, for pages that stay open. It does not count as
// use, so an idle session ends under them.
func (a *Access) Follow(ctx context.Context, site domain.Site, sessions []domain.ID) (map[domain.ID]domain.Principal, error) {
	all, err := a.storage.Read().Sessions.Those(ctx, sessions)
	live := make(map[domain.ID]domain.Principal, len(all))
	for _, p := range all {
		if p.Site() == site && p.Session.Live(a.clock.Now()) {
			live[p.Session.ID] = p
		}
	}
	return live, err
}

// Show switches the session to another of the person's businesses. If the person was signed out of
// that business after the session's sign-in, the session ends instead: SESSION_ENDED.
func (a *Access) Show(ctx context.Context, p domain.Principal, business domain.ID) error {
	if p.Session.OneBusiness && business != p.Session.BusinessID {
		return domain.ErrNotFound
	}
	over := false
	err := a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		// EndSessions locks the person too: a session that it does not end is stopped here.
		if _, err := tx.Persons.Lock(ctx, p.Person.ID); err != nil {
			return err
		}
		member, err := tx.Memberships.Member(ctx, business, p.Person.ID)
		if err != nil {
			return err
		}
		if member.Membership.AcceptedAt == nil || member.Membership.Site() != p.Site() {
			return domain.ErrNotFound
		}
		if out := member.Membership.SignedOutAt; out != nil && !p.Session.SignedInAt.After(*out) {
			over = true
			_, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: p.Person.ID, ID: p.Session.ID}, a.clock.Now())
			return err
		}
		if disabled, err := disabled(ctx, tx.Tenancy, business); err != nil || disabled {
			return cmp.Or(err, error(domain.BusinessDisabled()))
		}
		return tx.Sessions.Show(ctx, p.Session.ID, business)
	})
	if err == nil && over {
		err = domain.SessionEnded()
	}
	return err
}

// Rename changes the person's name, everywhere.
func (a *Access) Rename(ctx context.Context, p domain.Principal, requestID, name string) error {
	name, err := properName(name)
	if err != nil {
		return err
	}
	if err := p.OwnSignIn(); err != nil {
		return err
	}
	return a.log.Change(ctx, p.Actor(requestID), func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		person, err := tx.Persons.Lock(ctx, p.Person.ID)
		if err != nil || person.Name == name {
			return domain.AuditRecord{}, err
		}
		record := accountRecord(domain.ActionPersonRename, p, map[string]string{"name": name, "before": person.Name})
		person.Name = name
		return record, tx.Persons.Update(ctx, person)
	})
}

// Businesses lists the memberships that a person may choose from in the portal, oldest first.
func (a *Access) Businesses(ctx context.Context, p domain.Principal) ([]domain.Membership, error) {
	if p.Session.OneBusiness {
		return nil, nil
	}
	all, err := a.storage.Read().Memberships.OfPerson(ctx, p.Person.ID)
	var accepted []domain.Membership
	for _, m := range all {
		if m.AcceptedAt != nil && m.Site() == domain.Portal {
			accepted = append(accepted, m)
		}
	}
	return accepted, err
}

// Sessions lists the person's own sessions at both sites, newest first. A session of one business
// only sees itself.
func (a *Access) Sessions(ctx context.Context, p domain.Principal) ([]domain.Session, error) {
	if p.Session.OneBusiness {
		return []domain.Session{p.Session}, nil
	}
	return a.storage.Read().Sessions.OfPerson(ctx, p.Person.ID, a.clock.Now())
}

// SignOut ends the current session.
func (a *Access) SignOut(ctx context.Context, p domain.Principal, requestID string) error {
	_, err := a.end(ctx, p, requestID, ports.SessionsOf{ID: p.Session.ID})
	return err
}

// EndSession ends one of the person's own sessions. It returns domain.ErrNotFound if no such
// session works.
func (a *Access) EndSession(ctx context.Context, p domain.Principal, requestID string, id domain.ID) error {
	if err := p.OwnSignIn(); err != nil {
		return err
	}
	ended, err := a.end(ctx, p, requestID, ports.SessionsOf{ID: id})
	if err == nil && ended == 0 {
		return domain.ErrNotFound
	}
	return err
}

// EndOtherSessions ends all sessions of the person except this one.
func (a *Access) EndOtherSessions(ctx context.Context, p domain.Principal, requestID string) (int, error) {
	if err := p.OwnSignIn(); err != nil {
		return 0, err
	}
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

// stillIn returns SESSION_ENDED if the session has ended in the meantime. The person is locked.
func (a *Access) stillIn(ctx context.Context, tx ports.Stores, p domain.Principal) error {
	now, err := tx.Sessions.FindByDigest(ctx, p.Session.Digest)
	if errors.Is(err, domain.ErrNotFound) || err == nil && !now.Session.Live(a.clock.Now()) {
		return domain.SessionEnded()
	}
	return err
}

// tellOwner queues a mail to the person of a session about a change of their credentials. The
// session may be a thief's.
func (a *Access) tellOwner(ctx context.Context, tx ports.Stores, k domain.MailKind, p domain.Principal, cause domain.ID) error {
	return tx.Mails.Tell(ctx, domain.AccountNotice(k, p.Session, cause, a.clock.Now()))
}

// endElsewhere ends the unused links of a person and all sessions except this one.
func (a *Access) endElsewhere(ctx context.Context, tx ports.Stores, p domain.Principal) error {
	now := a.clock.Now()
	if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: p.Person.ID}, now); err != nil {
		return err
	}
	_, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: p.Person.ID, Except: p.Session.ID}, now)
	return err
}

// shortened returns the printable characters of a browser's name, up to domain.MaxDevice.
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
