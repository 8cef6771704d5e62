package people

import (
	"context"
	"errors"
	"slices"
	"strings"

	"waybill/domain"
	"waybill/ports"
)

// signIn signs in the person of an account there, and creates one at its first sign-in.
func (c *Company) signIn(ctx context.Context, b Browser, away domain.Ceremony, i domain.Identity) (entered Entered, err error) {
	email, err := domain.ParseEmail(i.Email)
	if err != nil || !i.EmailVerified {
		return entered, domain.IdentityRefused("The identity provider gives no e-mail address of yours that it has verified. "+
			"Ask those who look after it.", err)
	}
	i.Email = string(email)
	if i.GroupsLeftOut && c.rules.ByGroup() { // so the role of the person is unknown
		return entered, domain.IdentityRefused("Your account is in more groups than the identity provider names, so that it cannot be told "+
			"which role you have here. Ask those who look after it to send only the groups that this console needs.", nil)
	}
	role, given := c.rules.Role(i)
	if !given {
		return entered, c.refuse(ctx, b, i)
	}
	person, known, err := c.find(ctx, i)
	if err != nil {
		return entered, err
	}
	by := domain.AuditActor{ID: person.ID, Name: person.Name, RequestID: b.RequestID}
	if known {
		if _, err := c.refresh(ctx, by, role); err != nil {
			return entered, err
		}
	}
	change := func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		entered = Entered{}
		if err := spend(ctx, tx, away, domain.IdentityOver()); err != nil {
			return domain.AuditRecord{}, err
		}
		member, err := c.member(ctx, tx, person, known, role)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if !known {
			member.Person.Name = nameOf(i)
			if entered.CredentialsEnded, err = c.access.arrive(ctx, tx, &member.Person, true); err != nil {
				return domain.AuditRecord{}, err
			}
			if err := tx.Identities.Insert(ctx, c.connected(person.ID, i)); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		action := domain.ActionPersonSignIn
		if member.Membership.AcceptedAt == nil {
			action = domain.ActionPersonAccept
			member.Membership.Role, member.Membership.Name = role, ""
			if err := c.access.accept(ctx, tx, &member); err != nil {
				return domain.AuditRecord{}, err
			}
			console := domain.ID("")
			if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: member.Person.ID, BusinessID: &console}, c.access.clock.Now()); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		err = c.access.begin(ctx, tx, &entered, member, domain.SignInByOIDC, i.ProvenAt(c.access.clock.Now()), b)
		return signInRecord(action, entered.Principal), err
	}
	err = c.access.succeed(ctx, signedIn(bySelf, domain.Console, person.ID), func() error { return c.access.log.Change(ctx, by, change) })
	if err == nil && !known { // sessions from before have ended: none of them gets the role
		entered.Role, err = c.refresh(ctx, by, role)
	}
	return entered, refusedTo(person.ID, err)
}

// nameOf returns the name that the provider gives, or else the part of the address before the @.
func nameOf(i domain.Identity) string {
	name, err := properName(i.Name)
	if err != nil {
		name, _, _ = strings.Cut(i.Email, "@")
	}
	return name
}

// find returns the person of an account there. known reports that they are connected. Otherwise the
// person is new, or has the email address.
func (c *Company) find(ctx context.Context, i domain.Identity) (person domain.Person, known bool, err error) {
	stores := c.access.storage.Read()
	connected, err := stores.Identities.Find(ctx, i.Issuer, i.Subject)
	if err == nil {
		person, err = stores.Persons.Get(ctx, connected.PersonID)
		return person, true, err
	}
	if !errors.Is(err, domain.ErrNotFound) {
		return person, false, err
	}
	person, err = stores.Persons.FindByEmail(ctx, domain.Email(i.Email))
	if errors.Is(err, domain.ErrNotFound) {
		return domain.Person{
			ID: c.access.ids.ID(domain.PrefixPerson), Name: nameOf(i), Email: domain.Email(i.Email), State: domain.PersonInvited,
			CreatedAt: c.access.clock.Now(),
		}, false, nil
	}
	return person, false, err
}

// member locks the person, or adds one, and finds or adds the membership of the staff.
func (c *Company) member(ctx context.Context, tx ports.Stores, p domain.Person, known bool, role domain.Role) (domain.Member, error) {
	stored, created, err := tx.Persons.Add(ctx, p)
	if err != nil {
		return domain.Member{}, err
	}
	if stored.ID != p.ID {
		return domain.Member{}, notTakenOver(p.Email) // added in the meantime
	}
	if p, err = tx.Persons.Lock(ctx, p.ID); err != nil {
		return domain.Member{}, err
	}
	if p.State == domain.PersonDisabled {
		return domain.Member{}, domain.IdentityRefused("Your account here is disabled. An admin can enable it.", nil)
	}
	memberships, err := tx.Memberships.OfPerson(ctx, p.ID)
	if err != nil {
		return domain.Member{}, err
	}
	// An account whose email address nobody has proved blocks nobody.
	if !known && !created && p.EmailProven {
		return domain.Member{}, notTakenOver(p.Email)
	}
	member := domain.Member{Person: p}
	for _, m := range memberships {
		if m.Site() == domain.Console {
			member.Membership = m
			return member, nil
		}
	}
	member.Membership = domain.Membership{PersonID: p.ID, Role: role, CreatedAt: c.access.clock.Now()}
	return member, tx.Memberships.Insert(ctx, member.Membership)
}

func notTakenOver(email domain.Email) error {
	return domain.IdentityRefused("There is an account of "+string(email)+" here already, and it is not connected with the one at the "+
		"identity provider. Sign in by password, passkey or link, and connect it under Account. An admin can give you a link.", nil)
}

// refresh gives a member of the staff the role of this sign-in, and returns the one that they have
// then. Without a member it changes nothing. The last admin stays admin.
func (c *Company) refresh(ctx context.Context, by domain.AuditActor, role domain.Role) (has domain.Role, err error) {
	err = c.access.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		_, staff, err := lockWithMembers(ctx, tx, "", by.ID)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		has = role
		for _, m := range staff {
			if m.Person.ID != by.ID || m.Membership.AcceptedAt == nil || m.Membership.Role == role {
				continue
			}
			before := m.Membership.Role
			if domain.LosesLastOwner(staff, by.ID, role) {
				has = before
				return domain.AuditRecord{}, nil
			}
			m.Membership.Role = role
			record := memberRecord(domain.ActionPersonRole, m)
			record.Details["before"], record.Details["method"] = string(before), string(domain.SignInByOIDC)
			return record, tx.Memberships.Update(ctx, m.Membership)
		}
		return domain.AuditRecord{}, nil
	})
	return has, err
}

// refuse returns the error for an account to which no rule gives a role. A person who is connected
// with it leaves the staff: the provider has just said that they have no role there. A password, a
// passkey or a link must not bypass that.
func (c *Company) refuse(ctx context.Context, b Browser, i domain.Identity) error {
	refused := domain.IdentityRefused("The account "+i.Email+" is in no group, and its address in no domain, that has a role here. "+
		"Ask an admin which group you should be in.", nil)
	connected, err := c.access.storage.Read().Identities.Find(ctx, i.Issuer, i.Subject)
	if errors.Is(err, domain.ErrNotFound) {
		return refused
	}
	if err != nil {
		return err
	}
	person, err := c.access.storage.Read().Persons.Get(ctx, connected.PersonID)
	if err != nil {
		return err
	}
	by := domain.AuditActor{ID: person.ID, Name: person.Name, RequestID: b.RequestID}
	err = c.access.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		return c.leave(ctx, tx, person.ID)
	})
	if err != nil {
		return err
	}
	return refusedTo(person.ID, refused)
}

// leave removes a person from the staff, with their links and sessions at the console. A person who
// belongs to no customer loses password and passkeys too. The last admin stays.
func (c *Company) leave(ctx context.Context, tx ports.Stores, id domain.ID) (none domain.AuditRecord, err error) {
	person, staff, err := lockWithMembers(ctx, tx, "", id)
	if err != nil || domain.LosesLastOwner(staff, id, "") {
		return none, err
	}
	at := slices.IndexFunc(staff, func(m domain.Member) bool { return m.Person.ID == id })
	if at < 0 {
		return none, nil
	}
	if err := tx.Memberships.Remove(ctx, "", id); err != nil {
		return none, err
	}
	console, now := domain.ID(""), c.access.clock.Now()
	if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: id, BusinessID: &console}, now); err != nil {
		return none, err
	}
	if _, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: id, BusinessID: &console}, now); err != nil {
		return none, err
	}
	record := memberRecord(domain.ActionPersonRemove, staff[at])
	record.Details["method"] = string(domain.SignInByOIDC)
	others, err := tx.Memberships.OfPerson(ctx, id)
	if err != nil || len(others) > 0 {
		return record, err
	}
	removed, err := tx.Passkeys.RemoveAll(ctx, id)
	if err != nil {
		return none, err
	}
	hadPassword := person.PasswordHash != ""
	person.PasswordHash = ""
	if err := tx.Persons.Update(ctx, person); err != nil || removed == 0 && !hadPassword {
		return record, err
	}
	return record, tx.Mails.Tell(ctx, domain.Notice{Kind: domain.MailCredentialsRemoved, Cause: c.access.ids.ID(domain.PrefixAuditEntry),
		PersonID: id, At: now, Budget: domain.BudgetAccount})
}
