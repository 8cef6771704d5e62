package gormstore

import (
	"context"
	"time"

	"waybill/domain"
)

// sending implements ports.SendingStore.
type sending struct{ session }

// unpaused requires that webhooks are sent in the environment of an endpoint e.
const unpaused = "NOT EXISTS (SELECT 1 FROM webhook_pauses p WHERE p.environment = e.environment)"

type pauseRow struct {
	Environment string
	Since       instant
	ByName      string
	Reason      string
}

func (r *pauseRow) domain() domain.SendingPause {
	return domain.SendingPause{Environment: domain.Environment(r.Environment), Since: r.Since.time, By: r.ByName, Reason: r.Reason}
}

func (s sending) Pauses(ctx context.Context) ([]domain.SendingPause, error) {
	var rows []pauseRow
	err := s.with(ctx).Raw("SELECT environment, since, by_name, reason FROM webhook_pauses ORDER BY environment").Scan(&rows).Error
	return all(rows, (*pauseRow).domain), s.dialect.failed("read where the sending of webhooks is paused", err)
}

// Pauses returns the pauses that are committed.
func (o outbox) Pauses(ctx context.Context) ([]domain.SendingPause, error) {
	return sending{o.read()}.Pauses(ctx)
}

func (s sending) Pause(ctx context.Context, p domain.SendingPause) (paused bool, err error) {
	result := s.with(ctx).Exec("INSERT INTO webhook_pauses (environment, since, by_name, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		string(p.Environment), instantOf(p.Since), p.By, p.Reason)
	return result.RowsAffected == 1, s.dialect.failed("pause the sending of webhooks", result.Error)
}

func (s sending) Resume(ctx context.Context, e domain.Environment, at time.Time) (*domain.SendingPause, error) {
	var rows []pauseRow
	err := s.with(ctx).Raw("DELETE FROM webhook_pauses WHERE environment = ? RETURNING environment, since, by_name, reason",
		string(e)).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, s.dialect.failed("resume the sending of webhooks", err)
	}
	err = s.with(ctx).Exec("UPDATE webhook_endpoints SET failing_since = ? WHERE environment = ? AND failing_since < ?",
		instantOf(at), string(e), instantOf(at)).Error
	return new(rows[0].domain()), s.dialect.failed("leave a pause out of the time for which endpoints have failed", err)
}
