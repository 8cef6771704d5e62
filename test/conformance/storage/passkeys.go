package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func newPasskey(person domain.ID, with ...func(*domain.Passkey)) domain.Passkey {
	id, used := sample.ID(domain.PrefixPasskey), sample.Now.Add(time.Hour)
	k := domain.Passkey{
		ID: id, PersonID: person, Name: "Laptop", Host: "portal.example.com",
		CredentialID: []byte("\x00credential " + id), PublicKey: []byte("\xa5public"),
		SignCount: 1<<32 - 2, Syncs: true, CreatedAt: sample.Now, LastUsedAt: &used,
	}
	for _, change := range with {
		change(&k)
	}
	return k
}

func testPasskeys(t *testing.T, b ports.Database) {
	ama, kofi := newPerson(), newPerson()
	addPersons(t, b, ama, kofi)
	insert := func(t testing.TB, all ...domain.Passkey) {
		t.Helper()
		store(t, b, all, func(tx ports.Stores) func(context.Context, domain.Passkey) error { return tx.Passkeys.Insert })
	}
	find := func(t testing.TB, k domain.Passkey) domain.Passkey {
		t.Helper()
		return must(b.Read().Passkeys.FindByCredential(t.Context(), k.CredentialID))(t)
	}
	change := func(fn func(ctx context.Context, tx ports.Stores) error) error { return b.InTx(t.Context(), fn) }

	t.Run("every field comes back, and a person's come oldest first", func(t *testing.T) {
		p := newPerson()
		addPersons(t, b, p)
		full := newPasskey(p.ID)
		bare := newPasskey(p.ID, func(k *domain.Passkey) {
			k.SignCount, k.Syncs, k.LastUsedAt, k.CreatedAt = 0, false, nil, sample.Now.Add(-time.Hour)
		})
		wantFilled(t, full)
		insert(t, full, bare, newPasskey(ama.ID))
		for _, k := range []domain.Passkey{full, bare} {
			wantEqual(t, "FindByCredential", find(t, k), k)
		}
		wantEqual(t, "OfPerson", must(b.Read().Passkeys.OfPerson(t.Context(), p.ID))(t), []domain.Passkey{bare, full})
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		wantError(t, "FindByCredential", errorOf(b.Read().Passkeys.FindByCredential(t.Context(), []byte("nobody's"))), domain.ErrNotFound)
		wantEqual(t, "of nobody", len(must(b.Read().Passkeys.OfPerson(t.Context(), "prs_1"))(t)), 0)
	})

	t.Run("a credential is of one person", func(t *testing.T) {
		k := newPasskey(ama.ID)
		insert(t, k)
		for _, person := range []domain.ID{ama.ID, kofi.ID} {
			again := newPasskey(person, func(again *domain.Passkey) { again.CredentialID = k.CredentialID })
			err := change(func(ctx context.Context, tx ports.Stores) error { return tx.Passkeys.Insert(ctx, again) })
			wantError(t, "Insert", err, domain.PasskeyTaken())
		}
		wantEqual(t, "the first one", find(t, k), k)
	})

	t.Run("a use is kept where the count has grown, or is never kept", func(t *testing.T) {
		at := sample.Now.Add(2 * time.Hour)
		for _, c := range []struct {
			stored, used uint32
			refused      bool
		}{{0, 0, false}, {0, 1, false}, {5, 6, false}, {5, 1<<32 - 1, false}, {5, 5, true}, {5, 4, true}, {5, 0, true}} {
			k := newPasskey(ama.ID, func(k *domain.Passkey) { k.SignCount = c.stored })
			insert(t, k)
			want := error(nil)
			if c.refused {
				want = domain.ErrNotFound
			} else {
				k.SignCount, k.LastUsedAt = c.used, &at
			}
			wantError(t, "Used", change(func(ctx context.Context, tx ports.Stores) error { return tx.Passkeys.Used(ctx, k.ID, c.used, at) }), want)
			wantEqual(t, "after the use", find(t, k), k)
		}
		wantError(t, "of nothing", change(func(ctx context.Context, tx ports.Stores) error {
			return tx.Passkeys.Used(ctx, sample.ID(domain.PrefixPasskey), 1, at)
		}), domain.ErrNotFound)
	})

	t.Run("of many uses with one count one is kept", func(t *testing.T) {
		k := newPasskey(ama.ID, func(k *domain.Passkey) { k.SignCount = 7 })
		insert(t, k)
		wantOneWinner(t, together(8, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Passkeys.Used(ctx, k.ID, 8, sample.Now) })
		}), domain.ErrNotFound)
	})

	t.Run("a passkey is renamed and removed by its person alone", func(t *testing.T) {
		k, other := newPasskey(ama.ID), newPasskey(ama.ID)
		insert(t, k, other)
		rename := func(person, id domain.ID) error {
			return change(func(ctx context.Context, tx ports.Stores) error { return tx.Passkeys.Rename(ctx, person, id, "Phone") })
		}
		remove := func(person, id domain.ID) error {
			return change(func(ctx context.Context, tx ports.Stores) error { return tx.Passkeys.Remove(ctx, person, id) })
		}
		for _, try := range []func(person, id domain.ID) error{rename, remove} {
			for _, id := range []domain.ID{k.ID, "psk_1", sample.ID(domain.PrefixPasskey)} {
				wantError(t, "of another person", try(kofi.ID, id), domain.ErrNotFound)
			}
		}
		wantError(t, "Rename", rename(ama.ID, k.ID), nil)
		k.Name = "Phone"
		wantEqual(t, "renamed", find(t, k), k)
		wantError(t, "Remove", remove(ama.ID, k.ID), nil)
		wantError(t, "Remove again", remove(ama.ID, k.ID), domain.ErrNotFound)
		wantError(t, "removed", errorOf(b.Read().Passkeys.FindByCredential(t.Context(), k.CredentialID)), domain.ErrNotFound)
		wantEqual(t, "the other one", find(t, other), other)
	})

	t.Run("all of a person are removed and no other ones", func(t *testing.T) {
		p := newPerson()
		addPersons(t, b, p)
		another := newPasskey(kofi.ID)
		insert(t, newPasskey(p.ID), newPasskey(p.ID), another)
		for _, want := range []int{2, 0} {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				n, err := tx.Passkeys.RemoveAll(ctx, p.ID)
				wantEqual(t, "removed", n, want)
				return err
			})
		}
		wantEqual(t, "of another person", find(t, another), another)
	})
}

func newCeremony(with ...func(*domain.Ceremony)) domain.Ceremony {
	c := domain.Ceremony{
		ID: sample.ID(domain.PrefixCeremony), Purpose: domain.CeremonyConfirm, SessionID: sample.ID(domain.PrefixSession),
		Challenge: [32]byte{31: 7},
		CreatedAt: sample.Now, ExpiresAt: sample.Now.Add(domain.CeremonyLifetime),
	}
	for _, change := range with {
		change(&c)
	}
	return c
}

func testCeremonies(t *testing.T, b ports.Database) {
	take := func(id domain.ID) (c domain.Ceremony, err error) {
		err = b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
			c, err = tx.Ceremonies.Take(ctx, id)
			return err
		})
		return c, err
	}
	insert := func(all ...domain.Ceremony) {
		store(t, b, all, func(tx ports.Stores) func(context.Context, domain.Ceremony) error { return tx.Ceremonies.Insert })
	}

	t.Run("a challenge comes back once, with every field", func(t *testing.T) {
		full := newCeremony()
		bare := newCeremony(func(c *domain.Ceremony) { c.Purpose, c.SessionID = domain.CeremonySignIn, "" })
		wantFilled(t, full)
		insert(full, bare)
		for _, c := range []domain.Ceremony{full, bare} {
			wantEqual(t, "Take", must(take(c.ID))(t), c)
			wantError(t, "a second time", errorOf(take(c.ID)), domain.ErrNotFound)
		}
		for _, id := range []domain.ID{"", "cer_1", sample.ID(domain.PrefixCeremony)} {
			wantError(t, "of nothing", errorOf(take(id)), domain.ErrNotFound)
		}
	})

	t.Run("a challenge is stored once", func(t *testing.T) {
		c := newCeremony()
		insert(c)
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error { return tx.Ceremonies.Insert(ctx, c) })
		wantError(t, "a second time", err, ports.ErrIDTaken)
	})

	t.Run("there are challenges of each purpose", func(t *testing.T) {
		for _, purpose := range []domain.CeremonyPurpose{domain.CeremonyAdd, domain.CeremonySignIn, domain.CeremonyConfirm,
			domain.CeremonyOIDCSignIn, domain.CeremonyOIDCConfirm, domain.CeremonyOIDCConnect} {
			c := newCeremony(func(c *domain.Ceremony) { c.Purpose = purpose })
			insert(c)
			wantEqual(t, string(purpose), must(take(c.ID))(t), c)
		}
	})

	t.Run("of many who take a challenge at once one gets it", func(t *testing.T) {
		c := newCeremony()
		insert(c)
		wantOneWinner(t, together(8, func(int) error { _, err := take(c.ID); return err }), domain.ErrNotFound)
	})
}
