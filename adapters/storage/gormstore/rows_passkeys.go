package gormstore

import "waybill/domain"

type passkeyRow struct {
	ID           rowID `gorm:"primaryKey"`
	PersonID     rowID
	Name         string
	Host         string
	CredentialID []byte
	PublicKey    []byte
	SignCount    int64
	Syncs        bool
	CreatedAt    instant
	LastUsedAt   *instant
}

func (passkeyRow) TableName() string { return "passkeys" }

func newPasskeyRow(k domain.Passkey) passkeyRow {
	return passkeyRow{
		ID: rowIDOf(k.ID), PersonID: rowIDOf(k.PersonID), Name: k.Name, Host: k.Host, CredentialID: k.CredentialID, PublicKey: k.PublicKey,
		SignCount: int64(k.SignCount), Syncs: k.Syncs, CreatedAt: instantOf(k.CreatedAt), LastUsedAt: optionalInstant(k.LastUsedAt),
	}
}

func (r *passkeyRow) domain() domain.Passkey {
	return domain.Passkey{
		ID: r.ID.as(domain.PrefixPasskey), PersonID: r.PersonID.as(domain.PrefixPerson), Name: r.Name, Host: r.Host,
		CredentialID: r.CredentialID, PublicKey: r.PublicKey, SignCount: uint32(r.SignCount), //nolint:gosec // it was one
		Syncs: r.Syncs, CreatedAt: r.CreatedAt.time, LastUsedAt: optionalTime(r.LastUsedAt),
	}
}

type ceremonyRow struct {
	ID        rowID `gorm:"primaryKey"`
	Purpose   string
	SessionID *rowID
	Challenge []byte
	CreatedAt instant
	ExpiresAt instant
}

func (ceremonyRow) TableName() string { return "passkey_ceremonies" }

func newCeremonyRow(c domain.Ceremony) ceremonyRow {
	return ceremonyRow{
		ID: rowIDOf(c.ID), Purpose: string(c.Purpose), SessionID: optionalRowID(c.SessionID), Challenge: c.Challenge[:],
		CreatedAt: instantOf(c.CreatedAt), ExpiresAt: instantOf(c.ExpiresAt),
	}
}

func (r *ceremonyRow) domain() domain.Ceremony {
	return domain.Ceremony{
		ID: r.ID.as(domain.PrefixCeremony), Purpose: domain.CeremonyPurpose(r.Purpose), SessionID: optionalID(r.SessionID, domain.PrefixSession),
		Challenge: [32]byte(r.Challenge), CreatedAt: r.CreatedAt.time, ExpiresAt: r.ExpiresAt.time,
	}
}
