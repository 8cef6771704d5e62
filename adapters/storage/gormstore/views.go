package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"waybill/domain"
)

// views implements ports.ViewStore.
type views struct{ session }

func (s views) FindByLink(ctx context.Context, digest [32]byte) (domain.CustomerView, error) {
	return s.take(s.with(ctx).Where("link_digest = ?", digest[:]))
}

func (s views) FindByDigest(ctx context.Context, digest [32]byte) (domain.CustomerView, error) {
	return s.take(s.with(ctx).Where("digest = ?", digest[:]))
}

func (s views) take(query *gorm.DB) (domain.CustomerView, error) {
	var row viewRow
	if err := query.Take(&row).Error; err != nil {
		return domain.CustomerView{}, s.dialect.failed("read a view of a customer", err)
	}
	return row.domain(), nil
}

func (s views) Unended(ctx context.Context, after domain.ID, limit int) ([]domain.CustomerView, error) {
	query := s.with(ctx).Where("opened_at IS NOT NULL AND ended_at IS NULL")
	if after != "" {
		query = query.Where("id > ?", rowIDOf(after))
	}
	var rows []viewRow
	err := query.Order("id").Limit(limit).Find(&rows).Error
	return all(rows, (*viewRow).domain), s.dialect.failed("list views of customers", err)
}

func (s views) Insert(ctx context.Context, v domain.CustomerView) error {
	row := newViewRow(v)
	return s.dialect.failed("insert a view of a customer", s.with(ctx).Create(&row).Error)
}

func (s views) Open(ctx context.Context, id domain.ID, digest [32]byte, at, expires time.Time) error {
	key, err := lookup(domain.PrefixCustomerView, id)
	if err != nil {
		return err
	}
	result := s.with(ctx).Exec("UPDATE customer_views SET digest = ?, opened_at = ?, expires_at = ? WHERE id = ? AND opened_at IS NULL",
		digest[:], instantOf(at), instantOf(expires), key)
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.LinkUsed()
	}
	return s.dialect.failed("open a view of a customer", result.Error)
}

func (s views) End(ctx context.Context, id domain.ID, at time.Time) (bool, error) {
	key, _ := lookup(domain.PrefixCustomerView, id)
	if key == "" {
		return false, nil // no such view
	}
	result := s.with(ctx).Exec("UPDATE customer_views SET ended_at = ? WHERE id = ? AND ended_at IS NULL", instantOf(at), key)
	return result.RowsAffected == 1, s.dialect.failed("end a view of a customer", result.Error)
}

type viewRow struct {
	ID         rowID `gorm:"primaryKey"`
	PersonID   rowID
	BusinessID rowID
	SessionID  rowID
	Reason     string
	LinkDigest []byte
	Digest     []byte
	CreatedAt  instant
	ExpiresAt  instant
	OpenedAt   *instant
	EndedAt    *instant
}

func (viewRow) TableName() string { return "customer_views" }

func newViewRow(v domain.CustomerView) viewRow {
	return viewRow{
		ID: rowIDOf(v.ID), PersonID: rowIDOf(v.PersonID), BusinessID: rowIDOf(v.BusinessID), SessionID: rowIDOf(v.SessionID),
		Reason: v.Reason, LinkDigest: v.LinkDigest[:], Digest: optionalMark(v.Digest), CreatedAt: instantOf(v.CreatedAt),
		ExpiresAt: instantOf(v.ExpiresAt), OpenedAt: optionalInstant(v.OpenedAt), EndedAt: optionalInstant(v.EndedAt),
	}
}

func (r *viewRow) domain() domain.CustomerView {
	return domain.CustomerView{
		ID: r.ID.as(domain.PrefixCustomerView), PersonID: r.PersonID.as(domain.PrefixPerson),
		BusinessID: r.BusinessID.as(domain.PrefixBusiness), SessionID: r.SessionID.as(domain.PrefixSession), Reason: r.Reason,
		LinkDigest: [32]byte(r.LinkDigest), Digest: markOf(r.Digest), CreatedAt: r.CreatedAt.time, ExpiresAt: r.ExpiresAt.time,
		OpenedAt: optionalTime(r.OpenedAt), EndedAt: optionalTime(r.EndedAt),
	}
}
