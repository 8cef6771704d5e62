package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"waybill/domain"
	"waybill/ports"
)

func testPepper(t *testing.T, b Backend) {
	add := func(ctx context.Context, mark [32]byte) (stored [32]byte, err error) {
		err = b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			stored, err = tx.Tenancy.AddPepperMark(ctx, mark)
			return err
		})
		return stored, err
	}
	set := func(mark [32]byte) {
		t.Helper()
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.SetPepperMark(ctx, mark) })
	}

	t.Run("a mark that is rolled back was never there", func(t *testing.T) {
		errBack := errors.New("back")
		wantError(t, "the transaction", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			stored, err := tx.Tenancy.AddPepperMark(ctx, [32]byte{9})
			wantEqual(t, "inside", stored, [32]byte{9})
			return errors.Join(err, errBack)
		}), errBack)
	})

	t.Run("a mark can be set where none is", func(t *testing.T) {
		errBack := errors.New("back")
		wantError(t, "the transaction", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Tenancy.SetPepperMark(ctx, [32]byte{8}); err != nil {
				return err
			}
			wantEqual(t, "inside", must(tx.Tenancy.AddPepperMark(ctx, [32]byte{9}))(t), [32]byte{8})
			return errBack
		}), errBack)
	})

	t.Run("of marks added at once the first one stays", func(t *testing.T) {
		stored := make([][32]byte, 8)
		for _, err := range together(len(stored), func(i int) (err error) {
			stored[i], err = add(t.Context(), [32]byte{0, 1, byte(i), 31: 255})
			return err
		}) {
			wantError(t, "AddPepperMark", err, nil)
		}
		if first := stored[0]; first[1] != 1 || first[31] != 255 || int(first[2]) >= len(stored) {
			t.Errorf("stored %x, which nobody added", first)
		}
		for _, mark := range stored {
			wantEqual(t, "the mark", mark, stored[0])
		}
		wantEqual(t, "the mark afterwards", must(add(t.Context(), [32]byte{7}))(t), stored[0])
	})

	t.Run("a mark that is set replaces any", func(t *testing.T) {
		for _, mark := range [][32]byte{{1}, {2}, {2}, {}} {
			set(mark)
			wantEqual(t, "the mark", must(add(t.Context(), [32]byte{7}))(t), mark)
		}
	})
}

func testKeyCheck(t *testing.T, b Backend) {
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
