package storage

import (
	"context"
	"errors"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

const (
	aLease  = time.Minute
	ranOut  = -time.Second // a lease, or a retention, that is over when it is given
	theirs  = "0123456789abcdef0123456789abcdef"
	another = "fedcba9876543210fedcba9876543210"
)

func testBulks(t *testing.T, b ports.Database) {
	t.Run("a claim is a record without an answer, under a lease", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		wantEqual(t, "the hold", h, ports.BulkHold{Key: q.record.Key, ClaimID: q.record.ClaimID, Token: theirs, Lease: aLease})
		wantEqual(t, "its items", q.items(t, h), []domain.BulkItem{})
		q.wantLeft(t, aLease)
	})

	t.Run("a bulk that somebody works on is nobody else's", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		for name, other := range map[string]bulkRequest{"the same request": q.again(), "another request": q.different()} {
			_, err := other.claim(t, another, aLease, time.Hour)
			wantError(t, name, err, ports.ErrKeyTaken)
		}
		q.wantLeft(t, aLease)
		q.wantHeld(t, h)
	})

	t.Run("what was left is resumed with its items", func(t *testing.T) {
		q := newBulk(t, b)
		first := q.mustClaim(t, theirs, ranOut)
		items := []domain.BulkItem{
			{Index: 0, Created: true, Result: []byte("{\"name\":\"K\u00f6fi\"}\n\x00\xff")}, // bytes, whatever they mean
			{Index: 7, Result: []byte(`{"error": 1}`)},
			{Index: 99, Created: true, Result: []byte(`{}`)},
		}
		for _, i := range []int{2, 0, 1} {
			q.mustAdd(t, first, items[i])
		}
		q.wantLeft(t, ranOut)

		h := q.again().mustClaim(t, another, aLease)
		wantEqual(t, "the hold", h, ports.BulkHold{Key: q.record.Key, ClaimID: q.record.ClaimID, Token: another, Lease: aLease})
		wantEqual(t, "its items", q.items(t, h), items)
		q.wantLeft(t, aLease) // and the record is as the first claim made it
		q.wantHeld(t, h)
		q.wantLost(t, first)
	})

	t.Run("what is resumed expires as it would have", func(t *testing.T) {
		q := newBulk(t, b)
		q.mustClaim(t, theirs, ranOut)
		if _, err := q.again().claim(t, another, ranOut, ranOut); err != nil {
			t.Fatal(err)
		}
		q.wantLeft(t, ranOut) // that it is found shows that the hour of the first claim counts
	})

	t.Run("what another request left is not resumed", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, ranOut)
		_, err := q.different().claim(t, another, aLease, time.Hour)
		wantError(t, "Claim", err, ports.ErrKeyTaken)
		q.wantLeft(t, ranOut)
		q.wantHeld(t, h)
	})

	t.Run("the same claim again finds itself, first or resumed", func(t *testing.T) {
		q := newBulk(t, b)
		first := q.mustClaim(t, theirs, ranOut)
		wantEqual(t, "the first claim again", q.mustClaim(t, theirs, ranOut), first)
		q.mustAdd(t, first, domain.BulkItem{Index: 3, Result: []byte("{}")})

		again := q.again()
		second := again.mustClaim(t, another, aLease)
		wantEqual(t, "the second claim again", again.mustClaim(t, another, aLease), second)
		wantEqual(t, "items", len(q.items(t, second)), 1)
		q.wantLeft(t, aLease)
		q.wantHeld(t, second)
	})

	t.Run("an expired bulk is begun anew, by any request", func(t *testing.T) {
		for name, next := range map[string]func(bulkRequest) bulkRequest{"the same": bulkRequest.again, "another": bulkRequest.different} {
			q := newBulk(t, b)
			old, err := q.claim(t, theirs, ranOut, ranOut)
			if err != nil {
				t.Fatal(err)
			}
			q.mustAdd(t, old, domain.BulkItem{Index: 0, Created: true, Result: []byte("{}")})
			_, err = q.find(t)
			wantError(t, name+": Find of an expired bulk", err, domain.ErrNotFound)

			n := next(q)
			h := n.mustClaim(t, another, aLease)
			wantEqual(t, name+": the claim", h.ClaimID, n.record.ClaimID)
			wantEqual(t, name+": its items", n.items(t, h), []domain.BulkItem{})
			n.wantLeft(t, aLease)
			q.wantLost(t, old)
		}
	})

	t.Run("an expired answer makes room for a bulk", func(t *testing.T) {
		q := newBulk(t, b)
		answered := q.record
		answered.Answer, answered.ClaimID = domain.Answer{Status: 201, Location: "/v1/deliveries/1", Body: []byte("{}")}, sample.ClaimID()
		if err := q.claimSingle(t, answered, ranOut); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "the claim", q.mustClaim(t, theirs, aLease).ClaimID, q.record.ClaimID)
		q.wantLeft(t, aLease)
	})

	t.Run("an expired bulk that somebody works on stays theirs", func(t *testing.T) {
		q := newBulk(t, b)
		h, err := q.claim(t, theirs, aLease, ranOut)
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.again().claim(t, another, aLease, time.Hour)
		wantError(t, "the same request", err, ports.ErrKeyTaken)
		_, err = q.different().claim(t, another, aLease, time.Hour)
		wantError(t, "another request", err, ports.ErrKeyTaken)
		wantError(t, "a single create", q.claimSingle(t, sample.KeyRecord(func(r *domain.KeyRecord) {
			r.Key = q.record.Key
		}), time.Hour), ports.ErrKeyTaken)
		q.mustAdd(t, h, domain.BulkItem{Index: 0, Result: []byte("{}")})
		q.mustFinish(t, h, domain.Answer{Status: 207, Body: []byte("{}")}, time.Hour)
		wantEqual(t, "the answer", must(q.find(t))(t).Answer.Status, 207)
	})

	t.Run("a single create is refused whether the lease lives or not", func(t *testing.T) {
		for name, lease := range map[string]time.Duration{"lives": aLease, "has run out": ranOut} {
			q := newBulk(t, b)
			h := q.mustClaim(t, theirs, lease)
			single := sample.KeyRecord(func(r *domain.KeyRecord) { r.Key, r.Fingerprint = q.record.Key, q.record.Fingerprint })
			wantError(t, "the lease "+name, q.claimSingle(t, single, time.Hour), ports.ErrKeyTaken)
			q.wantLeft(t, lease)
			q.wantHeld(t, h)
		}
	})

	t.Run("a single create that takes an expired bulk over leaves nothing of its lease", func(t *testing.T) {
		q := newBulk(t, b)
		h, err := q.claim(t, theirs, ranOut, ranOut)
		if err != nil {
			t.Fatal(err)
		}
		single := sample.KeyRecord(func(r *domain.KeyRecord) { r.Key = q.record.Key })
		if err := q.claimSingle(t, single, time.Hour); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "Find", must(q.find(t))(t), single)
		q.wantLost(t, h)
	})
}

func testBulkLeases(t *testing.T, b ports.Database) {
	t.Run("a lease that ran out is its holder's until somebody takes it", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, ranOut)
		h.Lease = aLease
		q.wantHeld(t, h)
		q.wantLeft(t, aLease)
		_, err := q.again().claim(t, another, aLease, time.Hour)
		wantError(t, "Claim after the sign of life", err, ports.ErrKeyTaken)
	})

	t.Run("a lease runs out by the clock of the database", func(t *testing.T) {
		q := newBulk(t, b)
		q.mustClaim(t, theirs, 3*time.Second)
		_, err := q.again().claim(t, another, aLease, time.Hour)
		wantError(t, "Claim at once", err, ports.ErrKeyTaken)
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

	t.Run("who lost the lease changes nothing", func(t *testing.T) {
		q := newBulk(t, b)
		former := q.mustClaim(t, theirs, ranOut)
		h := q.again().mustClaim(t, another, aLease)
		q.wantLost(t, former)
		q.wantLeft(t, aLease)
		q.wantHeld(t, h)
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

func testBulkItems(t *testing.T, b ports.Database) {
	t.Run("an outcome is recorded once", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		first := domain.BulkItem{Index: 5, Created: true, Result: []byte("first")}
		q.mustAdd(t, h, first)
		for _, again := range []domain.BulkItem{first, {Index: 5, Result: []byte("second")}} {
			wantError(t, "AddItem", q.add(t, h, again), ports.ErrItemDone)
		}
		wantEqual(t, "items", q.items(t, h), []domain.BulkItem{first})
	})

	t.Run("an outcome that is rolled back is not recorded", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		item := domain.BulkItem{Index: 0, Result: []byte("{}")}
		wantError(t, "the transaction", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := errors.Join(tx.Bulks.Extend(ctx, q.tenant, h), tx.Bulks.AddItem(ctx, q.tenant, h, item)); err != nil {
				return err
			}
			return errChangedMind
		}), errChangedMind)
		wantEqual(t, "items", q.items(t, h), []domain.BulkItem{})
		q.mustAdd(t, h, item)
	})

	t.Run("the answer takes the place of the items and the lease", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		for i := range 3 {
			q.mustAdd(t, h, domain.BulkItem{Index: i, Result: []byte("{}")})
		}
		answer := domain.Answer{Status: 207, Location: "/v1/somewhere", Body: []byte("{\"name\":\"K\u00f6fi\"}\n\x00\xff")}
		q.mustFinish(t, h, answer, time.Hour)
		want := q.record
		want.Answer = answer
		wantEqual(t, "Find", must(q.find(t))(t), want)
		wantEqual(t, "items", q.items(t, h), []domain.BulkItem{})

		// The lease is over, for its holder too.
		q.wantLost(t, h)
		_, err := q.again().claim(t, another, aLease, time.Hour)
		wantError(t, "Claim of the same request", err, ports.ErrKeyTaken)
		_, err = q.claim(t, theirs, aLease, time.Hour)
		wantError(t, "the first claim again", err, ports.ErrKeyTaken)
		wantEqual(t, "Find", must(q.find(t))(t), want)
	})

	t.Run("the answer is kept for the retention from the end on", func(t *testing.T) {
		q := newBulk(t, b)
		h, err := q.claim(t, theirs, aLease, ranOut)
		if err != nil {
			t.Fatal(err)
		}
		q.mustFinish(t, h, domain.Answer{Status: 201, Body: []byte("{}")}, time.Hour)
		wantEqual(t, "the answer", must(q.find(t))(t).Answer.Status, 201)

		short := newBulk(t, b)
		short.mustFinish(t, short.mustClaim(t, theirs, aLease), domain.Answer{Status: 201, Body: []byte("{}")}, ranOut)
		_, err = short.find(t)
		wantError(t, "Find", err, domain.ErrNotFound)
		short.again().mustClaim(t, another, aLease)
	})

	t.Run("an answer that is rolled back leaves the items", func(t *testing.T) {
		q := newBulk(t, b)
		h := q.mustClaim(t, theirs, aLease)
		q.mustAdd(t, h, domain.BulkItem{Index: 0, Result: []byte("{}")})
		wantError(t, "the transaction", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Bulks.Finish(ctx, q.tenant, h, domain.Answer{Status: 201, Body: []byte("{}")}, time.Hour); err != nil {
				return err
			}
			return errChangedMind
		}), errChangedMind)
		q.wantLeft(t, aLease)
		wantEqual(t, "items", len(q.items(t, h)), 1)
	})

	t.Run("the items of one bulk are not another's", func(t *testing.T) {
		one := newBulk(t, b)
		two := bulkRequest{b: b, tenant: one.tenant, record: newBulk(t, b).record}
		holdOne, holdTwo := one.mustClaim(t, theirs, aLease), two.mustClaim(t, another, aLease)
		item := domain.BulkItem{Index: 0, Created: true, Result: []byte("{}")}
		one.mustAdd(t, holdOne, item)
		two.mustAdd(t, holdTwo, item)
		one.mustFinish(t, holdOne, domain.Answer{Status: 201, Body: []byte("{}")}, time.Hour)
		wantEqual(t, "items", two.items(t, holdTwo), []domain.BulkItem{item})
	})
}

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
