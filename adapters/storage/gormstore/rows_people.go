package gormstore

import "waybill/domain"

type personRow struct {
	ID           rowID `gorm:"primaryKey"`
	Name         string
	Email        string
	State        string
	PasswordHash *string
	EmailProven  bool
	CreatedAt    instant
}

func (personRow) TableName() string { return "persons" }

func newPersonRow(p domain.Person) personRow {
	row := personRow{
		ID: rowIDOf(p.ID), Name: p.Name, Email: string(p.Email), State: string(p.State), EmailProven: p.EmailProven,
		CreatedAt: instantOf(p.CreatedAt),
	}
	if p.PasswordHash != "" {
		row.PasswordHash = &p.PasswordHash
	}
	return row
}

func (r *personRow) domain() domain.Person {
	p := domain.Person{
		ID: r.ID.as(domain.PrefixPerson), Name: r.Name, Email: domain.Email(r.Email), State: domain.PersonState(r.State),
		EmailProven: r.EmailProven, CreatedAt: r.CreatedAt.time,
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
	Name        *string
	CreatedAt   instant
	AcceptedAt  *instant
	SignedOutAt *instant
}

func (membershipRow) TableName() string { return "memberships" }

func newMembershipRow(m domain.Membership) membershipRow {
	row := membershipRow{
		PersonID: rowIDOf(m.PersonID), BusinessID: optionalRowID(m.BusinessID), Role: string(m.Role),
		CreatedAt: instantOf(m.CreatedAt), AcceptedAt: optionalInstant(m.AcceptedAt),
		SignedOutAt: optionalInstant(m.SignedOutAt),
	}
	if m.Name != "" {
		row.Name = &m.Name
	}
	return row
}

func (r *membershipRow) domain() domain.Membership {
	m := domain.Membership{
		PersonID: r.PersonID.as(domain.PrefixPerson), BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness), Role: domain.Role(r.Role),
		CreatedAt: r.CreatedAt.time, AcceptedAt: optionalTime(r.AcceptedAt), SignedOutAt: optionalTime(r.SignedOutAt),
	}
	if r.Name != nil {
		m.Name = *r.Name
	}
	return m
}

// memberRow is a membership joined with its person.
type memberRow struct {
	Person     personRow     `gorm:"embedded;embeddedPrefix:person_"`
	Membership membershipRow `gorm:"embedded;embeddedPrefix:membership_"`
}

func (r *memberRow) domain() domain.Member {
	return domain.NewMember(r.Person.domain(), r.Membership.domain())
}

type linkRow struct {
	ID          rowID `gorm:"primaryKey"`
	PersonID    rowID
	BusinessID  *rowID
	Purpose     string
	OneBusiness bool
	Origin      string
	Digest      []byte
	CreatedAt   instant
	ExpiresAt   instant
	UsedAt      *instant
}

func (linkRow) TableName() string { return "person_links" }

func newLinkRow(l domain.Link) linkRow {
	return linkRow{
		ID: rowIDOf(l.ID), PersonID: rowIDOf(l.PersonID), BusinessID: optionalRowID(l.BusinessID), Purpose: string(l.Purpose),
		OneBusiness: l.OneBusiness, Origin: string(l.Origin), Digest: l.Digest[:],
		CreatedAt: instantOf(l.CreatedAt), ExpiresAt: instantOf(l.ExpiresAt), UsedAt: optionalInstant(l.UsedAt),
	}
}

func (r *linkRow) domain() domain.Link {
	return domain.Link{
		ID: r.ID.as(domain.PrefixLink), PersonID: r.PersonID.as(domain.PrefixPerson), BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness),
		Purpose: domain.LinkPurpose(r.Purpose), OneBusiness: r.OneBusiness, Origin: domain.LinkOrigin(r.Origin), Digest: [32]byte(r.Digest),
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

// principalRow is a session joined with the member that it shows.
type principalRow struct {
	Session sessionRow `gorm:"embedded;embeddedPrefix:session_"`
	Member  memberRow  `gorm:"embedded"`
}

func (r *principalRow) domain() domain.Principal {
	m := r.Member.domain()
	return domain.Principal{Session: r.Session.domain(), Person: m.Person, Role: m.Membership.Role}
}
