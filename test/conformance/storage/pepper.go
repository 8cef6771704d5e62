package storage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testPepper(t *testing.T, b ports.Database) {
	errBack := errors.New("back")
	marks := func() [][32]byte {
		t.Helper()
		return must(b.Read().Tenancy.PepperMarks(t.Context()))(t)
	}
	add := func(known [][32]byte, mark [32]byte) (stored [][32]byte, err error) {
		err = b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			stored, err = tx.Tenancy.AddPepperMark(ctx, known, mark)
			return err
		})
		return stored, err
	}
	set := func(mark [32]byte) {
		t.Helper()
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.SetPepperMark(ctx, mark) })
	}

	t.Run("a mark that is rolled back was never there", func(t *testing.T) {
		for _, change := range []func(context.Context, ports.Stores) ([][32]byte, error){
			func(ctx context.Context, tx ports.Stores) ([][32]byte, error) {
				return tx.Tenancy.AddPepperMark(ctx, nil, [32]byte{9})
			},
			func(ctx context.Context, tx ports.Stores) ([][32]byte, error) {
				if err := tx.Tenancy.SetPepperMark(ctx, [32]byte{9}); err != nil {
					return nil, err
				}
				return tx.Tenancy.PepperMarks(ctx)
			},
		} {
			wantError(t, "the transaction", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				stored, err := change(ctx, tx)
				wantEqual(t, "inside", stored, [][32]byte{{9}})
				return errors.Join(err, errBack)
			}), errBack)
			wantEqual(t, "marks afterwards", len(marks()), 0)
		}
	})

	t.Run("of marks added at once the first one stays", func(t *testing.T) {
		for _, known := range []int{0, 1} { // behind none, then behind one
			before := marks()
			wantEqual(t, "marks before", len(before), known)
			stored := make([][][32]byte, 8)
			for _, err := range together(len(stored), func(i int) (err error) {
				stored[i], err = add(before, [32]byte{1, byte(known), byte(i), 31: 255})
				return err
			}) {
				wantError(t, "AddPepperMark", err, nil)
			}
			for _, got := range stored {
				wantEqual(t, "the marks", got, stored[0])
			}
			if last := stored[0][known]; len(stored[0]) != known+1 || last[1] != byte(known) || last[31] != 255 ||
				!slices.Equal(stored[0][:known], before) {
				t.Errorf("behind %x stored %x", before, stored[0])
			}
		}
		wantEqual(t, "with one that is there", must(add(marks(), marks()[0]))(t), marks())
	})

	t.Run("a mark that is set replaces all", func(t *testing.T) {
		for _, mark := range [][32]byte{{1}, {2}, {2}, {3}} {
			set(mark)
			wantEqual(t, "the marks", marks(), [][32]byte{mark})
		}
	})

	t.Run("what is left under old peppers is counted and listed until it moves", func(t *testing.T) {
		now := sample.Now
		oldest, older, newest := [32]byte{7, 1}, [32]byte{7, 2}, [32]byte{7, 3}
		set(oldest)
		tenant := newTenant(t, b)
		insertKey := func(pepper [32]byte, with func(*domain.APIKey)) domain.APIKey {
			key := sample.APIKey(tenant.ApplicationID, func(k *domain.APIKey) {
				k.Pepper, k.ExpiresAt, k.RevokedAt, k.LastUsedAt = pepper, nil, nil, nil
				with(k)
			})
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.InsertAPIKey(ctx, key) })
			return key
		}
		unmarked := insertKey([32]byte{}, func(*domain.APIKey) {}) // of the oldest pepper, that is
		used := insertKey(older, func(k *domain.APIKey) { k.LastUsedAt, k.ExpiresAt = &now, new(now.Add(time.Millisecond)) })
		revoked := insertKey(older, func(k *domain.APIKey) { k.RevokedAt = &now })
		expired := insertKey(older, func(k *domain.APIKey) { k.ExpiresAt = &now })
		moved := insertKey(newest, func(*domain.APIKey) {})
		token := operatorToken(func(o *domain.OperatorToken) { o.Pepper, o.ExpiresAt, o.RevokedAt = older, nil, nil })
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Operators.Insert(ctx, token) })

		left := func(mark [32]byte) domain.PepperUse {
			for _, use := range must(b.Read().Tenancy.OldPeppers(t.Context(), now))(t) {
				if use.Mark == mark {
					return use
				}
			}
			return domain.PepperUse{}
		}
		listed := func(id domain.ID) bool {
			return slices.ContainsFunc(must(b.Read().Tenancy.OldPepperKeys(t.Context(), now))(t), func(k domain.APIKey) bool { return k.ID == id })
		}
		wantEqual(t, "left under the only pepper", left(oldest).Keys, 0)
		must(add(marks(), older))(t)
		wantEqual(t, "a key of the newest pepper is listed", listed(used.ID), false)
		must(add(marks(), newest))(t)

		wantEqual(t, "left", left(older), domain.PepperUse{Mark: older, Keys: 1, Tokens: 1, LastUsedAt: token.LastUsedAt})
		wantEqual(t, "left under the newest", left(newest), domain.PepperUse{})
		before := left(oldest).Keys // other exams have keys without a mark, too
		for id, want := range map[domain.ID]bool{unmarked.ID: true, used.ID: true, revoked.ID: false, expired.ID: false, moved.ID: false} {
			wantEqual(t, "listed", listed(id), want)
		}

		wantEqual(t, "found by one of three digests",
			must(b.Read().Tenancy.Credential(t.Context(), [32]byte{1}, unmarked.Digest, [32]byte{2}))(t).Key, unmarked)
		wantEqual(t, "a token by one of two", must(b.Read().Operators.FindByDigest(t.Context(), [32]byte{1}, token.Digest))(t), token)

		want := unmarked
		want.Digest, want.Pepper = sha256.Sum256([]byte(unmarked.ID+" anew")), newest
		for range 2 { // the second time the key has another digest
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return tx.Tenancy.RedigestAPIKeys(ctx, []ports.Redigest{
					{ID: unmarked.ID, From: unmarked.Digest, To: want.Digest, Pepper: newest},
					{ID: used.ID, From: [32]byte{1}, To: [32]byte{2}, Pepper: newest},
					{ID: sample.ID(domain.PrefixAPIKey), From: unmarked.Digest, To: [32]byte{3}, Pepper: newest},
					{ID: "key_1", From: unmarked.Digest, To: [32]byte{4}, Pepper: newest},
				})
			})
			wantEqual(t, "moved", must(b.Read().Tenancy.Credential(t.Context(), want.Digest))(t).Key, want)
			wantEqual(t, "not moved", must(b.Read().Tenancy.APIKey(t.Context(), used.ID))(t), used)
		}
		wantError(t, "by the digest before", errorOf(b.Read().Tenancy.Credential(t.Context(), unmarked.Digest)), domain.ErrNotFound)
		wantEqual(t, "left of the oldest", left(oldest).Keys, before-1)
		wantEqual(t, "listed", listed(unmarked.ID), false)

		for range 2 {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				return tx.Operators.Redigest(ctx, ports.Redigest{ID: token.ID, From: token.Digest, To: sha256.Sum256([]byte(token.ID + " anew")),
					Pepper: newest})
			})
		}
		wantEqual(t, "the token's pepper", must(b.Read().Operators.Get(t.Context(), token.ID))(t).Pepper, newest)
		wantEqual(t, "left", left(older), domain.PepperUse{Mark: older, Keys: 1, LastUsedAt: &now})
	})
}

func testKeyCheck(t *testing.T, b ports.Database) {
	add := func(ctx context.Context, sealed []byte) (stored []byte, err error) {
		err = b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			stored, err = tx.Webhooks.AddKeyCheck(ctx, sealed)
			return err
		})
		return stored, err
	}

	t.Run("a check that is rolled back was never there", func(t *testing.T) {
		errBack := errors.New("back")
		wantError(t, "the transaction", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Webhooks.SetKeyCheck(ctx, []byte("set")); err != nil {
				return err
			}
			wantEqual(t, "inside", must(tx.Webhooks.AddKeyCheck(ctx, []byte("added")))(t), []byte("set"))
			return errBack
		}), errBack)
	})

	t.Run("of checks added at once the first one stays", func(t *testing.T) {
		stored := make([][]byte, 8)
		for _, err := range together(len(stored), func(i int) (err error) {
			stored[i], err = add(t.Context(), []byte{0, 255, byte(i)})
			return err
		}) {
			wantError(t, "AddKeyCheck", err, nil)
		}
		for _, check := range stored {
			if !bytes.HasPrefix(check, []byte{0, 255}) || !bytes.Equal(check, stored[0]) {
				t.Errorf("one is told %x, another one %x", check, stored[0])
			}
		}
		wantEqual(t, "the check afterwards", must(add(t.Context(), []byte{7}))(t), stored[0])
	})

	t.Run("a check that is set replaces any", func(t *testing.T) {
		for _, check := range [][]byte{[]byte("one"), bytes.Repeat([]byte{9}, 200), []byte("two"), []byte("two")} {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Webhooks.SetKeyCheck(ctx, check) })
			wantEqual(t, "the check", must(add(t.Context(), []byte{7}))(t), check)
		}
	})

	t.Run("the endpoints whose secrets it is about are those of all applications", func(t *testing.T) {
		tenant := newTenant(t, b)
		var want []domain.WebhookEndpoint
		for _, of := range []domain.Tenant{tenant, live(tenant), newSibling(t, b, tenant), newTenant(t, b)} {
			want = append(want, insertEndpoint(t, b, of))
		}
		want = append(want, insertEndpoint(t, b, tenant, disabled), insertEndpoint(t, b, tenant, listener))
		deleteEndpoint(t, b, insertEndpoint(t, b, tenant))
		slices.SortFunc(want, func(x, y domain.WebhookEndpoint) int { return cmp.Compare(x.ID, y.ID) })
		var got []domain.WebhookEndpoint
		for after, more := domain.ID(""), true; more; {
			page := must(b.Read().Webhooks.AllEndpoints(t.Context(), after, 4))(t)
			if got, more = append(got, page...), len(page) == 4; more {
				after = page[3].ID
			}
		}
		wantEqual(t, "all", got, want)
		wantEqual(t, "behind the last", len(must(b.Read().Webhooks.AllEndpoints(t.Context(), want[5].ID, 4))(t)), 0)
	})
}
