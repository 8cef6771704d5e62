package storage

import (
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
			wantError(t, name, errorOf(other.claim(t, another, aLease, time.Hour)), ports.ErrKeyTaken)
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
		wantError(t, "Claim", errorOf(q.different().claim(t, another, aLease, time.Hour)), ports.ErrKeyTaken)
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
			wantError(t, name+": Find of an expired bulk", errorOf(q.find(t)), domain.ErrNotFound)

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
		wantError(t, "the same request", errorOf(q.again().claim(t, another, aLease, time.Hour)), ports.ErrKeyTaken)
		wantError(t, "another request", errorOf(q.different().claim(t, another, aLease, time.Hour)), ports.ErrKeyTaken)
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
