package storage

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func newLink(person, business domain.ID) domain.Link {
	id := sample.ID(domain.PrefixLink)
	used := sample.Now.Add(time.Second)
	return domain.Link{
		ID: id, PersonID: person, BusinessID: business, Purpose: domain.LinkInvitation, OneBusiness: true, Origin: domain.LinkMailed,
		Digest:    sha256.Sum256([]byte(id)),
		CreatedAt: sample.Now, ExpiresAt: sample.Now.Add(time.Hour), UsedAt: &used,
	}
}

func testLinks(t *testing.T, b ports.Database) {
	business := newTenant(t, b).BusinessID
	ama, kofi := newPerson(), newPerson()
	addPersons(t, b, ama, kofi)
	insert := func(t testing.TB, all ...domain.Link) {
		t.Helper()
		store(t, b, all, func(tx ports.Stores) func(context.Context, domain.Link) error { return tx.Links.Insert })
	}
	unused := func(person domain.ID) domain.Link {
		l := newLink(person, "")
		l.Purpose, l.OneBusiness, l.UsedAt = domain.LinkSignIn, false, nil
		return l
	}
	find := func(t testing.TB, l domain.Link) domain.Link {
		t.Helper()
		return must(b.Read().Links.FindByDigest(t.Context(), l.Digest))(t)
	}

	t.Run("every field comes back", func(t *testing.T) {
		full, bare := newLink(ama.ID, business), unused(ama.ID)
		wantFilled(t, full)
		insert(t, full, bare)
		for _, want := range []domain.Link{full, bare} {
			wantEqual(t, "FindByDigest", find(t, want), want)
		}
		wantError(t, "FindByDigest", errorOf(b.Read().Links.FindByDigest(t.Context(), sha256.Sum256([]byte("nobody's")))), domain.ErrNotFound)
	})

	t.Run("a link is used once, however many try", func(t *testing.T) {
		l := unused(ama.ID)
		insert(t, l)
		wantOneWinner(t, together(8, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Links.Use(ctx, l.ID, sample.Now) })
		}), domain.LinkUsed())
		wantEqual(t, "used", *find(t, l).UsedAt, sample.Now)
	})

	t.Run("the links that are named become useless, and no other ones", func(t *testing.T) {
		console := domain.ID("")
		for what, c := range map[string]struct {
			of   *domain.ID
			used []bool
		}{
			"all": {nil, []bool{true, true}}, "to a business": {&business, []bool{true, false}}, "to the console": {&console, []bool{false, true}},
		} {
			first, second, others, used := unused(ama.ID), unused(ama.ID), unused(kofi.ID), newLink(ama.ID, business)
			expired := unused(ama.ID)
			first.BusinessID = business
			later := sample.Now.Add(time.Minute)
			expired.ExpiresAt = later
			insert(t, first, second, others, used, expired)
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return tx.Links.UseAll(ctx, ports.LinksOf{PersonID: ama.ID, BusinessID: c.of}, later)
			})
			for i, l := range []domain.Link{first, second} {
				if c.used[i] {
					l.UsedAt, l.ExpiresAt = &later, later
				}
				wantEqual(t, what, find(t, l), l)
			}
			wantEqual(t, what+": of another person", find(t, others), others)
			wantEqual(t, what+": used before", find(t, used), used)
			wantEqual(t, what+": expired before", find(t, expired), expired)
		}
		own, alone := unused(ama.ID), unused(ama.ID)
		own.BusinessID, alone.BusinessID, alone.OneBusiness = business, business, true
		insert(t, own, alone)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			return tx.Links.UseAll(ctx, ports.LinksOf{PersonID: ama.ID, BusinessID: &business, OneBusiness: true}, sample.Now)
		})
		wantEqual(t, "of one business alone", find(t, alone).UsedAt != nil, true)
		wantEqual(t, "not of one business alone", find(t, own), own)
		shown, asked := unused(kofi.ID), unused(kofi.ID)
		shown.Origin, asked.Origin = domain.LinkShown, domain.LinkAsked
		insert(t, shown, asked)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			return tx.Links.UseAll(ctx, ports.LinksOf{PersonID: kofi.ID, Origins: []domain.LinkOrigin{domain.LinkShown, domain.LinkByCommand}}, sample.Now)
		})
		wantEqual(t, "of one of the origins", find(t, shown).UsedAt != nil, true)
		wantEqual(t, "of another origin", find(t, asked), asked)
	})
}
