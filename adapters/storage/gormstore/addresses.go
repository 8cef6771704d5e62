package gormstore

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"waybill/adapters/batch"
	"waybill/domain"
)

func (s recipients) GetAddress(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Address, error) {
	key, err := lookup(domain.PrefixAddress, id)
	if err != nil {
		return domain.Address{}, err
	}
	return s.takeAddress(s.ofBusiness(ctx, t).Where("id = ?", key))
}

func (s recipients) FindAddress(ctx context.Context, t domain.Tenant, recipient domain.ID, matchKey string) (domain.Address, error) {
	key, err := lookup(domain.PrefixRecipient, recipient)
	if err != nil {
		return domain.Address{}, err
	}
	row, err := lookUp[addressRow](ctx, s.session, addressLookup, uuidOf(rowIDOf(t.BusinessID)), string(t.Environment), uuidOf(key),
		matchHash(matchKey))
	if !errors.Is(err, batch.ErrAlone) {
		return foundOr(row, err, (*addressRow).domain)
	}
	return s.takeAddress(s.ofBusiness(ctx, t).Where("recipient_id = ? AND match_hash = ?", key, matchHash(matchKey)))
}

var addressLookup = newLookup(addressTable, addressTable.list(),
	"recipient_addresses WHERE business_id = u.a AND environment = u.b AND recipient_id = u.c AND match_hash = u.d", "uuid", "text", "uuid",
	"bytea")

func (s recipients) takeAddress(query *gorm.DB) (domain.Address, error) {
	var row addressRow
	if err := query.Take(&row).Error; err != nil {
		return domain.Address{}, s.dialect.failed("read an address", err)
	}
	return row.domain(), nil
}

func (s recipients) Addresses(ctx context.Context, t domain.Tenant, recipient domain.ID) ([]domain.Address, error) {
	key, _ := lookup(domain.PrefixRecipient, recipient)
	if key == "" {
		return nil, nil // no such recipient, so no addresses
	}
	var rows []addressRow
	err := oldestFirst(s.ofBusiness(ctx, t)).Where("recipient_id = ?", key).Find(&rows).Error
	return all(rows, (*addressRow).domain), s.dialect.failed("list addresses", err)
}

// AddAddress locks the recipient's row before it searches and counts. So the second of two calls
// sees what the first stored.
func (s recipients) AddAddress(ctx context.Context, t domain.Tenant, a domain.Address) (domain.Address, bool, error) {
	key, err := lookup(domain.PrefixRecipient, a.RecipientID)
	if err != nil {
		return domain.Address{}, false, err
	}
	if err := s.reach(rowRecipient, string(a.RecipientID)); err != nil {
		return domain.Address{}, false, s.dialect.failed("lock a recipient", err)
	}
	var owner recipientRow
	if err := s.ofBusiness(ctx, t).Clauses(forUpdate).Where("id = ?", key).Take(&owner).Error; err != nil {
		return domain.Address{}, false, s.dialect.failed("lock a recipient", err)
	}
	stored, err := s.FindAddress(ctx, t, a.RecipientID, a.MatchKey)
	if err == nil || !domain.HasCode(err, domain.CodeNotFound) {
		return stored, false, err
	}
	if err := s.countAddress(ctx, t, key); err != nil {
		return domain.Address{}, false, err
	}
	row := newAddressRow(t, a)
	if err := s.with(ctx).Create(&row).Error; err != nil {
		return domain.Address{}, false, s.dialect.failed("insert an address", err)
	}
	return a, true, nil
}

// countAddress counts one more address of a recipient, or returns TooManyAddresses.
func (s recipients) countAddress(ctx context.Context, t domain.Tenant, recipient rowID) error {
	result := s.with(ctx).Exec("UPDATE recipients SET address_count = address_count + 1"+
		" WHERE id = ? AND business_id = ? AND environment = ? AND address_count < ?",
		recipient, rowIDOf(t.BusinessID), string(t.Environment), domain.MaxAddressesPerRecipient)
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.TooManyAddresses("address")
	}
	return s.dialect.failed("count an address", result.Error)
}
