package people

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Directory keeps the members of each business. An empty business is the staff.
type Directory struct {
	storage ports.Storage
	log     *audit.Log
	clock   ports.Clock
	ids     ports.Identifiers
	mailed  Mailed
}

// Mailed says that emails reach their recipients. Then no person is shown a link of another.
type Mailed bool

// NewDirectory makes the directory of a storage.
func NewDirectory(s ports.Storage, c ports.Clock, ids ports.Identifiers, m Mailed) *Directory {
	return &Directory{storage: s, log: audit.New(s, c, ids), clock: c, ids: ids, mailed: m}
}

// Issued is a link at the only moment its secret is known.
type Issued struct {
	domain.Link
	Member domain.Member
	Secret string
	// MailOnly: the link goes to the person's own mailbox, and the actor is not to see it.
	// Secret is empty.
	MailOnly bool
}

// Invitation is the person to invite, as the caller sent it.
type Invitation struct {
	BusinessID        domain.ID // empty: to the staff
	Email, Name, Role string
}

// parsed is an invitation that was checked.
type parsed struct {
	email domain.Email
	name  string
	role  domain.Role
}

func (i Invitation) parse() (p parsed, err error) {
	if p.email, err = domain.ParseEmail(i.Email); err != nil {
		return p, err
	}
	if p.role, err = domain.ParseRole(domain.SiteOf(i.BusinessID), i.Role); err != nil {
		return p, err
	}
	p.name, err = properName(i.Name)
	return p, err
}

// Invite adds an invitation to a business and makes a link for seven days. The link goes to
// the person by email, and the actor is shown one where Issued.MailOnly is not set. To a
// person of a business the answer does not say whether the address has an account. To invite
// a member again with the same role makes another link, for signing in where the invitation
// was accepted; with another role it is ALREADY_MEMBER. TOO_MANY_MAILS where people of
// the business, or the staff, have had too many mails sent: nothing is changed.
func (d *Directory) Invite(ctx context.Context, by domain.AuditActor, i Invitation) (issued Issued, err error) {
	p, err := i.parse()
	if err != nil {
		return Issued{}, err
	}
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		member, err := d.join(ctx, tx, by, i.BusinessID, p)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if member.Membership.Role != p.role {
			return domain.AuditRecord{}, &domain.Error{Kind: domain.KindConflict, Code: domain.CodeAlreadyMember,
				Message: string(member.Person.Email) + " has the role " + string(member.Membership.Role) + " already. Change the role instead."}
		}
		action, purpose, mail := domain.ActionPersonInvite, domain.LinkInvitation, domain.MailInvitation
		if member.Membership.AcceptedAt != nil {
			action, purpose, mail = domain.ActionPersonLink, domain.LinkSignIn, domain.MailSignInLink
		}
		if issued, err = d.issue(ctx, tx, by, member, purpose); err != nil {
			return domain.AuditRecord{}, err
		}
		return memberRecord(action, member), tx.Mails.Tell(ctx, linkNotice(mail, by, issued))
	})
	return issued, err
}

// linkNotice has a link sent by mail. That one is made when the mail goes out. To tell it is
// TOO_MANY_MAILS where the actor's side has had too many sent.
func linkNotice(k domain.MailKind, by domain.AuditActor, i Issued) domain.Notice {
	n := domain.Notice{Kind: k, Cause: i.ID, PersonID: i.PersonID, BusinessID: i.BusinessID, At: i.CreatedAt, Facts: map[string]string{},
		Budget: domain.InvitationBudget(by)}
	if by.BusinessID != "" {
		n.Facts[domain.FactBy] = by.Name
	}
	return n
}

// Admit is Invite without a mail: a member who has accepted keeps the role and gets a link
// for signing in.
func (d *Directory) Admit(ctx context.Context, by domain.AuditActor, i Invitation) (issued Issued, err error) {
	return d.admit(ctx, by, i, func(context.Context, ports.Stores, domain.Member) error { return nil })
}

// OpenPortal is Admit for a company whose own site signs its customers in. The site vouches
// for who uses the link, with an email address that nobody may have checked. So the link
// opens the business alone, accepts no invitation and reaches nothing of the person's account:
// domain.Link.OneBusiness. PERSON_IS_STAFF for the address of a person of the staff.
func (d *Directory) OpenPortal(ctx context.Context, by domain.AuditActor, i Invitation) (issued Issued, err error) {
	by.OneBusiness = true
	return d.admit(ctx, by, i, func(ctx context.Context, tx ports.Stores, m domain.Member) error {
		staff, err := isStaff(ctx, tx.Memberships, m.Person.ID)
		if err == nil && staff {
			err = domain.PersonIsStaff(m.Person.Email)
		}
		return err
	})
}

// isStaff reports whether a person belongs to the staff, or was invited to it.
func isStaff(ctx context.Context, memberships ports.MembershipReader, person domain.ID) (bool, error) {
	all, err := memberships.OfPerson(ctx, person)
	return slices.ContainsFunc(all, func(m domain.Membership) bool { return m.Site() == domain.Console }), err
}

func (d *Directory) admit(ctx context.Context, by domain.AuditActor, i Invitation,
	check func(context.Context, ports.Stores, domain.Member) error) (issued Issued, err error) {
	p, err := i.parse()
	if err != nil {
		return Issued{}, err
	}
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		member, err := d.join(ctx, tx, by, i.BusinessID, p)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if err := check(ctx, tx, member); err != nil {
			return domain.AuditRecord{}, err
		}
		action, purpose := domain.ActionPersonInvite, domain.LinkInvitation
		if member.Membership.AcceptedAt != nil {
			action, purpose = domain.ActionPersonLink, domain.LinkSignIn
		}
		issued, err = d.issue(ctx, tx, by, member, purpose)
		return memberRecord(action, member), err
	})
	return issued, err
}

// join finds the member, or adds person and membership as far as they are not there. The name
// that was typed is kept with the invitation. The person stays locked.
func (d *Directory) join(ctx context.Context, tx ports.Stores, by domain.AuditActor, business domain.ID, p parsed) (domain.Member, error) {
	if business != "" {
		if _, err := tx.Tenancy.Business(ctx, business); err != nil {
			return domain.Member{}, err
		}
	}
	now := d.clock.Now()
	person, _, err := tx.Persons.Add(ctx, domain.Person{
		ID: d.ids.ID(domain.PrefixPerson), Name: string(p.email), Email: p.email, State: domain.PersonInvited, CreatedAt: now,
	})
	if err != nil {
		return domain.Member{}, err
	}
	if person, err = tx.Persons.Lock(ctx, person.ID); err != nil {
		return domain.Member{}, err
	}
	member, err := tx.Memberships.Member(ctx, business, person.ID)
	added := domain.HasCode(err, domain.CodeNotFound)
	if err != nil && !added {
		return member, err
	}
	accepted := !added && member.Membership.AcceptedAt != nil
	// A business does not learn of an account that is none of its members'.
	if person.State == domain.PersonDisabled && (by.BusinessID == "" || accepted) {
		return domain.Member{}, &domain.Error{Kind: domain.KindConflict, Code: domain.CodePersonDisabled,
			Message: "The account of " + string(person.Email) + " is disabled. The delivery company can enable it."}
	}
	if accepted {
		return member, nil
	}
	if added {
		m := domain.Membership{PersonID: person.ID, BusinessID: business, Role: p.role, Name: p.name, CreatedAt: now}
		return domain.NewMember(person, m), tx.Memberships.Insert(ctx, m)
	}
	member.Membership.Name = p.name
	return domain.NewMember(person, member.Membership), tx.Memberships.Update(ctx, member.Membership)
}

// issue makes a link, which replaces earlier ones to the same place; one of one business
// alone replaces its like.
func (d *Directory) issue(ctx context.Context, tx ports.Stores, by domain.AuditActor, m domain.Member, purpose domain.LinkPurpose) (Issued,
	error) {
	now, business := d.clock.Now(), m.Membership.BusinessID
	replaced := ports.LinksOf{PersonID: m.Person.ID, BusinessID: &business, OneBusiness: by.OneBusiness}
	if err := tx.Links.UseAll(ctx, replaced, now); err != nil {
		return Issued{}, err
	}
	secret := domain.MakeBearerSecret(d.ids.SigningSecret())
	issued := Issued{Member: m, Secret: secret, MailOnly: by.IsPerson() && bool(d.mailed), Link: domain.Link{
		ID: d.ids.ID(domain.PrefixLink), PersonID: m.Person.ID, BusinessID: business, Purpose: purpose, OneBusiness: by.OneBusiness,
		Digest: domain.BearerDigest(secret), CreatedAt: now, ExpiresAt: now.Add(purpose.Lifetime()),
	}}
	if issued.MailOnly { // the sender of the mail makes one
		issued.Secret = ""
		return issued, nil
	}
	switch {
	case !by.IsPerson() && !by.OneBusiness:
		issued.Origin = domain.LinkByCommand
	case business != "" && purpose == domain.LinkSignIn:
		// Another person is shown it, so it proves nothing about the one who comes by it.
		issued.OneBusiness = true
	}
	return issued, tx.Links.Insert(ctx, issued.Link)
}

// Link makes a link for signing in, for ten minutes. It leads a person of a business
// to the actor's own business and, made by an operator or a command, to the one the
// person joined first, or to the console. A command's link accepts the invitation of an
// account that belongs nowhere else there. Where the actor is not shown it, one goes to
// the person by mail.
func (d *Directory) Link(ctx context.Context, by domain.AuditActor, person domain.ID, site domain.Site) (issued Issued, err error) {
	return d.link(ctx, by, person, func(m domain.Membership) bool {
		return m.Site() == site && (by.BusinessID == "" || m.BusinessID == by.BusinessID)
	})
}

// LinkTo is Link to one business, or with none to the console: where the person who asks
// for it sees that person.
func (d *Directory) LinkTo(ctx context.Context, by domain.AuditActor, business, person domain.ID) (Issued, error) {
	return d.link(ctx, by, person, func(m domain.Membership) bool {
		return m.BusinessID == business && (by.BusinessID == "" || by.BusinessID == business)
	})
}

func (d *Directory) link(ctx context.Context, by domain.AuditActor, person domain.ID, leads func(domain.Membership) bool) (issued Issued,
	err error) {
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		locked, err := tx.Persons.Lock(ctx, person)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		all, err := tx.Memberships.OfPerson(ctx, person)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		slices.SortStableFunc(all, func(a, b domain.Membership) int { // those that were accepted come first
			return cmp.Compare(pending(a), pending(b))
		})
		there := false
		for _, m := range all {
			if !leads(m) {
				continue
			}
			member, err := tx.Memberships.Member(ctx, m.BusinessID, person)
			if err != nil {
				return domain.AuditRecord{}, err
			}
			// A command signs a person in who has an account and cannot sign in to accept.
			if there = true; m.AcceptedAt == nil && (by.IsPerson() || locked.State == domain.PersonInvited) {
				continue
			}
			if issued, err = d.issue(ctx, tx, by, member, domain.LinkSignIn); err == nil && issued.MailOnly {
				err = tx.Mails.Tell(ctx, linkNotice(domain.MailSignInLink, by, issued))
			}
			return memberRecord(domain.ActionPersonLink, member), err
		}
		if !there {
			return domain.AuditRecord{}, domain.ErrNotFound
		}
		return domain.AuditRecord{}, &domain.Error{Kind: domain.KindConflict, Code: domain.CodeNotAccepted,
			Message: "The person has not accepted the invitation yet. Invite them again for a new link."}
	})
	return issued, err
}

// Members are the persons of a business, or of the staff, oldest membership first.
func (d *Directory) Members(ctx context.Context, business domain.ID) ([]domain.Member, error) {
	if business != "" {
		if _, err := d.storage.Read().Tenancy.Business(ctx, business); err != nil {
			return nil, err
		}
	}
	return d.storage.Read().Memberships.Members(ctx, business)
}

// SetRole gives a member another role, which counts from the next page on. LAST_OWNER
// where people would leave their business without an owner.
func (d *Directory) SetRole(ctx context.Context, by domain.AuditActor, business, person domain.ID, text string) (member domain.Member,
	err error) {
	role, err := domain.ParseRole(domain.SiteOf(business), text)
	if err != nil {
		return member, err
	}
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if member, err = d.lock(ctx, tx, by, business, person, role); err != nil || member.Membership.Role == role {
			return domain.AuditRecord{}, err
		}
		before := member.Membership.Role
		member.Membership.Role = role
		record := memberRecord(domain.ActionPersonRole, member)
		record.Details["before"] = string(before)
		return record, tx.Memberships.Update(ctx, member.Membership)
	})
	return member, err
}

// Remove ends a membership with its sessions and links. The account stays.
// LAST_OWNER where people would leave their business without an owner.
func (d *Directory) Remove(ctx context.Context, by domain.AuditActor, business, person domain.ID) (member domain.Member, err error) {
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if member, err = d.lock(ctx, tx, by, business, person, ""); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := tx.Memberships.Remove(ctx, business, person); err != nil {
			return domain.AuditRecord{}, err
		}
		now := d.clock.Now()
		if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: person, BusinessID: &business}, now); err != nil {
			return domain.AuditRecord{}, err
		}
		_, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: person, BusinessID: &business}, now)
		return memberRecord(domain.ActionPersonRemove, member), err
	})
	return member, err
}

// lock holds the members of a business and finds one of them. People may not leave
// their own side without an owner; the delivery company may leave a customer without.
func (d *Directory) lock(ctx context.Context, tx ports.Stores, by domain.AuditActor, business, person domain.ID,
	role domain.Role) (domain.Member, error) {
	_, members, err := lockWithMembers(ctx, tx, business, person)
	if err != nil {
		return domain.Member{}, err
	}
	if by.IsPerson() && by.BusinessID == business && domain.LosesLastOwner(members, person, role) {
		return domain.Member{}, domain.LastOwner(domain.SiteOf(business))
	}
	for _, m := range members {
		if m.Person.ID == person {
			return m, nil
		}
	}
	return domain.Member{}, domain.ErrNotFound
}

// lockWithMembers locks a person and then the members of a business, and returns both. What
// changes a membership reads it behind the lock of its person, so that an invitation that is
// accepted and a role that is changed at the same time come one after the other.
func lockWithMembers(ctx context.Context, tx ports.Stores, business, person domain.ID) (domain.Person, []domain.Member, error) {
	locked, err := tx.Persons.Lock(ctx, person)
	if err != nil {
		return domain.Person{}, nil, err
	}
	members, err := tx.Memberships.LockMembers(ctx, business)
	return locked, members, err
}

// SetDisabled closes an account, at every site, or opens it again. Its sessions
// and links end for good. DISABLE_SELF for the person's own account, and LAST_OWNER for that of
// the last admin of the staff who can sign in, also for a command.
func (d *Directory) SetDisabled(ctx context.Context, by domain.AuditActor, id domain.ID, disabled bool) (person domain.Person, err error) {
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		var staff []domain.Member
		if person, staff, err = lockWithMembers(ctx, tx, "", id); err != nil || (person.State == domain.PersonDisabled) == disabled {
			return domain.AuditRecord{}, err
		}
		record := domain.AuditRecord{Action: domain.ActionPersonEnable, Target: id, Details: map[string]string{"name": person.Name}}
		if person.State, err = stateBefore(ctx, tx, person); err != nil {
			return domain.AuditRecord{}, err
		}
		if disabled {
			switch {
			case by.ID == id:
				return domain.AuditRecord{}, domain.DisableSelf()
			case domain.LosesLastOwner(staff, id, ""):
				return domain.AuditRecord{}, domain.LastOwner(domain.Console)
			}
			record.Action, person.State = domain.ActionPersonDisable, domain.PersonDisabled
			if _, err := endAll(ctx, tx, id, d.clock.Now()); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		return record, tx.Persons.Update(ctx, person)
	})
	return person, err
}

// stateBefore is the state that a person has who is not disabled: one who has accepted nothing is
// invited, as before.
func stateBefore(ctx context.Context, tx ports.Stores, p domain.Person) (domain.PersonState, error) {
	all, err := tx.Memberships.OfPerson(ctx, p.ID)
	accepted := func(m domain.Membership) bool { return m.AcceptedAt != nil }
	if p.PasswordHash == "" && !p.EmailProven && !slices.ContainsFunc(all, accepted) {
		return domain.PersonInvited, err
	}
	return domain.PersonActive, err
}

// pending is 0 for a membership that was accepted, and 1 for an invitation.
func pending(m domain.Membership) int {
	if m.AcceptedAt == nil {
		return 1
	}
	return 0
}

// EndSessions ends the sessions of a person and tells how many there were. An owner
// ends those in the own business, and no other one shows it again before a new sign-in; an operator or a command ends all, and the links
// that were not used.
func (d *Directory) EndSessions(ctx context.Context, by domain.AuditActor, person domain.ID) (ended int, err error) {
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		record := domain.AuditRecord{Action: domain.ActionPersonEndSessions, Target: person, Details: map[string]string{}}
		if by.BusinessID == "" {
			if _, err = tx.Persons.Get(ctx, person); err == nil {
				ended, err = endAll(ctx, tx, person, d.clock.Now())
			}
		} else {
			var member domain.Member
			member, ended, err = d.signOut(ctx, tx, by.BusinessID, person)
			record = memberRecord(domain.ActionPersonEndSessions, member)
		}
		record.Details["ended"] = strconv.Itoa(ended)
		return record, err
	})
	return ended, err
}

// signOut ends the sessions that show one business now, and keeps the person's others from
// showing it.
func (d *Directory) signOut(ctx context.Context, tx ports.Stores, business, person domain.ID) (member domain.Member, ended int, err error) {
	if _, err := tx.Persons.Lock(ctx, person); err != nil {
		return member, 0, err
	}
	if member, err = tx.Memberships.Member(ctx, business, person); err != nil {
		return member, 0, err
	}
	now := d.clock.Now()
	member.Membership.SignedOutAt = &now
	if err := tx.Memberships.Update(ctx, member.Membership); err != nil {
		return member, 0, err
	}
	ended, err = tx.Sessions.End(ctx, ports.SessionsOf{PersonID: person, BusinessID: &business}, now)
	return member, ended, err
}

// endAll ends all sessions and links of a person.
func endAll(ctx context.Context, tx ports.Stores, person domain.ID, now time.Time) (int, error) {
	if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: person}, now); err != nil {
		return 0, err
	}
	return tx.Sessions.End(ctx, ports.SessionsOf{PersonID: person}, now)
}

func memberRecord(a domain.Action, m domain.Member) domain.AuditRecord {
	r := domain.AuditRecord{Action: a, Target: m.Person.ID, BusinessID: m.Membership.BusinessID,
		Details: map[string]string{"name": m.Person.Name, "role": string(m.Membership.Role)}}
	if m.Membership.AcceptedAt == nil {
		r.Details["state"] = string(domain.PersonInvited)
	}
	return r
}

func properName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if code, fault := domain.PersonNameRule.Judge(name); code != "" {
		return "", domain.Invalid(domain.FieldError{Field: "name", Code: code, Message: fault})
	}
	return name, nil
}
