package gormstore

import (
	"context"

	"waybill/domain"
)

var identityTable = newTable(identityRow{})

type identityRow struct {
	Issuer    string `gorm:"primaryKey"`
	Subject   string `gorm:"primaryKey"`
	PersonID  rowID
	CreatedAt instant
}

func (identityRow) TableName() string { return "person_identities" }

func (r *identityRow) domain() domain.ConnectedIdentity {
	return domain.ConnectedIdentity{
		Issuer: r.Issuer, Subject: r.Subject, PersonID: r.PersonID.as(domain.PrefixPerson), CreatedAt: r.CreatedAt.time,
	}
}

// identities implements ports.ConnectedIdentityStore.
type identities struct{ session }

func (s identities) Find(ctx context.Context, issuer, subject string) (domain.ConnectedIdentity, error) {
	var row identityRow
	if err := s.with(ctx).Where("issuer = ? AND subject = ?", issuer, subject).Take(&row).Error; err != nil {
		return domain.ConnectedIdentity{}, s.dialect.failed("read a connected identity", err)
	}
	return row.domain(), nil
}

func (s identities) OfPerson(ctx context.Context, person domain.ID) ([]domain.ConnectedIdentity, error) {
	key, _ := lookup(domain.PrefixPerson, person)
	if key == "" {
		return nil, nil // no such person, so none
	}
	var rows []identityRow
	err := s.with(ctx).Where("person_id = ?", key).Order("created_at, issuer, subject").Find(&rows).Error
	return all(rows, (*identityRow).domain), s.dialect.failed("list connected identities", err)
}

func (s identities) Insert(ctx context.Context, c domain.ConnectedIdentity) error {
	row := identityRow{Issuer: c.Issuer, Subject: c.Subject, PersonID: rowIDOf(c.PersonID), CreatedAt: instantOf(c.CreatedAt)}
	result := identityTable.insertInto(ctx, s.with(ctx), row, " ON CONFLICT (issuer, subject) DO NOTHING")
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.IdentityTaken()
	}
	return s.dialect.failed("insert a connected identity", result.Error)
}

func (s identities) RemoveAll(ctx context.Context, person domain.ID) error {
	return s.removeOf(ctx, person, "person_identities")
}

// removeOf deletes the rows of a person from a table.
func (s session) removeOf(ctx context.Context, person domain.ID, table string) error {
	key, _ := lookup(domain.PrefixPerson, person)
	if key == "" {
		return nil // no such person, so no rows
	}
	return s.dialect.failed("remove "+table, s.with(ctx).Exec("DELETE FROM "+table+" WHERE person_id = ?", key).Error)
}
