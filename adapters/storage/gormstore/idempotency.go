package gormstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// idempotency implements ports.IdempotencyReader and ports.IdempotencyStore.
type idempotency struct{ session }

func (s idempotency) Find(ctx context.Context, t domain.Tenant, key string) (domain.KeyRecord, error) {
	if !storable(key) {
		return domain.KeyRecord{}, domain.ErrNotFound
	}
	known, err := lookUp[keyRow](ctx, s.session, keyLookup, append(applicationKey(t), key)...)
	if !errors.Is(err, batch.ErrAlone) {
		return foundOr(known, err, (*keyRow).domain)
	}
	var row keyRow
	err = s.ofApplication(ctx, t).Select(s.dialect.keyColumns()).
		Where("key = ? AND expires_at > "+s.dialect.now, key).Take(&row).Error
	if err != nil {
		return domain.KeyRecord{}, s.dialect.failed("read an idempotency key", err)
	}
	return row.domain(), nil
}

var keyLookup = newLookup(keyTable, strings.ReplaceAll(keyColumns, "$now", "now()"),
	"idempotency_keys WHERE business_id = u.a AND application_id = u.b AND environment = u.c AND key = u.d AND expires_at > now()",
	"uuid", "uuid", "text", "text")

// claimKey inserts a record or takes over an expired one, unless a bulk still works under it. It
// changes no row where another record exists. It waits where another transaction has not yet
// committed one.
const claimKey = `INSERT INTO idempotency_keys
	(business_id, application_id, environment, key, fingerprint, claim_id, status, location, body, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, $later)
ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE SET
	fingerprint = excluded.fingerprint, claim_id = excluded.claim_id, status = excluded.status,
	location = excluded.location, body = excluded.body,
	created_at = excluded.created_at, expires_at = excluded.expires_at,
	lease_token = NULL, leased_until = NULL
WHERE idempotency_keys.expires_at <= $now
	AND (idempotency_keys.leased_until IS NULL OR idempotency_keys.leased_until NOT BETWEEN $now AND $far)`

func (s idempotency) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, retention time.Duration) error {
	if err := s.reachKey(t, r.Key); err != nil {
		return s.dialect.claimed(0, err)
	}
	if s.dialect.sharded {
		if err := s.forgetExpired(ctx, t, r.Key); err != nil {
			return err
		}
	}
	result := s.with(ctx).Exec(s.dialect.conflicting(s.dialect.clocked(claimKey)),
		rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment), r.Key, r.Fingerprint[:], rowID(r.ClaimID),
		r.Answer.Status, r.Answer.Location, r.Answer.Body, instantOf(r.CreatedAt), s.dialect.laterBy(retention))
	return s.dialect.claimed(result.RowsAffected, result.Error)
}

func (s session) reachKey(t domain.Tenant, key string) error {
	return s.reach(rowKey, string(t.ApplicationID), string(t.Environment), key)
}

// claimed returns the result of claimKey or claimBulk, from the number of changed records.
func (e *dialect) claimed(records int64, err error) error {
	switch {
	case err == nil && records == 0:
		return ports.ErrKeyTaken
	case e.waitedInVain(err):
		return fmt.Errorf("%w: %w", ports.ErrKeyBusy, err)
	}
	return e.failed("claim an idempotency key", err)
}

func (s idempotency) Complete(ctx context.Context, t domain.Tenant, key string, a domain.Answer) error {
	result := s.ofApplication(ctx, t).Model(&keyRow{}).Where("key = ? AND status = 0", key).
		Updates(map[string]any{"status": a.Status, "location": a.Location, "body": a.Body})
	return s.dialect.changed("complete an idempotency key", result)
}
