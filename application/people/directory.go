package people

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Directory manages the members of each business. An empty business is the staff.
type Directory struct {
	storage ports.Storage
	log     *audit.Log
	clock   ports.Clock
	ids     ports.Identifiers
	mailed  Mailed
}

// Mailed reports that emails reach their recipients. Then nobody is shown another person's link.
type Mailed bool

// NewDirectory returns the directory of a storage.
func NewDirectory(s ports.Storage, c ports.Clock, ids ports.Identifiers, m Mailed) *Directory {
	return &Directory{storage: s, log: audit.New(s, c, ids), clock: c, ids: ids, mailed: m}
}

// Issued holds a new link. Only now is its secret known.
type Issued struct {
	domain.Link
	Member domain.Member
	Secret string
	// MailOnly reports that the link goes to the person's own mailbox and the actor must not see
	// it. Secret is empty.
	MailOnly bool
}

// Invitation names the person to invite, as the caller sent it.
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

// Check returns the error of Invite for an invitation with an invalid field.
func (i Invitation) Check() error {
	_, err := i.parse()
	return err
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

// Invite adds an invitation to a business and makes a link for seven days. The person gets the link
// by email. The actor is shown one unless Issued.MailOnly is set. To a person of a business the
// response does not reveal whether the address has an account. Inviting a member again with the
// same role makes another link, for signing in where the invitation was accepted. Another role
// returns ALREADY_MEMBER. TOO_MANY_MAILS means that people of the business, or the staff, sent too
// many mails: no change.
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

// linkNotice describes a mail with a link, which is made when the mail is sent. Queueing it returns
// TOO_MANY_MAILS where the actor's side has sent too many.
func linkNotice(k domain.MailKind, by domain.AuditActor, i Issued) domain.Notice {
	n := domain.Notice{Kind: k, Cause: i.ID, PersonID: i.PersonID, BusinessID: i.BusinessID, At: i.CreatedAt, Facts: map[string]string{},
		Budget: domain.InvitationBudget(by)}
	if by.BusinessID != "" {
		n.Facts[domain.FactBy] = by.Name
	}
	return n
}

// Admit does what Invite does, without a mail. A member who has accepted keeps the role and gets a
// sign-in link.
func (d *Directory) Admit(ctx context.Context, by domain.AuditActor, i Invitation) (issued Issued, err error) {
	return d.admit(ctx, by, i, func(context.Context, ports.Stores, domain.Member) error { return nil })
}

// OpenPortal does what Admit does, for a company whose own site signs its customers in. The site
// vouches for who uses the link, by an email address that may be unchecked. So the link opens only
// this business, accepts no invitation and gives no access to the person's account:
// domain.Link.OneBusiness. The address of a person of the staff returns PERSON_IS_STAFF.
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

// join finds the member, or adds the person and the membership where they are missing. The name
// that was typed is stored in the invitation. The person stays locked.
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
	// A business must not learn of an account that none of its members has.
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

// issue makes a link, which replaces earlier ones to the same place. A link for one business only
// replaces others of that kind. One that the person asked for is theirs, and people replace none
// of a command.
func (d *Directory) issue(ctx context.Context, tx ports.Stores, by domain.AuditActor, m domain.Member, purpose domain.LinkPurpose) (Issued,
	error) {
	now, business := d.clock.Now(), m.Membership.BusinessID
	replaced := ports.LinksOf{PersonID: m.Person.ID, BusinessID: &business, OneBusiness: by.OneBusiness, Origins: notAsked}
	if by.IsPerson() {
		replaced.Origins = []domain.LinkOrigin{domain.LinkShown, domain.LinkMailed}
	}
	if err := tx.Links.UseAll(ctx, replaced, now); err != nil {
		return Issued{}, err
	}
	secret := domain.MakeBearerSecret(d.ids.SigningSecret())
	issued := Issued{Member: m, Secret: secret, MailOnly: by.IsPerson() && bool(d.mailed), Link: domain.Link{
		ID: d.ids.ID(domain.PrefixLink), PersonID: m.Person.ID, BusinessID: business, Purpose: purpose, OneBusiness: by.OneBusiness,
		Digest: domain.BearerDigest(secret), CreatedAt: now, ExpiresAt: now.Add(purpose.Lifetime()),
	}}
	if issued.MailOnly { // the mail sender makes the link
		issued.Secret = ""
		return issued, nil
	}
	switch {
	case !by.IsPerson() && !by.OneBusiness:
		issued.Origin = domain.LinkByCommand
	case business != "" && purpose == domain.LinkSignIn:
		// Another person sees it, so it proves nothing about the person who uses it.
		issued.OneBusiness = true
	}
	return issued, tx.Links.Insert(ctx, issued.Link)
}

// notAsked lists the origins of links that the person did not ask for. Owners end no other ones.
var notAsked = []domain.LinkOrigin{domain.LinkShown, domain.LinkMailed, domain.LinkByCommand}

// Link makes a sign-in link for ten minutes. For an actor of a business it opens that business. For
// an operator or a command it opens the business that a sign-in prefers, or the console. A
// command's link accepts the invitation of an account that belongs nowhere else on that site. Where
// the actor is not shown the link, the person gets one by mail. PERSON_DISABLED.
func (d *Directory) Link(ctx context.Context, by domain.AuditActor, person domain.ID, site domain.Site) (issued Issued, err error) {
	return d.link(ctx, by, person, func(m domain.Membership) bool {
		return m.Site() == site && (by.BusinessID == "" || m.BusinessID == by.BusinessID)
	})
}

// LinkTo makes a link as Link does, to one business, or to the console for an empty one: where the
// actor sees that person.
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
		if !slices.ContainsFunc(all, leads) {
			return domain.AuditRecord{}, domain.ErrNotFound
		}
		found := places(all, d.clock.Now(), leads)
		if len(found) == 0 && !by.IsPerson() && locked.State != domain.PersonInvited {
			// A command signs in a person who has an account but cannot sign in to accept.
			found = slices.DeleteFunc(all, func(m domain.Membership) bool { return !leads(m) })
		}
		switch {
		case len(found) == 0:
			return domain.AuditRecord{}, &domain.Error{Kind: domain.KindConflict, Code: domain.CodeNotAccepted,
				Message: "The person has not accepted the invitation yet. Invite them again for a new link."}
		case locked.State == domain.PersonDisabled:
			return domain.AuditRecord{}, &domain.Error{Kind: domain.KindConflict, Code: domain.CodePersonDisabled,
				Message: "The account of " + string(locked.Email) + " is disabled, so that a link would not work. The delivery company can enable it."}
		}
		to, err := firstEnabled(ctx, tx.Tenancy, found)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		member, err := tx.Memberships.Member(ctx, to.BusinessID, person)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if issued, err = d.issue(ctx, tx, by, member, domain.LinkSignIn); err == nil && issued.MailOnly {
			err = tx.Mails.Tell(ctx, linkNotice(domain.MailSignInLink, by, issued))
		}
		return memberRecord(domain.ActionPersonLink, member), err
	})
	return issued, err
}

// Members lists the persons of a business, or of the staff, oldest membership first.
func (d *Directory) Members(ctx context.Context, business domain.ID) ([]domain.Member, error) {
	if business != "" {
		if _, err := d.storage.Read().Tenancy.Business(ctx, business); err != nil {
			return nil, err
		}
	}
	return d.storage.Read().Memberships.Members(ctx, business)
}

// SetRole gives a member another role, which applies from the next page on. It returns LAST_OWNER
// where people would leave their own business without an owner.
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

// Remove ends a membership with its sessions and links. The account stays. It returns LAST_OWNER
// where people would leave their own business without an owner.
func (d *Directory) Remove(ctx context.Context, by domain.AuditActor, business, person domain.ID) (member domain.Member, err error) {
	err = d.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if member, err = d.lock(ctx, tx, by, business, person, ""); err != nil {
			return domain.AuditRecord{}, err
		}
		if err := tx.Memberships.Remove(ctx, business, person); err != nil {
			return domain.AuditRecord{}, err
		}
		now := d.clock.Now()
		if err := tx.Links.UseAll(ctx, ports.LinksOf{PersonID: person, BusinessID: &business, Origins: notAsked}, now); err != nil {
			return domain.AuditRecord{}, err
		}
		_, err := tx.Sessions.End(ctx, ports.SessionsOf{PersonID: person, BusinessID: &business}, now)
		return memberRecord(domain.ActionPersonRemove, member), err
	})
	return member, err
}

// lock locks the members of a business and finds one of them. People may not leave their own side
// without an owner. The delivery company may leave a customer without one.
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

// lockWithMembers locks a person and then the members of a business, and returns both. Code that
// changes a membership reads it after locking its person. So accepting an invitation and changing a
// role at the same time happen one after the other.
func lockWithMembers(ctx context.Context, tx ports.Stores, business, person domain.ID) (domain.Person, []domain.Member, error) {
	locked, err := tx.Persons.Lock(ctx, person)
	if err != nil {
		return domain.Person{}, nil, err
	}
	members, err := tx.Memberships.LockMembers(ctx, business)
	return locked, members, err
}

// SetDisabled disables an account at every site, or enables it again. Its sessions and links end
// for good. The actor's own account returns DISABLE_SELF. That of the last admin of the staff who
// can sign in returns LAST_OWNER, also for a command.
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

// stateBefore returns the state of a person who is not disabled. A person who has accepted nothing
// is invited, as before.
func stateBefore(ctx context.Context, tx ports.Stores, p domain.Person) (domain.PersonState, error) {
	all, err := tx.Memberships.OfPerson(ctx, p.ID)
	accepted := func(m domain.Membership) bool { return m.AcceptedAt != nil }
	if p.PasswordHash == "" && !p.EmailProven && !slices.ContainsFunc(all, accepted) {
		return domain.PersonInvited, err
	}
	return domain.PersonActive, err
}

// EndSessions ends the sessions of a person and returns their number. An owner ends those in their
// own business. The person's other sessions cannot show it before a new sign-in. An operator or a
// command ends all sessions and the unused links.
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

// signOut ends the sessions that show one business now. The person's other sessions cannot switch
// to it any more.
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
