package gormstore

import (
	"context"

	"gorm.io/gorm/clause"

	"waybill/domain"
)

// LockAll locks the locations by one statement.
func (s pickupLocations) LockAll(ctx context.Context, t domain.Tenant, ids []domain.ID) ([]domain.PickupLocation, error) {
	keys := make([]rowID, 0, len(ids))
	for _, id := range ids {
		if key, err := lookup(domain.PrefixPickupLocation, id); err == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	if err := s.reach(rowPickups, string(t.BusinessID), string(t.Environment)); err != nil {
		return nil, s.dialect.failed("lock pickup locations", err)
	}
	var rows []pickupLocationRow
	err := s.oneOfBusiness(ctx, t).Clauses(forUpdate).Where("id IN ?", keys).Order("id").Find(&rows).Error
	return all(rows, (*pickupLocationRow).domain), s.dialect.failed("lock pickup locations", err)
}

// UpdateAll finds each row by its key in one statement: an INSERT whose conflicts become updates.
// UPDATE ... FROM was rejected: without statistics, and after many changes, Postgres compares each
// location of the table with each of the values.
func (s pickupLocations) UpdateAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error {
	if len(all) == 0 {
		return nil
	}
	if s.dialect.sharded { // a location of another business would be no conflict there
		for _, p := range all {
			if err := s.Update(ctx, t, p); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([]pickupLocationRow, len(all))
	for i, p := range all {
		if _, err := lookup(domain.PrefixPickupLocation, p.ID); err != nil {
			return err
		}
		rows[i] = newPickupLocationRow(t, p)
	}
	result := s.with(ctx).Clauses(s.dialect.overwriteLocation()).Create(&rows)
	if result.Error == nil && result.RowsAffected < int64(len(all)) {
		return domain.ErrNotFound
	}
	return s.dialect.failed("update pickup locations", result.Error)
}

func (e *dialect) overwriteLocation() clause.OnConflict {
	overwrite := clause.OnConflict{
		DoUpdates: clause.AssignmentColumns([]string{"name", "contact", "address", "search_text", "latitude", "longitude", "active",
			"updated_at"}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Expr{
			SQL: "pickup_locations.business_id = excluded.business_id AND pickup_locations.environment = excluded.environment",
		}}},
	}
	if e.namesKeys {
		overwrite.OnConstraint = "pickup_locations_pkey" // see keyed
	}
	return overwrite
}
