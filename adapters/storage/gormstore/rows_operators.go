package gormstore

import (
	"encoding/json"
	"fmt"

	"waybill/domain"
)

type operatorRow struct {
	ID         rowID `gorm:"primaryKey"`
	Name       string
	Kind       string
	Digest     []byte
	Pepper     []byte // null: the oldest
	LastFour   string
	CreatedAt  instant
	ExpiresAt  *instant
	RevokedAt  *instant
	LastUsedAt *instant
}

func (operatorRow) TableName() string { return "operator_tokens" }

func newOperatorRow(t domain.OperatorToken) operatorRow {
	return operatorRow{
		ID: rowIDOf(t.ID), Name: t.Name, Kind: string(t.Kind), Digest: t.Digest[:], Pepper: optionalMark(t.Pepper), LastFour: t.LastFour,
		CreatedAt: instantOf(t.CreatedAt), ExpiresAt: optionalInstant(t.ExpiresAt),
		RevokedAt: optionalInstant(t.RevokedAt), LastUsedAt: optionalInstant(t.LastUsedAt),
	}
}

func (r *operatorRow) domain() domain.OperatorToken {
	return domain.OperatorToken{
		ID: r.ID.as(domain.PrefixOperatorToken), Name: r.Name, Kind: domain.OperatorKind(r.Kind), Digest: [32]byte(r.Digest),
		Pepper: markOf(r.Pepper), LastFour: r.LastFour,
		CreatedAt: r.CreatedAt.time, ExpiresAt: optionalTime(r.ExpiresAt),
		RevokedAt: optionalTime(r.RevokedAt), LastUsedAt: optionalTime(r.LastUsedAt),
	}
}

type auditRow struct {
	ID               rowID `gorm:"primaryKey"`
	At               instant
	OperatorID       *rowID
	OperatorName     string // of any actor: the column is older than persons are
	PersonID         *rowID
	PersonBusinessID *rowID
	Action           string
	Target           string
	BusinessID       *rowID
	Details          string
	RequestID        string
}

func (auditRow) TableName() string { return "audit_log" }

func newAuditRow(e domain.AuditEntry) (auditRow, error) {
	details := e.Details
	if details == nil {
		details = map[string]string{}
	}
	text, err := json.Marshal(details)
	if err != nil {
		return auditRow{}, fmt.Errorf("the details of an audit entry: %w", err)
	}
	row := auditRow{
		ID: rowIDOf(e.ID), At: instantOf(e.At), OperatorName: e.Actor.Name, PersonBusinessID: optionalRowID(e.Actor.BusinessID),
		Action: string(e.Action), Target: string(e.Target), BusinessID: optionalRowID(e.BusinessID),
		Details: string(text), RequestID: e.Actor.RequestID,
	}
	if e.Actor.IsPerson() {
		row.PersonID = optionalRowID(e.Actor.ID)
	} else {
		row.OperatorID = optionalRowID(e.Actor.ID)
	}
	return row, nil
}

func (r *auditRow) domain() (domain.AuditEntry, error) {
	e := domain.AuditEntry{
		ID: r.ID.as(domain.PrefixAuditEntry), At: r.At.time,
		Actor: domain.AuditActor{
			ID: optionalID(r.OperatorID, domain.PrefixOperatorToken), Name: r.OperatorName, RequestID: r.RequestID,
			BusinessID: optionalID(r.PersonBusinessID, domain.PrefixBusiness),
		},
		AuditRecord: domain.AuditRecord{
			Action: domain.Action(r.Action), Target: domain.ID(r.Target), BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness),
		},
	}
	if r.PersonID != nil {
		e.Actor.ID = r.PersonID.as(domain.PrefixPerson)
	}
	if r.Details != "{}" {
		if err := json.Unmarshal([]byte(r.Details), &e.Details); err != nil {
			return e, fmt.Errorf("the details of an audit entry are no JSON object of strings: %w", err)
		}
	}
	return e, nil
}
