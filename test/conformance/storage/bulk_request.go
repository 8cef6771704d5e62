package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// bulkRequest is a bulk as one request asks for it.
type bulkRequest struct {
	b      ports.Database
	tenant domain.Tenant
	record domain.KeyRecord
}

func newBulk(t testing.TB, b ports.Database) bulkRequest {
	t.Helper()
	return bulkRequest{b, newTenant(t, b), sample.KeyRecord(func(r *domain.KeyRecord) { r.Answer = domain.Answer{} })}
}

// again is the same request once more, later and under a claim of its own.
func (q bulkRequest) again() bulkRequest {
	q.record.ClaimID, q.record.CreatedAt = sample.ClaimID(), q.record.CreatedAt.Add(time.Minute)
	return q
}

// different is another request with the same key.
func (q bulkRequest) different() bulkRequest {
	q = q.again()
	q.record.Fingerprint[0]++
	return q
}

func (q bulkRequest) claim(t testing.TB, token string, lease, retention time.Duration) (h ports.BulkHold, err error) {
	t.Helper()
	err = q.b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		h, err = tx.Bulks.Claim(ctx, q.tenant, q.record, token, lease, retention)
		return err
	})
	return h, err
}

func (q bulkRequest) mustClaim(t testing.TB, token string, lease time.Duration) ports.BulkHold {
	t.Helper()
	return must(q.claim(t, token, lease, time.Hour))(t)
}

// claimSingle claims the key for a create of one transaction.
func (q bulkRequest) claimSingle(t testing.TB, r domain.KeyRecord, retention time.Duration) error {
	t.Helper()
	return q.b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return tx.Idempotency.Claim(ctx, q.tenant, r, retention)
	})
}

func (q bulkRequest) find(t testing.TB) (domain.KeyRecord, error) {
	t.Helper()
	return q.b.Read().Idempotency.Find(t.Context(), q.tenant, q.record.Key)
}

func (q bulkRequest) items(t testing.TB, h ports.BulkHold) (items []domain.BulkItem) {
	t.Helper()
	inTx(t, q.b, func(ctx context.Context, tx ports.Stores) (err error) {
		items, err = tx.Bulks.Items(ctx, q.tenant, h)
		return err
	})
	return items
}

func (q bulkRequest) extend(t testing.TB, h ports.BulkHold) error {
	t.Helper()
	return q.b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Bulks.Extend(ctx, q.tenant, h) })
}

func (q bulkRequest) add(t testing.TB, h ports.BulkHold, item domain.BulkItem) error {
	t.Helper()
	return q.b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Bulks.Extend(ctx, q.tenant, h); err != nil {
			return err
		}
		return tx.Bulks.AddItem(ctx, q.tenant, h, item)
	})
}

func (q bulkRequest) mustAdd(t testing.TB, h ports.BulkHold, item domain.BulkItem) {
	t.Helper()
	if err := q.add(t, h, item); err != nil {
		t.Fatal(err)
	}
}

func (q bulkRequest) mustFinish(t testing.TB, h ports.BulkHold, a domain.Answer, retention time.Duration) {
	t.Helper()
	inTx(t, q.b, func(ctx context.Context, tx ports.Stores) error {
		return tx.Bulks.Finish(ctx, q.tenant, h, a, retention)
	})
}

func (q bulkRequest) release(t testing.TB, h ports.BulkHold) {
	t.Helper()
	inTx(t, q.b, func(ctx context.Context, tx ports.Stores) error { return tx.Bulks.Release(ctx, q.tenant, h) })
}

// wantHeld fails unless the holder may go on; it gives a sign of life.
func (q bulkRequest) wantHeld(t testing.TB, h ports.BulkHold) {
	t.Helper()
	if err := q.extend(t, h); err != nil {
		t.Errorf("the holder's sign of life: %v", err)
	}
}

// wantLost fails unless nothing that the former holder does has an effect.
func (q bulkRequest) wantLost(t testing.TB, former ports.BulkHold) {
	t.Helper()
	before, errBefore := q.find(t)
	wantError(t, "Extend by a former holder", q.extend(t, former), ports.ErrLeaseLost)
	wantError(t, "Finish by a former holder", q.b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return tx.Bulks.Finish(ctx, q.tenant, former, domain.Answer{Status: 201, Body: []byte("a former holder's")}, time.Hour)
	}), ports.ErrLeaseLost)
	q.release(t, former)

	after, errAfter := q.find(t)
	if (errBefore == nil) != (errAfter == nil) || (before.LeaseLeft > 0) != (after.LeaseLeft > 0) {
		t.Errorf("a former holder changed the record from %+v, %v to %+v, %v", before, errBefore, after, errAfter)
	}
	before.LeaseLeft, after.LeaseLeft = 0, 0
	wantEqual(t, "the record after what a former holder did", after, before)
}

// wantLeft fails unless the record is unanswered, as it was claimed, and its
// lease was given for so long a moment ago.
func (q bulkRequest) wantLeft(t testing.TB, lease time.Duration) {
	t.Helper()
	const moment, rounding = 20 * time.Second, time.Millisecond
	got := must(q.find(t))(t)
	if got.LeaseLeft > max(0, lease+rounding) || lease > 0 && got.LeaseLeft < lease-moment {
		t.Errorf("of a lease of %s there is %s left", lease, got.LeaseLeft)
	}
	got.LeaseLeft = 0
	wantEqual(t, "the record", got, q.record)
}
