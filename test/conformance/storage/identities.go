package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testIdentities(t *testing.T, b ports.Database) {
	ama, kofi := newPerson(), newPerson()
	addPersons(t, b, ama, kofi)
	subject := string(sample.ID(domain.PrefixPerson))
	connected := func(person domain.ID, issuer string) domain.ConnectedIdentity {
		return domain.ConnectedIdentity{Issuer: issuer, Subject: subject, PersonID: person, CreatedAt: sample.Now}
	}
	insert := func(c domain.ConnectedIdentity) error {
		return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Identities.Insert(ctx, c) })
	}
	const here, elsewhere = "https://id.example.com", "https://id.example.com/"

	t.Run("every field comes back, and a person's come oldest first", func(t *testing.T) {
		late, early := connected(ama.ID, here), connected(ama.ID, elsewhere)
		early.CreatedAt = sample.Now.Add(-time.Hour)
		wantFilled(t, late)
		for _, c := range []domain.ConnectedIdentity{late, early} {
			wantError(t, "Insert", insert(c), nil)
			wantEqual(t, "Find", must(b.Read().Identities.Find(t.Context(), c.Issuer, c.Subject))(t), c)
		}
		wantEqual(t, "OfPerson", must(b.Read().Identities.OfPerson(t.Context(), ama.ID))(t), []domain.ConnectedIdentity{early, late})
	})

	t.Run("what does not exist is not found, and capitals tell accounts apart", func(t *testing.T) {
		wantError(t, "Find", errorOf(b.Read().Identities.Find(t.Context(), here, "PRS"+subject[3:])), domain.ErrNotFound)
		for _, person := range []domain.ID{kofi.ID, "prs_1", ""} {
			wantEqual(t, "of "+string(person), len(must(b.Read().Identities.OfPerson(t.Context(), person))(t)), 0)
		}
	})

	t.Run("an account lets in one person", func(t *testing.T) {
		for _, person := range []domain.ID{ama.ID, kofi.ID} {
			wantError(t, "Insert", insert(connected(person, here)), domain.IdentityTaken())
		}
		wantEqual(t, "the first one", must(b.Read().Identities.Find(t.Context(), here, subject))(t).PersonID, ama.ID)
	})

	t.Run("all of a person are removed together", func(t *testing.T) {
		for _, person := range []domain.ID{kofi.ID, "prs_1", ama.ID} {
			wantEqual(t, "of ama", len(must(b.Read().Identities.OfPerson(t.Context(), ama.ID))(t)), 2)
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Identities.RemoveAll(ctx, person) })
		}
		wantEqual(t, "of ama afterwards", len(must(b.Read().Identities.OfPerson(t.Context(), ama.ID))(t)), 0)
	})
}
