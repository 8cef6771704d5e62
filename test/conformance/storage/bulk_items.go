package storage

import (
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

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
		wantError(t, "Claim of the same request", errorOf(q.again().claim(t, another, aLease, time.Hour)), ports.ErrKeyTaken)
		wantError(t, "the first claim again", errorOf(q.claim(t, theirs, aLease, time.Hour)), ports.ErrKeyTaken)
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
		wantError(t, "Find", errorOf(short.find(t)), domain.ErrNotFound)
		short.again().mustClaim(t, another, aLease)
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
