package gormstore

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"waybill/adapters/batch"
	"waybill/domain"
)

// pickupLocations implements ports.PickupLocationStore.
type pickupLocations struct{ session }

func (s pickupLocations) Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error) {
	key, err := lookup(domain.PrefixPickupLocation, id)
	if err != nil {
		return domain.PickupLocation{}, err
	}
	row, err := lookUp[pickupLocationRow](ctx, s.session, pickupLookup, uuidOf(rowIDOf(t.BusinessID)), string(t.Environment), uuidOf(key))
	if !errors.Is(err, batch.ErrAlone) {
		return foundOr(row, err, (*pickupLocationRow).domain)
	}
	return s.take(s.oneOfBusiness(ctx, t), id)
}

// oneOfBusiness does what ofBusiness does, for a known ID. It writes the tenant as a condition that
// no index serves. Otherwise Postgres without statistics, as on a fresh database, would search all locations
// of the business for the ID.
func (s pickupLocations) oneOfBusiness(ctx context.Context, t domain.Tenant) *gorm.DB {
	if s.dialect.sharded {
		return s.ofBusiness(ctx, t)
	}
	return s.with(ctx).Where("(business_id = ? AND environment = ?) IS TRUE", rowIDOf(t.BusinessID), string(t.Environment))
}

var pickupLookup = newLookup(pickupTable, pickupTable.list(),
	"pickup_locations WHERE id = u.c AND (business_id = u.a AND environment = u.b) IS TRUE", "uuid", "text", "uuid")

func (s pickupLocations) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error) {
	if err := s.reach(rowPickup, string(id)); err != nil {
		return domain.PickupLocation{}, s.dialect.failed("lock a pickup location", err)
	}
	return s.take(s.oneOfBusiness(ctx, t).Clauses(forUpdate), id)
}

func (s pickupLocations) take(query *gorm.DB, id domain.ID) (domain.PickupLocation, error) {
	key, err := lookup(domain.PrefixPickupLocation, id)
	if err != nil {
		return domain.PickupLocation{}, err
	}
	var row pickupLocationRow
	if err := query.Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.PickupLocation{}, s.dialect.failed("read a pickup location", err)
	}
	return row.domain(), nil
}

func (s pickupLocations) List(ctx context.Context, t domain.Tenant, f domain.PickupLocationFilter,
	p domain.PageRequest) ([]domain.PickupLocation, error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	if !storable(f.Search) {
		return nil, nil
	}
	query := func() *gorm.DB {
		db := s.ofBusiness(ctx, t)
		if f.Active != nil {
			db = db.Where("active = ?", *f.Active)
		}
		return db
	}
	var rows []pickupLocationRow
	var err error
	if sought := newSearch(f.Search); len(sought) == 0 {
		err = page(query(), p, true).Find(&rows).Error
	} else {
		rows, err = searchPage[pickupLocationRow](query, s.dialect, sought, p, true)
	}
	return all(rows, (*pickupLocationRow).domain), s.listFailed(ctx, "list pickup locations", err)
}

func (s pickupLocations) Insert(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error {
	row := newPickupLocationRow(t, p)
	if err := s.unused(ctx, "pickup_locations", row.ID); err != nil {
		return err
	}
	return s.dialect.inserted("pickup_locations", "insert a pickup location", s.with(ctx).Create(&row).Error)
}

// insertBatch limits the rows of one INSERT. They need far fewer parameters than either database
// allows.
const insertBatch = 500

func (s pickupLocations) InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error {
	if len(all) == 0 {
		return nil
	}
	if err := s.reach(rowPickups, string(t.BusinessID), string(t.Environment)); err != nil {
		return s.dialect.failed("insert pickup locations", err)
	}
	rows := make([]pickupLocationRow, len(all))
	for i, p := range all {
		rows[i] = newPickupLocationRow(t, p)
	}
	return s.dialect.failed("insert pickup locations", s.with(ctx).CreateInBatches(&rows, insertBatch).Error)
}

func (s pickupLocations) Update(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error {
	key, err := lookup(domain.PrefixPickupLocation, p.ID)
	if err != nil {
		return err
	}
	row := newPickupLocationRow(t, p)
	result := s.oneOfBusiness(ctx, t).Model(&pickupLocationRow{}).Where("id = ?", key).Updates(map[string]any{
		"name": row.Name, "contact": row.Contact, "address": row.Address, "search_text": row.SearchText,
		"latitude": row.Latitude, "longitude": row.Longitude, "active": row.Active, "updated_at": row.UpdatedAt,
	})
	return s.dialect.changed("update a pickup location", result)
}
