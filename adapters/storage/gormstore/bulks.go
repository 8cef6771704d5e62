package gormstore

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"waybill/domain"
	"waybill/ports"
)

// bulks implements ports.BulkStore.
type bulks struct{ session }

// claimBulk claims a key like claimKey, for a record that gets its response in a later transaction.
// It keeps the claim of a request that was begun and left unfinished, and so its finished items.
// Both expire as before.
const claimBulk = `INSERT INTO idempotency_keys
	(business_id, application_id, environment, key, fingerprint, claim_id, status, location, created_at, expires_at, lease_token, leased_until)
VALUES (?, ?, ?, ?, ?, ?, 0, '', ?, $later, ?, $later)
ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE SET
	fingerprint = excluded.fingerprint, status = 0, location = '', body = NULL,
	claim_id = CASE WHEN $left THEN idempotency_keys.claim_id ELSE excluded.claim_id END,
	created_at = CASE WHEN $left THEN idempotency_keys.created_at ELSE excluded.created_at END,
	expires_at = CASE WHEN $left THEN idempotency_keys.expires_at ELSE excluded.expires_at END,
	lease_token = excluded.lease_token, leased_until = excluded.leased_until
WHERE $left OR idempotency_keys.expires_at <= $now
	AND (idempotency_keys.leased_until IS NULL OR idempotency_keys.leased_until NOT BETWEEN $now AND $far)
RETURNING claim_id`

// leftBulk selects a record of this request whose lease has expired, or of this very claim, whose
// COMMIT got no response.
const leftBulk = `(idempotency_keys.status = 0 AND idempotency_keys.fingerprint = excluded.fingerprint
	AND idempotency_keys.expires_at > $now
	AND (idempotency_keys.leased_until NOT BETWEEN $now AND $far OR idempotency_keys.lease_token = excluded.lease_token))`

func (s bulks) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease,
	retention time.Duration) (ports.BulkHold, error) {
	if err := s.reachKey(t, r.Key); err != nil {
		return ports.BulkHold{}, s.dialect.claimed(0, err)
	}
	var claims []rowID
	if s.dialect.sharded {
		left, err := s.resume(ctx, t, r, token, lease)
		if err != nil || left != "" {
			return ports.BulkHold{Key: r.Key, ClaimID: string(left), Token: token, Lease: lease}, err
		}
		if err := (idempotency(s)).forgetExpired(ctx, t, r.Key); err != nil {
			return ports.BulkHold{}, err
		}
	}
	result := s.with(ctx).Raw(s.dialect.conflicting(s.dialect.clocked(strings.ReplaceAll(claimBulk, "$left", leftBulk))),
		rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment), r.Key, r.Fingerprint[:], rowID(r.ClaimID),
		instantOf(r.CreatedAt), s.dialect.laterBy(retention), rowID(token), s.dialect.laterBy(lease)).Scan(&claims)
	if err := s.dialect.claimed(int64(len(claims)), result.Error); err != nil {
		return ports.BulkHold{}, err
	}
	return ports.BulkHold{Key: r.Key, ClaimID: string(claims[0]), Token: token, Lease: lease}, nil
}

// Items reads the items through their record, which has the tenant.
func (s bulks) Items(ctx context.Context, t domain.Tenant, h ports.BulkHold) ([]domain.BulkItem, error) {
	var rows []bulkItemRow
	record := s.ofApplication(ctx, t).Model(&keyRow{}).Select("claim_id").
		Where("key = ? AND claim_id = ?", h.Key, rowID(h.ClaimID))
	err := s.with(ctx).Where("business_id = ? AND claim_id IN (?)", rowIDOf(t.BusinessID), record).Order("item_index").Find(&rows).Error
	if err != nil {
		return nil, s.dialect.failed("read the items of a bulk", err)
	}
	return all(rows, (*bulkItemRow).domain), nil
}

// held begins an update of the record whose lease h holds.
func (s bulks) held(ctx context.Context, t domain.Tenant, h ports.BulkHold) *gorm.DB {
	return s.ofApplication(ctx, t).Model(&keyRow{}).
		Where("key = ? AND claim_id = ? AND lease_token = ? AND status = 0", h.Key, rowID(h.ClaimID), rowID(h.Token))
}

func (s bulks) Extend(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	if err := s.reachKey(t, h.Key); err != nil {
		return s.dialect.failed("extend the lease of a bulk", err)
	}
	result := s.held(ctx, t, h).Update("leased_until", gorm.Expr(s.dialect.later, s.dialect.laterBy(h.Lease)))
	return s.kept("extend the lease of a bulk", result)
}

// kept returns ErrLeaseLost for an update that found no row.
func (s bulks) kept(what string, result *gorm.DB) error {
	if result.Error == nil && result.RowsAffected == 0 {
		return ports.ErrLeaseLost
	}
	return s.dialect.failed(what, result.Error)
}

// addItem inserts an item with the expiry of the record it belongs to.
const addItem = `INSERT INTO bulk_items (business_id, claim_id, item_index, created, result, expires_at)
SELECT business_id, claim_id, ?, ?, ?, expires_at FROM idempotency_keys
WHERE business_id = ? AND application_id = ? AND environment = ? AND key = ? AND claim_id = ?
ON CONFLICT DO NOTHING`

func (s bulks) AddItem(ctx context.Context, t domain.Tenant, h ports.BulkHold, item domain.BulkItem) error {
	result := s.with(ctx).Exec(addItem, item.Index, item.Created, item.Result,
		rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment), h.Key, rowID(h.ClaimID))
	if result.Error == nil && result.RowsAffected == 0 {
		return ports.ErrItemDone
	}
	return s.dialect.failed("record an item of a bulk", result.Error)
}

func (s bulks) Finish(ctx context.Context, t domain.Tenant, h ports.BulkHold, a domain.Answer, retention time.Duration) error {
	result := s.held(ctx, t, h).Updates(map[string]any{
		"status": a.Status, "location": a.Location, "body": a.Body,
		"expires_at":  gorm.Expr(s.dialect.later, s.dialect.laterBy(retention)),
		"lease_token": nil, "leased_until": nil,
	})
	if err := s.kept("finish a bulk", result); err != nil {
		return err
	}
	return s.dialect.failed("forget the items of a bulk",
		s.with(ctx).Where("business_id = ? AND claim_id = ?", rowIDOf(t.BusinessID), rowID(h.ClaimID)).Delete(&bulkItemRow{}).Error)
}

func (s bulks) Release(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	// Postgres may round a time up to the next millisecond. A takeover within this millisecond must
	// find the lease expired.
	result := s.held(ctx, t, h).Update("leased_until", gorm.Expr(s.dialect.later, s.dialect.laterBy(-time.Millisecond)))
	return s.dialect.failed("release a bulk", result.Error)
}
