package gormstore

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// simulations implements ports.SimulationStore. The rows of deliveries hold what runs; the count
// has a row per application.
type simulations struct{ session }

const running = "simulation_status = 'running'"

func (s simulations) Due(ctx context.Context, by time.Time, limit int) ([]ports.DueStep, error) {
	var rows []deliveryRow
	err := s.with(ctx).Select("id", "simulation_step", "simulation_next_at").
		Where(running+" AND simulation_next_at <= ?", instantOf(by)).
		Order("simulation_next_at").Limit(limit).Find(&rows).Error
	return all(rows, func(r *deliveryRow) ports.DueStep {
		return ports.DueStep{Delivery: r.ID.as(domain.PrefixDelivery), Done: *r.SimulationStep, DueAt: r.SimulationNextAt.time}
	}), s.dialect.failed("list due steps", err)
}

func (s simulations) Load(ctx context.Context, t domain.Tenant) (int, time.Time, error) {
	var load struct {
		Running  int
		FirstEnd *instant
	}
	err := s.ofApplication(ctx, t).Model(&deliveryRow{}).Where(running).
		Select("count(*) AS running, min(simulation_ends_at) AS first_end").Scan(&load).Error
	if err != nil || load.FirstEnd == nil {
		return load.Running, time.Time{}, s.dialect.failed("read the load of simulations", err)
	}
	return load.Running, load.FirstEnd.time, nil
}

func (s simulations) Running(ctx context.Context) (int, error) {
	var n int64
	err := s.with(ctx).Model(&deliveryRow{}).Where(running).Count(&n).Error
	return int(n), s.dialect.failed("count simulations", err)
}

// lockCount inserts the row where there is none, and locks it either way.
const lockCount = `INSERT INTO simulation_counts (business_id, application_id, running) VALUES (?, ?, 0)
ON CONFLICT ON CONSTRAINT simulation_counts_pkey DO UPDATE SET running = simulation_counts.running`

func (s simulations) Lock(ctx context.Context, t domain.Tenant) error {
	if err := s.reach(rowSimulations, string(t.ApplicationID)); err != nil {
		return s.dialect.failed("lock the count of simulations", err)
	}
	return s.dialect.failed("lock the count of simulations",
		s.with(ctx).Exec(s.dialect.keyed(lockCount), rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID)).Error)
}

const enterCount = `INSERT INTO simulation_counts (business_id, application_id, running) VALUES (?, ?, 1)
ON CONFLICT ON CONSTRAINT simulation_counts_pkey DO UPDATE SET running = simulation_counts.running + 1
WHERE simulation_counts.running < ?`

func (s simulations) Enter(ctx context.Context, t domain.Tenant) error {
	if err := s.reach(rowSimulations, string(t.ApplicationID)); err != nil {
		return s.dialect.failed("count a simulation", err)
	}
	result := s.with(ctx).Exec(s.dialect.keyed(enterCount), rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), domain.MaxRunningSimulations)
	if result.Error == nil && result.RowsAffected == 0 {
		return ports.ErrSimulationLimit
	}
	return s.dialect.failed("count a simulation", result.Error)
}

func (s simulations) Leave(ctx context.Context, t domain.Tenant) error {
	result := s.with(ctx).Exec("UPDATE simulation_counts SET running = running - 1 WHERE business_id = ? AND application_id = ?",
		rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID))
	return s.dialect.changed("count a simulation no more", result)
}
