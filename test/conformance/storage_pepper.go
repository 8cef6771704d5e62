package conformance

import (
	"context"
	"errors"
	"testing"

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
