package access_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"waybill/application/access"
	"waybill/domain"
)

// actions are what was kept, oldest first.
func (o *scene) actions(t *testing.T) []domain.Action {
	t.Helper()
	entries, err := o.Store.Read().Audit.List(t.Context(), domain.AuditFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var actions []domain.Action
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	slices.Reverse(actions)
	return actions
}

func TestNoTokenIsMadeThatWouldOpenNothing(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	for _, name := range []string{"", "  "} {
		if _, err := o.IssueOperatorToken(t.Context(), boss, name, domain.OperatorAdmin, nil); !domain.HasCode(err, "VALIDATION_ERROR") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := o.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, new(time.Duration(0))); !domain.HasCode(err,
		"VALIDATION_ERROR") {
		t.Error(err)
	}
	if err := o.ConfirmPepper(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := access.NewTenants(o.Store, peppered{"other"}, o.Clock, o.IDs, &o.grapevine)
	if _, err := other.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, nil); !domain.HasCode(err,
		"KEY_PEPPER_MISMATCH") {
		t.Error(err)
	}
	if kept := o.actions(t); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
}

func TestWhatOperatorsChangeOfACustomerIsKept(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	app, err := o.Application(t.Context(), k.ApplicationID)
	if err != nil {
		t.Fatal(err)
	}
	steps := []func() error{
		func() error { _, err := o.SetDisabled(t.Context(), boss, app.ID, true); return err },
		func() error { _, err := o.SetDisabled(t.Context(), boss, app.ID, true); return err }, // changes nothing
		func() error { _, err := o.SetDisabled(t.Context(), boss, app.ID, false); return err },
		func() error { _, err := o.RotateKey(t.Context(), boss, k.ID); return err },
		func() error { _, err := o.RevokeKey(t.Context(), boss, k.ID); return err },
		func() error { _, err := o.RevokeKey(t.Context(), boss, k.ID); return err }, // changes nothing
		func() error {
			_, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, access.BusinessChange{Name: new("New"),
				RateLimit: &domain.RateLimit{Limit: 5, Window: time.Minute}})
			return err
		},
		func() error { // changes nothing
			_, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, access.BusinessChange{Name: new(" New "),
				RateLimit: &domain.RateLimit{Limit: 5, Window: time.Minute}})
			return err
		},
		func() error {
			_, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, access.BusinessChange{DefaultLimit: true})
			return err
		},
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if _, err := o.RotateKey(t.Context(), boss, k.ID); err == nil { // refused
		t.Error("a revoked key was rotated")
	}
	if _, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, access.BusinessChange{Name: new("")}); err == nil {
		t.Error("a business lost its name")
	}
	want := "[business.create application.create key.create application.disable application.enable key.rotate key.revoke business.update " +
		"business.update]"
	if got := fmt.Sprint(o.actions(t)); got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	entries, err := o.Store.Read().Audit.List(t.Context(), domain.AuditFilter{Action: domain.ActionKeyRotate}, domain.PageRequest{Limit: 1})
	if err != nil || entries[0].Target != k.ID || entries[0].BusinessID != app.BusinessID || entries[0].Actor != boss ||
		entries[0].Details["successor"] == "" {
		t.Errorf("%+v, %v", entries, err)
	}
	b, err := o.Business(t.Context(), app.BusinessID)
	if err != nil || b.Name != "New" || b.RateLimit != nil {
		t.Errorf("%+v, %v", b, err)
	}
}
