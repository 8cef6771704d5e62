package access_test

import (
	"errors"
	"slices"
	"testing"

	"waybill/domain"
)

func TestACustomerIsDisabledOnceAndEverywhere(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	app, err := o.Application(t.Context(), k.ApplicationID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		disabled bool
		code     string
	}{{true, domain.CodeInvalidAPIKey}, {true, domain.CodeInvalidAPIKey}, {false, ""}} {
		o.grapevine.passed = nil
		business, err := o.SetBusinessDisabled(t.Context(), boss, app.BusinessID, c.disabled)
		if err != nil || business.Disabled != c.disabled {
			t.Errorf("%+v, %v", business, err)
		}
		// Of all applications: an announcement without one is for all keys.
		if !slices.Equal(o.grapevine.passed, []domain.ID{""}) {
			t.Errorf("announced %q", o.grapevine.passed)
		}
		found, err := o.Store.Read().Tenancy.Credential(t.Context(), k.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := found.Usable(noon); c.code == "" && err != nil || c.code != "" && !domain.HasCode(err, c.code) {
			t.Errorf("disabled %v: %v", c.disabled, err)
		}
	}
	kept := slices.DeleteFunc(o.actions(t), func(a domain.Action) bool {
		return a != domain.ActionBusinessDisable && a != domain.ActionBusinessEnable
	})
	if !slices.Equal(kept, []domain.Action{domain.ActionBusinessDisable, domain.ActionBusinessEnable}) {
		t.Errorf("kept %v", kept)
	}
	if _, err := o.SetBusinessDisabled(t.Context(), boss, o.IDs.ID(domain.PrefixBusiness), true); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
}

func TestWhatADisabledCustomerLosesIsCountedBefore(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	app, err := o.Application(t.Context(), k.ApplicationID)
	if err != nil {
		t.Fatal(err)
	}
	for _, application := range []domain.ID{"", app.ID} {
		f, err := o.Footprint(t.Context(), app.BusinessID, application)
		if err != nil || f.LiveKeys+f.SandboxKeys != 1 {
			t.Errorf("%+v, %v", f, err)
		}
	}
	other, err := o.CreateBusiness(t.Context(), boss, "Kofi Pharmacy", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]domain.ID{{other.ID, app.ID}, {o.IDs.ID(domain.PrefixBusiness), ""}} {
		if _, err := o.Footprint(t.Context(), c[0], c[1]); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%v: %v", c, err)
		}
	}
	found, err := o.Customers(t.Context(), domain.ParseCustomerSearch(" PHARM ", "nonsense"), domain.PageRequest{Limit: 10})
	if err != nil || len(found) != 1 || found[0].ID != other.ID {
		t.Errorf("%+v, %v", found, err)
	}
}
