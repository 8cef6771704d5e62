package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testBulkLeases(t *testing.T, b ports.Database) {
	t.Run("a lease that ran out is its holder's until somebody takes it", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, ranOut)
		h.Lease = aLease
		q.wantHeld(t, h)
		q.wantLeft(t, aLease)
		wantError(t, "Claim after the sign of life", errorOf(q.again().claim(t, another, aLease, time.Hour)), ports.ErrKeyTaken)
	})

	t.Run("a lease runs out by the clock of the database", func(t *testing.T) {
		q := newBulk(t, b)
		q.mustClaim(t, theirs, 3*time.Second)
		wantError(t, "Claim at once", errorOf(q.again().claim(t, another, aLease, time.Hour)), ports.ErrKeyTaken)
		eventually(t, "the lease runs out", func() bool { return must(q.find(t))(t).LeaseLeft <= 0 })
		// Of its last millisecond both nothing is left and it is not over.
		eventually(t, "the next one takes it", func() bool {
			_, err := q.again().claim(t, another, aLease, time.Hour)
			return err == nil
		})
	})

	t.Run("what was released is resumed at once", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		for i := range 20 { // more than once, since a time may be rounded up where it is stored
			q.mustAdd(t, h, domain.BulkItem{Index: i, Result: []byte("{}")})
			q.release(t, h)
			h = q.again().mustClaim(t, sample.ClaimID(), aLease)
		}
		wantEqual(t, "items", len(q.items(t, h)), 20)
		q.release(t, h)
		q.wantLeft(t, 0)
	})

	t.Run("who released may still go on where nobody resumed", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		q.release(t, h)
		q.wantHeld(t, h)
		q.wantLeft(t, aLease)
	})

	t.Run("a guessed token holds nothing", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		for _, forged := range []ports.BulkHold{
			{Key: h.Key, ClaimID: h.ClaimID, Token: another, Lease: aLease},
			{Key: h.Key, ClaimID: sample.ClaimID(), Token: h.Token, Lease: aLease},
			{Key: h.Key + "-2", ClaimID: h.ClaimID, Token: h.Token, Lease: aLease},
		} {
			q.wantLost(t, forged)
		}
		q.wantHeld(t, h)
	})

	t.Run("an application's bulks are nobody else's", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		q.mustAdd(t, h, domain.BulkItem{Index: 0, Result: []byte(`{"secret":1}`)})
		for name, foreign := range map[string]domain.Tenant{
			"its other environment": live(q.tenant), "another application": newSibling(t, b, q.tenant), "another business": newTenant(t, b),
		} {
			s := bulkRequest{b: b, tenant: foreign, record: q.record}
			s.wantLost(t, h)
			wantEqual(t, name+" reads items", s.items(t, h), []domain.BulkItem{})
			err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Bulks.AddItem(ctx, foreign, h, domain.BulkItem{Index: 1, Result: []byte("{}")})
			})
			if err == nil {
				t.Errorf("%s could record an item", name)
			}
			// Their key is free, as if never used.
			s.record.ClaimID = sample.ClaimID()
			own := s.mustClaim(t, another, aLease)
			wantEqual(t, name+": items", s.items(t, own), []domain.BulkItem{})
		}
		wantEqual(t, "the owner's items", len(q.items(t, h)), 1)
		q.wantLeft(t, aLease)
		q.wantHeld(t, h)
	})
}
