package access_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// peppered is a digester under the first pepper, which knows those behind it too.
type tenancyPeppered []string

func (p tenancyPeppered) Digest(secret string) [32]byte { return sha256.Sum256([]byte(p[0] + secret)) }

func (p tenancyPeppered) Previous(secret string) (digests [][32]byte) {
	for _, previous := range p[1:] {
		digests = append(digests, sha256.Sum256([]byte(previous+secret)))
	}
	return digests
}

// under makes the use cases of a server that has the pepper, and knows others.
func (o *tenancyScene) under(pepper string, s ports.Storage, previous ...string) *access.Tenants {
	return access.NewTenants(s, append(tenancyPeppered{pepper}, previous...), o.Clock, o.IDs, &o.grapevine)
}

func TestTheFirstPepperIsConfirmedAndAnyOtherRefused(t *testing.T) {
	t.Parallel()
	o := tenancyNewScene(t)
	for _, step := range []struct {
		pepper  string
		refused bool
	}{{"salt", false}, {"salt", false}, {"sugar", true}, {"", true}, {"salt", false}} {
		err := o.under(step.pepper, o.Store).ConfirmPepper(t.Context())
		if !step.refused {
			if err != nil {
				t.Errorf("%q: %v", step.pepper, err)
			}
			continue
		}
		e := tenancyWantCode(t, err, domain.KindConflict, "KEY_PEPPER_MISMATCH")
		if !strings.HasPrefix(e.Message, "The pepper is not the one this storage's keys were made with") {
			t.Errorf("told %q", e.Message)
		}
	}
}

func TestUnderAnotherPepperNoKeyIsMade(t *testing.T) {
	t.Parallel()
	o := tenancyNewScene(t)
	app := o.newApplication(t)
	salt, sugar := o.under("salt", o.Store), o.under("sugar", o.Store)

	// What makes no key claims nothing.
	if _, err := sugar.IssueKey(t.Context(), domain.AuditActor{Name: "test"}, o.IDs.ID(domain.PrefixApplication), domain.Live, nil,
		nil); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("a key of nobody: %v", err)
	}
	key, err := salt.IssueKey(t.Context(), domain.AuditActor{Name: "test"}, app.ID, domain.Live, nil, nil)
	if err != nil {
		t.Fatalf("the first key: %v", err)
	}
	_, err = sugar.IssueKey(t.Context(), domain.AuditActor{Name: "test"}, app.ID, domain.Live, nil, nil)
	tenancyWantCode(t, err, domain.KindConflict, "KEY_PEPPER_MISMATCH")
	_, err = sugar.RotateKey(t.Context(), domain.AuditActor{Name: "test"}, key.ID)
	tenancyWantCode(t, err, domain.KindConflict, "KEY_PEPPER_MISMATCH")
	if all, err := sugar.Keys(t.Context(), app.ID); err != nil || len(all) != 1 {
		t.Errorf("%d keys, %v", len(all), err)
	}
	if _, err := salt.RotateKey(t.Context(), domain.AuditActor{Name: "test"}, key.ID); err != nil {
		t.Errorf("rotated: %v", err)
	}
	if _, err := sugar.RevokeKey(t.Context(), domain.AuditActor{Name: "test"}, key.ID); err != nil {
		t.Errorf("revoking needs no pepper: %v", err)
	}
}

func TestAnAdoptedPepperTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	o := tenancyNewScene(t)
	for _, step := range []struct {
		pepper   string
		replaced bool
	}{{"salt", false}, {"salt", false}, {"sugar", true}, {"sugar", false}} {
		if replaced, err := o.under(step.pepper, o.Store).AdoptPepper(t.Context()); err != nil || replaced != step.replaced {
			t.Errorf("%s: replaced %t, %v", step.pepper, replaced, err)
		}
	}
	if err := o.under("sugar", o.Store).ConfirmPepper(t.Context()); err != nil {
		t.Errorf("the adopted one: %v", err)
	}
	tenancyWantCode(t, o.under("salt", o.Store).ConfirmPepper(t.Context()), domain.KindConflict, "KEY_PEPPER_MISMATCH")
}

// brokenMarks fails one of the calls about the mark.
type brokenMarks struct {
	ports.TenancyStore
	add, read, set error
}

// in puts it in front of a storage.
func (b brokenMarks) in(s ports.Storage) ports.Storage {
	return stage.Between{Storage: s, Change: func(tx *ports.Stores) { b.TenancyStore, tx.Tenancy = tx.Tenancy, &b }}
}

func (b *brokenMarks) AddPepperMark(ctx context.Context, known [][32]byte, mark [32]byte) ([][32]byte, error) {
	stored, err := b.TenancyStore.AddPepperMark(ctx, known, mark)
	if b.add != nil {
		return nil, b.add
	}
	return stored, err
}

func (b *brokenMarks) PepperMarks(ctx context.Context) ([][32]byte, error) {
	if b.read != nil {
		return nil, b.read
	}
	return b.TenancyStore.PepperMarks(ctx)
}

func (b *brokenMarks) SetPepperMark(ctx context.Context, mark [32]byte) error {
	return errors.Join(b.TenancyStore.SetPepperMark(ctx, mark), b.set)
}

func TestAFailureOfTheStorageIsNoMismatchAndReplacesNothing(t *testing.T) {
	t.Parallel()
	o := tenancyNewScene(t)
	if err := o.under("sugar", brokenMarks{add: errTenancyBroken}.in(o.Store)).ConfirmPepper(t.Context()); !errors.Is(err, errTenancyBroken) {
		t.Errorf("got %v", err)
	}
	// It claimed nothing either.
	if err := o.under("salt", o.Store).ConfirmPepper(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []brokenMarks{{read: errTenancyBroken}, {set: errTenancyBroken}} {
		if replaced, err := o.under("sugar", broken.in(o.Store)).AdoptPepper(t.Context()); replaced || !errors.Is(err, errTenancyBroken) {
			t.Errorf("replaced %t, %v", replaced, err)
		}
	}
	if err := o.under("salt", o.Store).ConfirmPepper(t.Context()); err != nil {
		t.Errorf("the old one is gone: %v", err)
	}
}
