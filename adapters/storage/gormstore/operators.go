package gormstore

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// operators implements ports.OperatorStore.
type operators struct{ session }

func (s operators) FindByDigest(ctx context.Context, digests ...[32]byte) (domain.OperatorToken, error) {
	var row operatorRow
	if err := s.with(ctx).Where("digest IN ?", bytesOfAll(digests)).Take(&row).Error; err != nil {
		return domain.OperatorToken{}, s.dialect.failed("read an operator token", err)
	}
	return row.domain(), nil
}

func (s operators) Get(ctx context.Context, id domain.ID) (domain.OperatorToken, error) {
	key, err := lookup(domain.PrefixOperatorToken, id)
	if err != nil {
		return domain.OperatorToken{}, err
	}
	var row operatorRow
	if err := s.with(ctx).Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.OperatorToken{}, s.dialect.failed("read an operator token", err)
	}
	return row.domain(), nil
}

func (s operators) List(ctx context.Context) ([]domain.OperatorToken, error) {
	var rows []operatorRow
	err := oldestFirst(s.with(ctx)).Find(&rows).Error
	return all(rows, (*operatorRow).domain), s.dialect.failed("list operator tokens", err)
}

func (s operators) Insert(ctx context.Context, t domain.OperatorToken) error {
	row := newOperatorRow(t)
	return s.dialect.failed("insert an operator token", s.with(ctx).Create(&row).Error)
}

func (s operators) Revoke(ctx context.Context, id domain.ID, at time.Time) error {
	key, err := lookup(domain.PrefixOperatorToken, id)
	if err != nil {
		return err
	}
	result := s.with(ctx).Exec("UPDATE operator_tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?", instantOf(at), key)
	return s.dialect.changed("revoke an operator token", result)
}

func (s operators) Touch(ctx context.Context, id domain.ID, at time.Time) error {
	key, err := lookup(domain.PrefixOperatorToken, id)
	if err != nil {
		return err
	}
	result := s.with(ctx).Exec("UPDATE operator_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
		instantOf(at), key, instantOf(at))
	return s.dialect.failed("keep the use of an operator token", result.Error)
}

func (s operators) Redigest(ctx context.Context, r ports.Redigest) error {
	return s.redigest(ctx, "operator_tokens", domain.PrefixOperatorToken, r)
}

// audit implements ports.AuditStore.
type audit struct{ session }

func (s audit) Append(ctx context.Context, e domain.AuditEntry) error {
	row, err := newAuditRow(e)
	if err != nil {
		return err
	}
	return s.dialect.failed("insert an audit entry", s.with(ctx).Create(&row).Error)
}

func (s audit) List(ctx context.Context, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error) {
	return s.list(ctx, "", f, p)
}

func (s audit) ListOfBusiness(ctx context.Context, business domain.ID, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry,
	error) {
	if key, _ := lookup(domain.PrefixBusiness, business); key == "" {
		return nil, nil // no such business, so no records
	}
	return s.list(ctx, business, f, p)
}

// list returns entries newest first, of one business or of all. It reads no replica: emails are
// composed from entries that were just stored.
func (s audit) list(ctx context.Context, business domain.ID, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error) {
	if !storable(string(f.Action), string(f.Target)) {
		return nil, nil
	}
	ctx, done := s.forPrimaryList(ctx, domain.Tenant{BusinessID: business})
	defer done()
	query := s.with(ctx).Order("id DESC").Limit(p.Limit + 1)
	if business != "" {
		query = query.Where("business_id = ?", rowIDOf(business))
	}
	if f.ActorID != "" {
		operator, _ := lookup(domain.PrefixOperatorToken, f.ActorID)
		person, _ := lookup(domain.PrefixPerson, f.ActorID)
		switch {
		case operator != "":
			query = query.Where("operator_id = ?", operator)
		case person != "":
			query = query.Where("person_id = ?", person)
		default:
			return nil, nil // no such actor, so no records
		}
	}
	if f.Action != "" {
		query = query.Where("action = ?", string(f.Action))
	}
	if f.Target != "" {
		query = query.Where("target = ?", string(f.Target))
	}
	if f.Since != nil {
		query = query.Where("at >= ?", instantOf(*f.Since))
	}
	if f.Until != nil {
		query = query.Where("at < ?", instantOf(*f.Until))
	}
	if p.After != nil {
		query = query.Where("id < ?", rowIDOf(p.After.ID))
	}
	var rows []auditRow
	if err := query.Find(&rows).Error; err != nil {
		return nil, s.listFailed(ctx, "list audit entries", err)
	}
	entries := make([]domain.AuditEntry, len(rows))
	for i := range rows {
		var err error
		if entries[i], err = rows[i].domain(); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
