package tenancy

import (
	"context"

	"waybill/domain"
	"waybill/ports"
)

// pepperLabel is digested for the mark of a pepper. It is no API key, so that
// its digest opens nothing.
const pepperLabel = "waybill: the mark of the key pepper"

// ConfirmPepper refuses a pepper other than the one the storage's keys were
// made with: under it every key would be unknown. The storage keeps the mark
// of the first pepper that comes, whatever keys it has by then. The refusal
// has the code KEY_PEPPER_MISMATCH.
func (t *Tenants) ConfirmPepper(ctx context.Context) error {
	return t.storage.InTx(ctx, t.confirmPepper)
}

func (t *Tenants) confirmPepper(ctx context.Context, tx ports.Stores) error {
	mark := t.digest.Digest(pepperLabel)
	stored, err := tx.Tenancy.AddPepperMark(ctx, mark)
	if err != nil {
		return err
	}
	if stored != mark {
		return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeKeyPepperMismatch,
			Message: "WAYBILL_KEY_PEPPER is not the one this database's keys were made with: under it every one of them is refused. Set it to that one."}
	}
	return nil
}

// AdoptPepper makes this pepper the storage's, whichever it was before, and
// tells whether that was another one: then the keys made with it open nothing
// any more. It is for development alone.
func (t *Tenants) AdoptPepper(ctx context.Context) (replaced bool, err error) {
	mark := t.digest.Digest(pepperLabel)
	err = t.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		stored, err := tx.Tenancy.AddPepperMark(ctx, mark)
		if replaced = err == nil && stored != mark; !replaced {
			return err
		}
		return tx.Tenancy.SetPepperMark(ctx, mark)
	})
	return replaced && err == nil, err
}
