package gormstore

import (
	"context"

	"waybill/domain"
)

// readiness implements ports.ReadinessStore.
type readiness struct{ session }

type readinessRow struct {
	ApplicationID rowID
	Step          string
	At            instant
	Source        string
}

func (readinessRow) TableName() string { return "readiness" }

func (s readiness) OfApplication(ctx context.Context, application domain.ID) ([]domain.Readied, error) {
	key, err := lookup(domain.PrefixApplication, application)
	if err != nil {
		return nil, nil //nolint:nilerr // no such application, so nothing that it has shown
	}
	var rows []readinessRow
	err = s.with(ctx).Where("application_id = ?", key).Order("step").Find(&rows).Error
	return all(rows, (*readinessRow).domain), s.dialect.failed("read what a program has shown", err)
}

func (s readiness) Insert(ctx context.Context, r domain.Readied) error {
	const insert = "INSERT INTO readiness (business_id, application_id, step, at, source)" +
		" VALUES ((SELECT business_id FROM applications WHERE id = ?), ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	if s.dialect.sharded {
		return s.insertOnCitus(ctx, r)
	}
	return s.dialect.failed("keep what a program has shown",
		s.with(ctx).Exec(insert, rowIDOf(r.ApplicationID), rowIDOf(r.ApplicationID), string(r.Step), instantOf(r.At), string(r.Source)).Error)
}

func (r *readinessRow) domain() domain.Readied {
	return domain.Readied{
		ApplicationID: r.ApplicationID.as(domain.PrefixApplication), Step: domain.ReadinessStep(r.Step), At: r.At.time,
		Source: domain.ID(r.Source),
	}
}
