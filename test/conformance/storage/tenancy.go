package storage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testTenancy(t *testing.T, b ports.Database) {
	t.Run("an empty storage lists no business", func(t *testing.T) {
		if got := must(b.Read().Tenancy.Businesses(t.Context()))(t); len(got) != 0 {
			t.Errorf("%d businesses in an empty storage", len(got))
		}
	})

	t.Run("every field comes back", func(t *testing.T) {
		business := sample.Business(func(b *domain.Business) { b.Disabled, b.TrackingCash = true, true })
		application := sample.Application(business.ID, func(a *domain.Application) { a.Disabled = true })
		key := sample.APIKey(application.ID)
		wantFilled(t, business)
		wantFilled(t, application)
		wantFilled(t, key)
		storeTenancy(t, b, business, application, key)
		wantTenancy(t, b, business, application, key)
	})

	t.Run("what is optional may be missing", func(t *testing.T) {
		business := sample.Business(func(b *domain.Business) { b.RateLimit = nil })
		application := sample.Application(business.ID)
		key := sample.APIKey(application.ID, func(k *domain.APIKey) {
			k.ExpiresAt, k.RevokedAt, k.LastUsedAt, k.Scopes = nil, nil, nil, nil
			k.Environment = domain.Live
		})
		storeTenancy(t, b, business, application, key)
		wantTenancy(t, b, business, application, key)
	})

	t.Run("of many keys those are known that exist, whatever they open", func(t *testing.T) {
		business := sample.Business()
		application := sample.Application(business.ID, func(a *domain.Application) { a.Disabled = true })
		good := sample.APIKey(application.ID)
		revoked := sample.APIKey(application.ID, func(k *domain.APIKey) { k.RevokedAt = &sample.Now })
		storeTenancy(t, b, business, application, good)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.InsertAPIKey(ctx, revoked) })
		var asked [][32]byte
		for n := range 997 {
			asked = append(asked, sha256.Sum256([]byte{byte(n), byte(n >> 8), 'x'}))
		}
		for _, c := range []struct{ asked, want [][32]byte }{
			{nil, nil},
			{[][32]byte{good.Digest}, [][32]byte{good.Digest}},
			{asked[:1], nil},
			{[][32]byte{good.Digest, asked[0], revoked.Digest}, [][32]byte{good.Digest, revoked.Digest}},
			{append(slices.Clone(asked), revoked.Digest, good.Digest), [][32]byte{good.Digest, revoked.Digest}},
		} {
			got := must(b.Read().Tenancy.Known(t.Context(), c.asked))(t)
			slices.SortFunc(got, func(x, y [32]byte) int { return bytes.Compare(x[:], y[:]) })
			want := slices.Clone(c.want)
			slices.SortFunc(want, func(x, y [32]byte) int { return bytes.Compare(x[:], y[:]) })
			if !slices.Equal(got, want) {
				t.Errorf("of %d keys %d are known, want %d", len(c.asked), len(got), len(want))
			}
		}
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		read, ctx := b.Read().Tenancy, t.Context()
		business, application, key := sample.ID(domain.PrefixBusiness), sample.ID(domain.PrefixApplication), sample.ID(domain.PrefixAPIKey)
		_, err := read.Business(ctx, business)
		wantError(t, "Business", err, domain.ErrNotFound)
		_, err = read.Application(ctx, application)
		wantError(t, "Application", err, domain.ErrNotFound)
		_, err = read.APIKey(ctx, key)
		wantError(t, "APIKey", err, domain.ErrNotFound)
		_, err = read.APIKey(ctx, "key_1")
		wantError(t, "APIKey of a malformed ID", err, domain.ErrNotFound)
		_, err = read.Credential(ctx, sha256.Sum256([]byte("nobody's")))
		wantError(t, "Credential", err, domain.ErrNotFound)
		if got := must(read.APIKeys(ctx, application, sample.Now))(t); len(got) != 0 {
			t.Errorf("APIKeys of nobody: %d", len(got))
		}
		if got := must(read.Applications(ctx, business))(t); len(got) != 0 {
			t.Errorf("Applications of nobody: %d", len(got))
		}
		if got := must(read.ApplicationsPage(ctx, business, domain.PageRequest{Limit: 5}))(t); len(got) != 0 {
			t.Errorf("ApplicationsPage of nobody: %d", len(got))
		}
		wantError(t, "RenameApplication", b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			return tx.Tenancy.RenameApplication(ctx, application, "Shop")
		}), domain.ErrNotFound)
		wantError(t, "SetApplicationDisabled", b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			return tx.Tenancy.SetApplicationDisabled(ctx, application, true)
		}), domain.ErrNotFound)
		wantError(t, "RevokeAPIKey", b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			return tx.Tenancy.RevokeAPIKey(ctx, key, sample.Now)
		}), domain.ErrNotFound)
	})

	t.Run("lists go oldest first, and by ID where the time is the same", func(t *testing.T) {
		read, ctx := b.Read().Tenancy, t.Context()
		var businesses []domain.Business
		for i := range 4 {
			businesses = append(businesses, sample.Business(func(b *domain.Business) {
				b.CreatedAt = sample.Now.Add(-time.Duration(i/2) * time.Second)
			}))
		}
		order := []int{2, 3, 0, 1}
		owner := businesses[0]
		var applications []domain.Application
		for i := range 4 {
			applications = append(applications, sample.Application(owner.ID, func(a *domain.Application) {
				a.CreatedAt = sample.Now.Add(-time.Duration(i/2) * time.Second)
			}))
		}
		var keys []domain.APIKey
		for i := range 4 {
			keys = append(keys, sample.APIKey(applications[0].ID, func(k *domain.APIKey) {
				k.CreatedAt = sample.Now.Add(-time.Duration(i/2) * time.Second)
			}))
		}
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for _, business := range businesses {
				if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
					return err
				}
			}
			for _, application := range applications {
				if err := tx.Tenancy.InsertApplication(ctx, application); err != nil {
					return err
				}
			}
			for _, key := range keys {
				if err := tx.Tenancy.InsertAPIKey(ctx, key); err != nil {
					return err
				}
			}
			return nil
		})
		wantEqual(t, "Applications", must(read.Applications(ctx, owner.ID))(t), pick(applications, order))
		for _, limit := range []int{1, 2, 3, 5} {
			wantEqual(t, "ApplicationsPage", pages(t, limit, func(p domain.PageRequest) ([]domain.Application, error) {
				return read.ApplicationsPage(ctx, owner.ID, p)
			}, func(a domain.Application) domain.Position {
				return domain.Position{CreatedAt: a.CreatedAt, ID: a.ID}
			}), pick(applications, order))
		}
		wantEqual(t, "APIKeys", must(read.APIKeys(ctx, applications[0].ID, sample.Now))(t), pick(keys, order))
		// Past keys are left out from a number on, usable ones never are.
		var want []domain.APIKey
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
				for i := range domain.MaxPastKeysListed + 2 {
					key := sample.APIKey(applications[1].ID, func(k *domain.APIKey) {
						k.Environment, k.CreatedAt = e, sample.Now.Add(time.Duration(i)*time.Second)
						k.RevokedAt, k.ExpiresAt = nil, nil
						switch {
						case i == 0: // usable until a moment later
							k.ExpiresAt = new(sample.Now.Add(time.Millisecond))
						case i%2 == 0:
							k.ExpiresAt = &sample.Now
						default:
							k.RevokedAt = &sample.Now
						}
					})
					if err := tx.Tenancy.InsertAPIKey(ctx, key); err != nil {
						return err
					}
					if i != 1 {
						want = append(want, key)
					}
				}
			}
			return nil
		})
		slices.SortFunc(want, func(x, y domain.APIKey) int {
			return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
		})
		wantEqual(t, "APIKeys of many", must(read.APIKeys(ctx, applications[1].ID, sample.Now))(t), want)
		// Other tests store businesses too.
		got := slices.DeleteFunc(must(read.Businesses(ctx))(t), func(got domain.Business) bool {
			return !slices.ContainsFunc(businesses, func(b domain.Business) bool { return b.ID == got.ID })
		})
		wantEqual(t, "Businesses", got, pick(businesses, order))
	})

	t.Run("an application is renamed and no other one", func(t *testing.T) {
		tenant, other := newTenant(t, b), newTenant(t, b)
		before := must(b.Read().Tenancy.Application(t.Context(), other.ApplicationID))(t)
		want := must(b.Read().Tenancy.Application(t.Context(), tenant.ApplicationID))(t)
		want.Name = "Web shop"
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			return tx.Tenancy.RenameApplication(ctx, tenant.ApplicationID, want.Name)
		})
		wantEqual(t, "renamed", must(b.Read().Tenancy.Application(t.Context(), tenant.ApplicationID))(t), want)
		wantEqual(t, "the other one", must(b.Read().Tenancy.Application(t.Context(), other.ApplicationID))(t), before)
	})

	t.Run("disabling an application can be undone", func(t *testing.T) {
		tenant := newTenant(t, b)
		for _, disabled := range []bool{true, true, false} {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return tx.Tenancy.SetApplicationDisabled(ctx, tenant.ApplicationID, disabled)
			})
			if got := must(b.Read().Tenancy.Application(t.Context(), tenant.ApplicationID))(t).Disabled; got != disabled {
				t.Errorf("Disabled is %v after it was set to %v", got, disabled)
			}
		}
	})

	t.Run("the first revocation of a key stays", func(t *testing.T) {
		tenant := newTenant(t, b)
		key := sample.APIKey(tenant.ApplicationID, func(k *domain.APIKey) { k.RevokedAt = nil })
		first := sample.Now.Add(time.Hour)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Tenancy.InsertAPIKey(ctx, key); err != nil {
				return err
			}
			return tx.Tenancy.RevokeAPIKey(ctx, key.ID, first)
		})
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			return tx.Tenancy.RevokeAPIKey(ctx, key.ID, first.Add(time.Hour))
		})
		key.RevokedAt = &first
		wantEqual(t, "the key", must(b.Read().Tenancy.APIKey(t.Context(), key.ID))(t), key)
	})
}

func storeTenancy(t *testing.T, b ports.Database, business domain.Business, application domain.Application, key domain.APIKey) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
			return err
		}
		if err := tx.Tenancy.InsertApplication(ctx, application); err != nil {
			return err
		}
		return tx.Tenancy.InsertAPIKey(ctx, key)
	})
}

func wantTenancy(t *testing.T, b ports.Database, business domain.Business, application domain.Application, key domain.APIKey) {
	t.Helper()
	read, ctx := b.Read().Tenancy, t.Context()
	wantEqual(t, "Business", must(read.Business(ctx, business.ID))(t), business)
	wantEqual(t, "Application", must(read.Application(ctx, application.ID))(t), application)
	wantEqual(t, "APIKey", must(read.APIKey(ctx, key.ID))(t), key)
	wantEqual(t, "Credential", must(read.Credential(ctx, key.Digest))(t),
		domain.Credential{Key: key, Application: application, Business: business})
}

// pick is the elements in the given order.
func pick[T any](all []T, order []int) []T {
	picked := make([]T, len(order))
	for i, from := range order {
		picked[i] = all[from]
	}
	return picked
}
