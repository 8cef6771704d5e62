package storage

import (
	"context"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func newView(person, business domain.ID) domain.CustomerView {
	id := sample.ID(domain.PrefixCustomerView)
	opened, ended := sample.Now.Add(time.Minute), sample.Now.Add(2*time.Minute)
	return domain.CustomerView{
		ID: id, PersonID: person, BusinessID: business, SessionID: sample.ID(domain.PrefixSession), Reason: "asked us about an order",
		LinkDigest: sha256.Sum256([]byte("link " + id)), Digest: sha256.Sum256([]byte(id)), CreatedAt: sample.Now,
		ExpiresAt: sample.Now.Add(time.Hour), OpenedAt: &opened, EndedAt: &ended,
	}
}

func testViews(t *testing.T, b ports.Database) {
	business := newTenant(t, b).BusinessID
	ama := newPerson()
	addPersons(t, b, ama)
	insert := func(t testing.TB, all ...domain.CustomerView) {
		t.Helper()
		store(t, b, all, func(tx ports.Stores) func(context.Context, domain.CustomerView) error { return tx.Views.Insert })
	}
	waiting := func() domain.CustomerView {
		v := newView(ama.ID, business)
		v.Digest, v.OpenedAt, v.EndedAt = [32]byte{}, nil, nil
		return v
	}
	find := func(t testing.TB, v domain.CustomerView) domain.CustomerView {
		t.Helper()
		return must(b.Read().Views.FindByLink(t.Context(), v.LinkDigest))(t)
	}

	t.Run("every field comes back", func(t *testing.T) {
		full, bare := newView(ama.ID, business), waiting()
		wantFilled(t, full)
		insert(t, full, bare, waiting()) // of those that wait none is in the way of another
		for _, want := range []domain.CustomerView{full, bare} {
			wantEqual(t, "FindByLink", find(t, want), want)
		}
		wantEqual(t, "FindByDigest", must(b.Read().Views.FindByDigest(t.Context(), full.Digest))(t), full)
		for what, digest := range map[string][32]byte{"not opened": bare.Digest, "that of a link": full.LinkDigest} {
			wantError(t, what, errorOf(b.Read().Views.FindByDigest(t.Context(), digest)), domain.ErrNotFound)
		}
		wantError(t, "FindByLink", errorOf(b.Read().Views.FindByLink(t.Context(), full.Digest)), domain.ErrNotFound)
	})

	t.Run("there is none of a person or a business that there is not", func(t *testing.T) {
		for _, v := range []domain.CustomerView{
			newView(sample.ID(domain.PrefixPerson), business), newView(ama.ID, sample.ID(domain.PrefixBusiness)),
		} {
			wantError(t, "Insert", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Views.Insert(ctx, v)
			}), domain.ErrNotFound)
		}
	})

	t.Run("a link is used once, however many try", func(t *testing.T) {
		v := waiting()
		insert(t, v)
		digest, until := sha256.Sum256([]byte("cookie")), sample.Now.Add(2*time.Hour)
		wantOneWinner(t, together(8, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Views.Open(ctx, v.ID, digest, sample.Now, until)
			})
		}), domain.LinkUsed())
		v.Digest, v.OpenedAt, v.ExpiresAt = digest, &sample.Now, until
		wantEqual(t, "opened", find(t, v), v)
	})

	t.Run("a view ends once, and is listed until then", func(t *testing.T) {
		first, second, never := newView(ama.ID, business), newView(ama.ID, business), waiting()
		first.EndedAt, second.EndedAt = nil, nil
		insert(t, second, first, never)
		listed := func(v domain.CustomerView) bool {
			for _, u := range must(b.Read().Views.Unended(t.Context(), "", 100))(t) {
				if u.ID == v.ID {
					wantEqual(t, "Unended", u, v)
					return true
				}
			}
			return false
		}
		wantEqual(t, "listed", []bool{listed(first), listed(second), listed(never)}, []bool{true, true, false})
		var ids []domain.ID
		for after := domain.ID(""); ; after = ids[len(ids)-1] {
			one := must(b.Read().Views.Unended(t.Context(), after, 1))(t)
			if len(one) == 0 {
				break
			}
			ids = append(ids, one[0].ID)
		}
		wantEqual(t, "one by one", len(ids), len(must(b.Read().Views.Unended(t.Context(), "", 100))(t)))
		wantEqual(t, "in order", slices.IsSorted(ids), true)
		for i, want := range []bool{true, false} {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				ended, err := tx.Views.End(ctx, first.ID, sample.Now.Add(time.Duration(i)*time.Hour))
				wantEqual(t, "ended", ended, want)
				return err
			})
		}
		first.EndedAt = &sample.Now
		wantEqual(t, "ended", find(t, first), first)
		wantEqual(t, "the other one", find(t, second), second)
		wantEqual(t, "listed", []bool{listed(first), listed(second)}, []bool{false, true})
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			ended, err := tx.Views.End(ctx, "viw_1", sample.Now)
			wantEqual(t, "of none", ended, false)
			return err
		})
	})
}
