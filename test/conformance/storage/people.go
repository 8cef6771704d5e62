package storage

import (
	"context"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func newPerson(with ...func(*domain.Person)) domain.Person {
	id := sample.ID(domain.PrefixPerson)
	p := domain.Person{
		ID: id, Name: "Ama Mensah", Email: domain.Email(id.Hex() + "@example.com"), State: domain.PersonActive,
		PasswordHash: "$argon2id$v=19$...", EmailProven: true, CreatedAt: sample.Now,
	}
	for _, change := range with {
		change(&p)
	}
	return p
}

func addPersons(t testing.TB, b ports.Database, all ...domain.Person) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for _, p := range all {
			if _, created, err := tx.Persons.Add(ctx, p); err != nil || !created {
				t.Fatalf("add %s: created %v, %v", p.ID, created, err)
			}
		}
		return nil
	})
}

func testPersons(t *testing.T, b ports.Database) {
	nobody := sample.ID(domain.PrefixPerson)

	t.Run("every field comes back, and what is changed of it", func(t *testing.T) {
		full, bare := newPerson(), newPerson(func(p *domain.Person) { p.PasswordHash, p.State = "", domain.PersonInvited })
		wantFilled(t, full)
		addPersons(t, b, full, bare)
		for _, want := range []domain.Person{full, bare} {
			wantEqual(t, "Get", must(b.Read().Persons.Get(t.Context(), want.ID))(t), want)
			wantEqual(t, "FindByEmail", must(b.Read().Persons.FindByEmail(t.Context(), want.Email))(t), want)
		}
		full.Name, full.State, full.PasswordHash, full.EmailProven = "Kofi", domain.PersonDisabled, "", false
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			if _, err := tx.Persons.Lock(ctx, full.ID); err != nil {
				return err
			}
			return tx.Persons.Update(ctx, full)
		})
		wantEqual(t, "changed", must(b.Read().Persons.Get(t.Context(), full.ID))(t), full)
		wantEqual(t, "the other one", must(b.Read().Persons.Get(t.Context(), bare.ID))(t), bare)
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		for _, id := range []domain.ID{nobody, "prs_1", sample.ID(domain.PrefixBusiness)} {
			wantError(t, "Get", errorOf(b.Read().Persons.Get(t.Context(), id)), domain.ErrNotFound)
		}
		for _, email := range []domain.Email{"nobody@example.com", "a\x00b", ""} {
			wantError(t, "FindByEmail", errorOf(b.Read().Persons.FindByEmail(t.Context(), email)), domain.ErrNotFound)
		}
		wantError(t, "Update", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.Persons.Update(ctx, newPerson())
		}), domain.ErrNotFound)
	})

	t.Run("of many with one e-mail address one is created and all get it", func(t *testing.T) {
		email := newPerson().Email
		stored := make([]domain.Person, 8)
		made := make([]bool, len(stored))
		for i, err := range together(len(stored), func(i int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
				stored[i], made[i], err = tx.Persons.Add(ctx, newPerson(func(p *domain.Person) { p.Email = email }))
				return err
			})
		}) {
			if err != nil || stored[i].ID != stored[0].ID {
				t.Errorf("%s, %v; the first one got %s", stored[i].ID, err, stored[0].ID)
			}
		}
		n := 0
		for _, created := range made {
			if created {
				n++
			}
		}
		wantEqual(t, "created", n, 1)
	})
}
