package gormstore

import (
	"context"
	"errors"
	"maps"

	"gorm.io/gorm"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// deliveries implements ports.DeliveryStore.
type deliveries struct{ session }

func (s deliveries) Get(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	key, err := lookup(domain.PrefixDelivery, id)
	if err != nil {
		return nil, err
	}
	row, err := lookUp[deliveryRow](ctx, s.session, deliveryLookup, append(applicationKey(t), uuidOf(key))...)
	if !errors.Is(err, batch.ErrAlone) {
		return foundOr(row, err, (*deliveryRow).domain)
	}
	return s.takeByID(s.ofApplication(ctx, t), id)
}

func (s deliveries) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	if err := s.reach(rowDelivery, string(id)); err != nil {
		return nil, s.dialect.failed("lock a delivery", err)
	}
	return s.takeByID(s.ofApplication(ctx, t).Clauses(forUpdate), id)
}

func (s deliveries) FindByExternalID(ctx context.Context, t domain.Tenant, externalID string) (*domain.Delivery, error) {
	if !storable(externalID) {
		return nil, domain.ErrNotFound
	}
	row, err := lookUp[deliveryRow](ctx, s.session, externalIDLookup, append(applicationKey(t), externalID)...)
	if !errors.Is(err, batch.ErrAlone) {
		return foundOr(row, err, (*deliveryRow).domain)
	}
	return s.take(s.ofApplication(ctx, t).Where("external_id = ?", externalID))
}

var (
	deliveryLookup = newLookup(deliveryTable, deliveryTable.list(),
		"deliveries WHERE business_id = u.a AND application_id = u.b AND environment = u.c AND id = u.d", "uuid", "uuid", "text", "uuid")
	externalIDLookup = newLookup(deliveryTable, deliveryTable.list(),
		"deliveries WHERE business_id = u.a AND application_id = u.b AND environment = u.c AND external_id = u.d", "uuid", "uuid", "text", "text")
)

func (s deliveries) takeByID(query *gorm.DB, id domain.ID) (*domain.Delivery, error) {
	key, err := lookup(domain.PrefixDelivery, id)
	if err != nil {
		return nil, err
	}
	return s.take(query.Where("id = ?", key))
}

func (s deliveries) take(query *gorm.DB) (*domain.Delivery, error) {
	var row deliveryRow
	if err := query.Take(&row).Error; err != nil {
		return nil, s.dialect.failed("read a delivery", err)
	}
	return row.domain(), nil
}

func (s deliveries) List(ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest) ([]*domain.Delivery, error) {
	ctx, done := s.forList(ctx, t)
	defer done()
	if !storable(f.ExternalID, string(f.Status)) {
		return nil, nil
	}
	query := page(s.ofApplication(ctx, t), p, f.NewestFirst)
	if f.Status != "" {
		query = query.Where("status = ?", string(f.Status))
	}
	if f.ExternalID != "" {
		query = query.Where("external_id = ?", f.ExternalID)
	}
	if f.CreatedAfter != nil {
		query = query.Where("created_at >= ?", boundary(*f.CreatedAfter))
	}
	if f.CreatedBefore != nil {
		query = query.Where("created_at < ?", boundary(*f.CreatedBefore))
	}
	var rows []deliveryRow
	err := query.Find(&rows).Error
	return all(rows, (*deliveryRow).domain), s.listFailed(ctx, "list deliveries", err)
}

func (s deliveries) Events(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.Event, error) {
	key, _ := lookup(domain.PrefixDelivery, id)
	if key == "" {
		return nil, nil // no such delivery, so no events
	}
	var rows []eventRow
	err := s.with(ctx).Order("sequence").Where("delivery_id = ? AND business_id = ? AND EXISTS (SELECT 1 FROM deliveries d"+
		" WHERE d.id = delivery_events.delivery_id AND d.business_id = delivery_events.business_id"+
		" AND d.application_id = ? AND d.environment = ?)",
		key, rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment)).Find(&rows).Error
	return all(rows, (*eventRow).domain), s.dialect.failed("read a timeline", err)
}

func (s deliveries) Owner(ctx context.Context, id domain.ID) (domain.Tenant, error) {
	key, err := lookup(domain.PrefixDelivery, id)
	if err != nil {
		return domain.Tenant{}, err
	}
	var row deliveryRow
	err = s.with(ctx).Select("application_id", "business_id", "environment").Where("id = ?", key).Take(&row).Error
	if err != nil {
		return domain.Tenant{}, s.dialect.failed("read the owner of a delivery", err)
	}
	return row.tenant(), nil
}

// addEvent stores an event in the timeline and publishes it.
func (s session) addEvent(ctx context.Context, t domain.Tenant, e ports.EventWrite) error {
	if err := eventTable.insertInto(ctx, s.with(ctx), newEventRow(t, e.Event), "").Error; err != nil {
		return s.dialect.failed("insert an event", err)
	}
	return feed{s}.publish(ctx, t, e)
}

// errNotLocked means that a change was decided on an older state.
var errNotLocked = errors.New("the delivery changed since it was read; lock it first")

// Update finds the row only if it is at the event before these. So a forgotten Lock shows as an
// error and not as a lost event.
func (s deliveries) Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...ports.EventWrite) error {
	key, err := lookup(domain.PrefixDelivery, d.ID)
	if err != nil {
		return err
	}
	life := d.Lifecycle()
	changes := map[string]any{
		"status":        string(life.Status),
		"last_sequence": life.Sequence,
		"picked_up_at":  optionalInstant(life.PickedUpAt),
		"updated_at":    instantOf(life.UpdatedAt),
	}
	if life.Simulation != nil {
		var row deliveryRow
		row.setSimulation(life.Simulation)
		maps.Copy(changes, map[string]any{
			"simulation_scenario": row.SimulationScenario, "simulation_status": row.SimulationStatus,
			"simulation_step": row.SimulationStep, "simulation_step_seconds": row.SimulationStepSeconds,
			"simulation_next_at": row.SimulationNextAt, "simulation_ends_at": row.SimulationEndsAt,
		})
	}
	result := s.ofApplication(ctx, t).Model(&deliveryRow{}).
		Where("id = ? AND last_sequence = ?", key, life.Sequence-len(events)).Updates(changes)
	if result.Error != nil {
		return s.dialect.failed("update a delivery", result.Error)
	}
	if result.RowsAffected == 0 {
		if _, err := s.Get(ctx, t, d.ID); err != nil {
			return err
		}
		return errNotLocked
	}
	for _, e := range events {
		if err := s.addEvent(ctx, t, e); err != nil {
			return err
		}
	}
	return nil
}
