package access

import (
	"context"
	"slices"
	"strconv"

	"waybill/domain"
	"waybill/ports"
)

// pepperLabel is digested for the mark of a pepper. It is no API key, so its digest gives no
// access.
const pepperLabel = "waybill: the mark of the key pepper"

// ConfirmPepper refuses a pepper with which stored keys would be unknown. The storage keeps the
// mark of each pepper in the order of arrival. It adds the first one, whatever keys exist by then.
// After that it adds one that comes together with the newest as a previous one. It returns
// KEY_PEPPER_MISMATCH if this process does not have the newest, and KEY_PEPPER_IN_USE if it lacks
// an older one that keys still use.
func (t *Tenants) ConfirmPepper(ctx context.Context) error {
	return t.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := t.confirmPepper(ctx, tx); err != nil {
			return err
		}
		left, err := tx.Tenancy.OldPeppers(ctx, t.clock.Now())
		if err != nil {
			return err
		}
		for _, use := range left {
			if !slices.Contains(t.marks(), use.Mark) {
				return pepperInUse(use)
			}
		}
		return nil
	})
}

func pepperInUse(use domain.PepperUse) error {
	used := "never used"
	if use.LastUsedAt != nil {
		used = "last used at " + domain.FormatTime(*use.LastUsedAt)
	}
	return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeKeyPepperInUse,
		Message: strconv.Itoa(use.Keys) + " API keys and " + strconv.Itoa(use.Tokens) + " operator tokens, " + used +
			", are still under a previous pepper"}
}

func (t *Tenants) confirmPepper(ctx context.Context, tx ports.Stores) error {
	mine := t.marks()
	marks, err := tx.Tenancy.PepperMarks(ctx)
	if err != nil {
		return err
	}
	if (len(marks) == 0 || slices.Contains(mine, marks[len(marks)-1])) && !slices.Contains(marks, mine[0]) {
		if marks, err = tx.Tenancy.AddPepperMark(ctx, marks, mine[0]); err != nil {
			return err
		}
	}
	if len(marks) == 0 || !slices.Contains(mine, marks[len(marks)-1]) || !slices.Contains(marks, mine[0]) {
		return &domain.Error{Kind: domain.KindConflict, Code: domain.CodeKeyPepperMismatch,
			Message: "The pepper is not the one this storage's keys were made with: under it every one of them is refused."}
	}
	return nil
}

// AdoptPepper makes this pepper the storage's, whatever it was before. It reports whether that one
// is not known here: then the keys made with it stop working. It is only for development.
func (t *Tenants) AdoptPepper(ctx context.Context) (replaced bool, err error) {
	err = t.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		err := t.confirmPepper(ctx, tx)
		if replaced = domain.HasCode(err, domain.CodeKeyPepperMismatch); !replaced {
			return err
		}
		return tx.Tenancy.SetPepperMark(ctx, t.marks()[0])
	})
	return replaced && err == nil, err
}

// PepperChanged reports whether this process's pepper is the storage's newest, and one of its
// previous ones was the newest before.
func (t *Tenants) PepperChanged(ctx context.Context) (changed bool, err error) {
	err = t.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		marks, err := tx.Tenancy.PepperMarks(ctx)
		if err != nil {
			return err
		}
		mine := t.marks()
		at := slices.Index(marks, mine[0])
		changed = at > 0 && at == len(marks)-1 && slices.ContainsFunc(mine[1:], func(m [32]byte) bool { return slices.Contains(marks[:at], m) })
		return nil
	})
	return changed, err
}

// OldPeppers counts the keys and tokens with older peppers, oldest first. A change of the pepper
// waits for them.
func (t *Tenants) OldPeppers(ctx context.Context) ([]domain.PepperUse, error) {
	return t.storage.Read().Tenancy.OldPeppers(ctx, t.clock.Now())
}

// OldPepperKeys lists the API keys that OldPeppers counts, oldest first.
func (t *Tenants) OldPepperKeys(ctx context.Context) ([]domain.APIKey, error) {
	return t.storage.Read().Tenancy.OldPepperKeys(ctx, t.clock.Now())
}

// marks returns the marks of this process's peppers, its own first.
func (t *Tenants) marks() [][32]byte { return digestsOf(t.digest, pepperLabel) }

// digestsOf returns all digests with which a secret may be stored, the current one first.
func digestsOf(d ports.KeyDigester, secret string) [][32]byte {
	return append([][32]byte{d.Digest(secret)}, d.Previous(secret)...)
}

// Redigestible returns the changes that lead to a newer pepper. A process that still has an old
// pepper as its own knows the new one too, and must not move keys back.
func Redigestible(ctx context.Context, tx ports.Stores, d ports.KeyDigester, found []FoundDigest) ([]ports.Redigest, error) {
	marks, err := tx.Tenancy.PepperMarks(ctx)
	if err != nil {
		return nil, err
	}
	mark := d.Digest(pepperLabel)
	mine := slices.Index(marks, mark)
	var changes []ports.Redigest
	for _, f := range found {
		theirs := 0 // the mark of a key whose pepper is not stored
		if f.Pepper != [32]byte{} {
			theirs = slices.Index(marks, f.Pepper)
		}
		if theirs < mine {
			changes = append(changes, ports.Redigest{ID: f.ID, From: f.Stored, To: f.Current, Pepper: mark})
		}
	}
	return changes, nil
}

// FoundDigest names a secret that was found by another digest than the one with the current pepper.
type FoundDigest struct {
	ID              domain.ID
	Stored, Current [32]byte
	Pepper          [32]byte // the mark of the pepper of Stored
}
