package gormstore

import (
	"context"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"waybill/adapters/batch"
	"waybill/domain"
)

// recipients implements ports.RecipientStore.
type recipients struct{ session }

// forUpdate locks the rows until the transaction ends. NO KEY lets others still store records that
// refer to the row. SQLite has no such clause and needs none: it has one writer at a time.
var forUpdate = clause.Locking{Strength: "NO KEY UPDATE"}

func (s recipients) Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Recipient, error) {
	key, err := lookup(domain.PrefixRecipient, id)
	if err != nil {
		return domain.Recipient{}, err
	}
	return s.take(s.ofBusiness(ctx, t).Where("id = ?", key))
}

func (s recipients) FindByPhone(ctx context.Context, t domain.Tenant, phone domain.PhoneNumber) (domain.Recipient, error) {
	if !storable(string(phone)) {
		return domain.Recipient{}, domain.ErrNotFound
	}
	row, err := lookUp[recipientRow](ctx, s.session, recipientLookup, uuidOf(rowIDOf(t.BusinessID)), string(t.Environment), string(phone))
	if !errors.Is(err, batch.ErrAlone) {
		return foundOr(row, err, (*recipientRow).domain)
	}
	return s.take(s.ofBusiness(ctx, t).Where("phone_number = ?", string(phone)))
}

var recipientLookup = newLookup(recipientTable, recipientTable.list(),
	"recipients WHERE business_id = u.a AND environment = u.b AND phone_number = u.c", "uuid", "text", "text")

func (s recipients) take(query *gorm.DB) (domain.Recipient, error) {
	var row recipientRow
	if err := query.Take(&row).Error; err != nil {
		return domain.Recipient{}, s.dialect.failed("read a recipient", err)
	}
	return row.domain(), nil
}

func (s recipients) List(ctx context.Context, t domain.Tenant, f domain.RecipientFilter, p domain.PageRequest) ([]domain.Recipient, error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	if !storable(f.Search, f.SearchPhone, string(f.PhoneNumber)) {
		return nil, nil
	}
	query := func() *gorm.DB {
		db := s.ofBusiness(ctx, t)
		if f.PhoneNumber != "" {
			db = db.Where("phone_number = ?", string(f.PhoneNumber))
		}
		return db
	}
	var rows []recipientRow
	var err error
	if sought := newSearch(f.Search, f.SearchPhone); len(sought) == 0 {
		err = page(query(), p, false).Find(&rows).Error
	} else {
		rows, err = searchPage[recipientRow](query, s.dialect, sought, p, false)
	}
	return all(rows, (*recipientRow).domain), s.listFailed(ctx, "list recipients", err)
}

// Add inserts first and reads afterwards: a read before would not see a
// concurrent insert of the same number.
func (s recipients) Add(ctx context.Context, t domain.Tenant, r domain.Recipient) (domain.Recipient, bool, error) {
	if err := s.reach(rowRecipient, string(t.BusinessID), string(t.Environment), string(r.PhoneNumber)); err != nil {
		return domain.Recipient{}, false, s.dialect.failed("insert a recipient", err)
	}
	row := newRecipientRow(t, r)
	inserted := s.with(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "business_id"}, {Name: "environment"}, {Name: "phone_number"}},
		DoNothing: true,
	}).Create(&row)
	if inserted.Error != nil {
		return domain.Recipient{}, false, s.dialect.failed("insert a recipient", inserted.Error)
	}
	if inserted.RowsAffected == 1 {
		return r, true, nil
	}
	stored, err := s.FindByPhone(ctx, t, r.PhoneNumber)
	if err != nil || stored.Name != "" || r.Name == "" {
		return stored, false, err
	}
	if err := s.fillName(ctx, t, domain.Recipient{
		ID: stored.ID, PhoneNumber: stored.PhoneNumber, Name: r.Name, UpdatedAt: r.UpdatedAt,
	}); err != nil {
		return domain.Recipient{}, false, err
	}
	// Read again: another request may have filled it in meanwhile, and the first name stays.
	stored, err = s.Get(ctx, t, stored.ID)
	return stored, false, err
}

// fillName sets the name of a recipient that has none.
func (s recipients) fillName(ctx context.Context, t domain.Tenant, r domain.Recipient) error {
	err := s.ofBusiness(ctx, t).Model(&recipientRow{}).Where("id = ? AND name = ''", rowIDOf(r.ID)).
		Updates(map[string]any{
			"name":        r.Name,
			"search_text": recipientSearchText(r.Name, r.PhoneNumber),
			"updated_at":  instantOf(r.UpdatedAt),
		}).Error
	return s.dialect.failed("fill in the name of a recipient", err)
}
