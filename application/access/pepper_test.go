package access_test

import (
	"strings"
	"testing"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
)

// under makes the use cases of a server that has the pepper, and knows others.
func (o *scene) under(pepper string, s ports.Storage, previous ...string) *access.Tenants {
	return access.NewTenants(s, append(peppered{pepper}, previous...), o.Clock, o.IDs, &o.grapevine)
}

func TestTheFirstPepperIsConfirmedAndAnyOtherRefused(t *testing.T) {
	t.Parallel()
	o := newScene(t)
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
		e := wantCode(t, err, domain.KindConflict, "KEY_PEPPER_MISMATCH")
		if !strings.HasPrefix(e.Message, "The pepper is not the one this storage's keys were made with") {
			t.Errorf("told %q", e.Message)
		}
	}
}

func TestUnderAnotherPepperNoKeyIsMade(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	app := o.newApplication(t)
	salt, sugar := o.under("salt", o.Store), o.under("sugar", o.Store)

	// What makes no key claims nothing.
	if _, err := sugar.IssueKey(t.Context(), boss, o.IDs.ID(domain.PrefixApplication), domain.Live, nil,
		nil); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("a key of nobody: %v", err)
	}
	key, err := salt.IssueKey(t.Context(), boss, app.ID, domain.Live, nil, nil)
	if err != nil {
		t.Fatalf("the first key: %v", err)
	}
	_, err = sugar.IssueKey(t.Context(), boss, app.ID, domain.Live, nil, nil)
	wantCode(t, err, domain.KindConflict, "KEY_PEPPER_MISMATCH")
	_, err = sugar.RotateKey(t.Context(), boss, key.ID)
	wantCode(t, err, domain.KindConflict, "KEY_PEPPER_MISMATCH")
	if all, err := sugar.Keys(t.Context(), app.ID); err != nil || len(all) != 1 {
		t.Errorf("%d keys, %v", len(all), err)
	}
	if _, err := salt.RotateKey(t.Context(), boss, key.ID); err != nil {
		t.Errorf("rotated: %v", err)
	}
	if _, err := sugar.RevokeKey(t.Context(), boss, key.ID); err != nil {
		t.Errorf("revoking needs no pepper: %v", err)
	}
}

func TestAnAdoptedPepperTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	o := newScene(t)
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
	wantCode(t, o.under("salt", o.Store).ConfirmPepper(t.Context()), domain.KindConflict, "KEY_PEPPER_MISMATCH")
}
