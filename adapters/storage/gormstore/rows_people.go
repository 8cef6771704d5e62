package gormstore

import "waybill/domain"

type personRow struct {
	ID           rowID `gorm:"primaryKey"`
	Name         string
	Email        string
	State        string
	PasswordHash *string
	CreatedAt    instant
}

func (personRow) TableName() string { return "persons" }

func newPersonRow(p domain.Person) personRow {
	row := personRow{
		ID: rowIDOf(p.ID), Name: p.Name, Email: string(p.Email), State: string(p.State), CreatedAt: instantOf(p.CreatedAt),
	}
	if p.PasswordHash != "" {
		row.PasswordHash = &p.PasswordHash
	}
	return row
}

func (r *personRow) domain() domain.Person {
	p := domain.Person{
		ID: r.ID.as(domain.PrefixPerson), Name: r.Name, Email: domain.Email(r.Email), State: domain.PersonState(r.State),
		CreatedAt: r.CreatedAt.time,
	}
	if r.PasswordHash != nil {
		p.PasswordHash = *r.PasswordHash
	}
	return p
}

type membershipRow struct {
	PersonID    rowID
	BusinessID  *rowID
	Role        string
	CreatedAt   instant
	AcceptedAt  *instant
	SignedOutAt *instant
}

func (membershipRow) TableName() string { return "memberships" }

func newMembershipRow(m domain.Membership) membershipRow {
	return membershipRow{
		PersonID: rowIDOf(m.PersonID), BusinessID: optionalRowID(m.BusinessID), Role: string(m.Role),
		CreatedAt: instantOf(m.CreatedAt), AcceptedAt: optionalInstant(m.AcceptedAt),
		SignedOutAt: optionalInstant(m.SignedOutAt),
	}
}

func (r *membershipRow) domain() domain.Membership {
	return domain.Membership{
		PersonID: r.PersonID.as(domain.PrefixPerson), BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness), Role: domain.Role(r.Role),
		CreatedAt: r.CreatedAt.time, AcceptedAt: optionalTime(r.AcceptedAt), SignedOutAt: optionalTime(r.SignedOutAt),
	}
}

// memberRow is a membership joined with its person.
type memberRow struct {
	Person     personRow     `gorm:"embedded;embeddedPrefix:person_"`
	Membership membershipRow `gorm:"embedded;embeddedPrefix:membership_"`
}

func (r *memberRow) domain() domain.Member {
	return domain.Member{Person: r.Person.domain(), Membership: r.Membership.domain()}
}

type linkRow struct {
	ID          rowID `gorm:"primaryKey"`
	PersonID    rowID
	BusinessID  *rowID
	Purpose     string
	OneBusiness bool
	Digest      []byte
	CreatedAt   instant
	ExpiresAt   instant
	UsedAt      *instant
}

func (linkRow) TableName() string { return "person_links" }

func newLinkRow(l domain.Link) linkRow {
	return linkRow{
		ID: rowIDOf(l.ID), PersonID: rowIDOf(l.PersonID), BusinessID: optionalRowID(l.BusinessID), Purpose: string(l.Purpose),
		OneBusiness: l.OneBusiness, Digest: l.Digest[:],
		CreatedAt: instantOf(l.CreatedAt), ExpiresAt: instantOf(l.ExpiresAt), UsedAt: optionalInstant(l.UsedAt),
	}
}

func (r *linkRow) domain() domain.Link {
	return domain.Link{
		ID: r.ID.as(domain.PrefixLink), PersonID: r.PersonID.as(domain.PrefixPerson), BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness),
		Purpose: domain.LinkPurpose(r.Purpose), OneBusiness: r.OneBusiness, Digest: [32]byte(r.Digest),
		CreatedAt: r.CreatedAt.time, ExpiresAt: r.ExpiresAt.time, UsedAt: optionalTime(r.UsedAt),
	}
}

type sessionRow struct {
	ID          rowID `gorm:"primaryKey"`
	PersonID    rowID
	BusinessID  *rowID
	OneBusiness bool
	Digest      []byte
	Method      string
	Device      string
	CreatedAt   instant
	SignedInAt  instant
	LastSeenAt  instant
	ExpiresAt   instant
	EndedAt     *instant
}

func (sessionRow) TableName() string { return "sessions" }

func newSessionRow(s domain.Session) sessionRow {
	return sessionRow{
		ID: rowIDOf(s.ID), PersonID: rowIDOf(s.PersonID), BusinessID: optionalRowID(s.BusinessID), OneBusiness: s.OneBusiness, Digest: s.Digest[:],
		Method: string(s.Method), Device: s.Device, CreatedAt: instantOf(s.CreatedAt), SignedInAt: instantOf(s.SignedInAt),
		LastSeenAt: instantOf(s.LastSeenAt), ExpiresAt: instantOf(s.ExpiresAt), EndedAt: optionalInstant(s.EndedAt),
	}
}

func (r *sessionRow) domain() domain.Session {
	return domain.Session{
		ID: r.ID.as(domain.PrefixSession), PersonID: r.PersonID.as(domain.PrefixPerson),
		BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness), OneBusiness: r.OneBusiness,
		Digest: [32]byte(r.Digest), Method: domain.SignInMethod(r.Method), Device: r.Device,
		CreatedAt: r.CreatedAt.time, SignedInAt: r.SignedInAt.time, LastSeenAt: r.LastSeenAt.time, ExpiresAt: r.ExpiresAt.time,
		EndedAt: optionalTime(r.EndedAt),
	}
}

// principalRow is a session joined with its person and the role there.
type principalRow struct {
	Session sessionRow `gorm:"embedded;embeddedPrefix:session_"`
	Person  personRow  `gorm:"embedded;embeddedPrefix:person_"`
	Role    string
}

func (r *principalRow) domain() domain.Principal {
	return domain.Principal{Session: r.Session.domain(), Person: r.Person.domain(), Role: domain.Role(r.Role)}
}
