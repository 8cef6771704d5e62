package gormstore

import (
	"encoding/json"
	"fmt"

	"waybill/domain"
)

type mailRow struct {
	ID         rowID `gorm:"primaryKey"`
	Kind       string
	Cause      string
	BusinessID *rowID
	PersonID   *rowID
	Email      *string
	About      string
	Facts      string
	CreatedAt  instant
	State      string
	DueAt      instant
	ExpiresAt  instant
	Attempts   int
	SettledAt  *instant
	LastError  string
	Budget     string
}

func (mailRow) TableName() string { return "mails" }

func newMailRow(m domain.Mail) (mailRow, error) {
	facts := m.Facts
	if facts == nil {
		facts = map[string]string{}
	}
	text, err := json.Marshal(facts)
	if err != nil {
		return mailRow{}, fmt.Errorf("the facts of a mail: %w", err)
	}
	row := mailRow{
		ID: rowIDOf(m.ID), Kind: string(m.Kind), Cause: string(m.Cause), BusinessID: optionalRowID(m.BusinessID),
		PersonID: optionalRowID(m.PersonID),
		About:    string(m.About), Facts: string(text), CreatedAt: instantOf(m.At), State: string(m.State),
		DueAt: instantOf(m.DueAt), ExpiresAt: instantOf(m.ExpiresAt), Attempts: m.Attempts, SettledAt: optionalInstant(m.SettledAt),
		LastError: m.LastError, Budget: string(m.Budget),
	}
	if m.Email != "" {
		row.Email = new(string(m.Email))
	}
	return row, nil
}

func (r *mailRow) domain() (domain.Mail, error) {
	m := domain.Mail{
		ID: r.ID.as(domain.PrefixMail), State: domain.MailState(r.State), DueAt: r.DueAt.time, ExpiresAt: r.ExpiresAt.time,
		Attempts: r.Attempts, SettledAt: optionalTime(r.SettledAt), LastError: r.LastError,
		Notice: domain.Notice{
			Kind: domain.MailKind(r.Kind), Cause: domain.ID(r.Cause), BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness),
			PersonID: optionalID(r.PersonID, domain.PrefixPerson), About: domain.ID(r.About), At: r.CreatedAt.time,
			Budget: domain.MailBudget(r.Budget),
		},
	}
	if r.Email != nil {
		m.Email = domain.Email(*r.Email)
	}
	if r.Facts != "{}" {
		if err := json.Unmarshal([]byte(r.Facts), &m.Facts); err != nil {
			return m, fmt.Errorf("the facts of a mail are no JSON object of strings: %w", err)
		}
	}
	return m, nil
}
