package storage

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testKeyUses(t *testing.T, b ports.Database) {
	touch := func(uses ...ports.KeyUse) {
		t.Helper()
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.TouchAPIKeys(ctx, uses) })
	}
	lastUsed := func(id domain.ID) *time.Time {
		t.Helper()
		return must(b.Read().Tenancy.APIKey(t.Context(), id))(t).LastUsedAt
	}
	noon := sample.Now

	t.Run("the latest use of a key stays", func(t *testing.T) {
		key := newUnusedKeys(t, b, 1)[0]
		for _, c := range []struct {
			uses []time.Duration
			want time.Duration
		}{
			{uses: []time.Duration{time.Hour}, want: time.Hour},
			{uses: []time.Duration{0}, want: time.Hour},
			{uses: []time.Duration{time.Hour}, want: time.Hour},
			{uses: []time.Duration{time.Hour + time.Millisecond}, want: time.Hour + time.Millisecond},
			{uses: []time.Duration{2 * time.Hour, 4 * time.Hour, 3 * time.Hour, 0}, want: 4 * time.Hour},
		} {
			var uses []ports.KeyUse
			for _, after := range c.uses {
				uses = append(uses, ports.KeyUse{ID: key.ID, At: noon.Add(after)})
			}
			touch(uses...)
			if at := lastUsed(key.ID); at == nil || !at.Equal(noon.Add(c.want)) || at.Location() != time.UTC {
				t.Errorf("after uses at %v it is %v, want %v", c.uses, at, c.want)
			}
		}
	})

	t.Run("nothing else of a key changes, and no other key", func(t *testing.T) {
		keys := newUnusedKeys(t, b, 2)
		touch(ports.KeyUse{ID: keys[0].ID, At: noon})
		keys[0].LastUsedAt = &noon
		for _, key := range keys {
			wantEqual(t, "the key", must(b.Read().Tenancy.APIKey(t.Context(), key.ID))(t), key)
		}
		wantEqual(t, "the list", must(b.Read().Tenancy.APIKeys(t.Context(), keys[0].ApplicationID, noon))(t), keys)
		wantEqual(t, "the credential's key", must(b.Read().Tenancy.Credential(t.Context(), keys[0].Digest))(t).Key, keys[0])
	})

	t.Run("keys that do not exist are left out", func(t *testing.T) {
		key := newUnusedKeys(t, b, 1)[0]
		touch()
		touch(ports.KeyUse{ID: "key_1", At: noon})
		touch(ports.KeyUse{ID: sample.ID(domain.PrefixAPIKey), At: noon}, ports.KeyUse{ID: key.ID, At: noon},
			ports.KeyUse{ID: "", At: noon}, ports.KeyUse{ID: key.ApplicationID, At: noon}, ports.KeyUse{ID: "key_'", At: noon})
		if at := lastUsed(key.ID); at == nil || !at.Equal(noon) {
			t.Errorf("the one that exists was used at %v", at)
		}
	})

	t.Run("a thousand keys at once", func(t *testing.T) {
		keys := newUnusedKeys(t, b, 1000)
		var uses []ports.KeyUse
		for i, key := range keys {
			uses = append(uses, ports.KeyUse{ID: key.ID, At: noon.Add(time.Duration(i) * time.Millisecond)})
		}
		touch(uses...)
		for i, key := range must(b.Read().Tenancy.APIKeys(t.Context(), keys[0].ApplicationID, noon))(t) {
			if key.ID != uses[i].ID || key.LastUsedAt == nil || !key.LastUsedAt.Equal(uses[i].At) {
				t.Fatalf("key %d is %s, used at %v, want %+v", i, key.ID, key.LastUsedAt, uses[i])
			}
		}
	})

	t.Run("several at once agree on the latest, whatever their order", func(t *testing.T) {
		const writers, rounds = 8, 12
		keys := newUnusedKeys(t, b, 200)
		begun := make([]int, writers)
		var mu sync.Mutex
		latest := make([]time.Time, len(keys))
		for _, err := range together(writers, func(i int) error {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for round := range rounds {
				at := noon.Add(time.Duration(round*writers+i) * time.Second)
				var uses []ports.KeyUse
				mu.Lock()
				for _, n := range random.Perm(len(keys))[:1+random.IntN(len(keys))] { // a database may order by what it gets
					uses = append(uses, ports.KeyUse{ID: keys[n].ID, At: at})
					if at.After(latest[n]) {
						latest[n] = at
					}
				}
				mu.Unlock()
				if err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
					begun[i]++
					return tx.Tenancy.TouchAPIKeys(ctx, uses)
				}); err != nil {
					return err
				}
			}
			return nil
		}) {
			wantError(t, "TouchAPIKeys", err, nil)
		}
		// A transaction that was run again is one that a deadlock ended.
		if again := slices.DeleteFunc(begun, func(n int) bool { return n == rounds }); len(again) != 0 {
			t.Errorf("%d of %d had to begin again: %v transactions for %d", len(again), writers, again, rounds)
		}
		for n, key := range must(b.Read().Tenancy.APIKeys(t.Context(), keys[0].ApplicationID, noon))(t) {
			if key.LastUsedAt == nil || !key.LastUsedAt.Equal(latest[n]) {
				t.Fatalf("key %s was used at %v, want %v", key.ID, key.LastUsedAt, latest[n])
			}
		}
	})
}

// newUnusedKeys stores keys of one application, in the order they are listed.
func newUnusedKeys(t testing.TB, b ports.Database, n int) []domain.APIKey {
	t.Helper()
	tenant := newTenant(t, b)
	keys := make([]domain.APIKey, n)
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for i := range keys {
			keys[i] = sample.APIKey(tenant.ApplicationID, func(k *domain.APIKey) {
				k.LastUsedAt, k.RevokedAt, k.ExpiresAt = nil, nil, nil // all of them are listed
				k.CreatedAt = k.CreatedAt.Add(time.Duration(i) * time.Millisecond)
			})
			if err := tx.Tenancy.InsertAPIKey(ctx, keys[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return keys
}
