package access_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"waybill/domain"
)

// person acts for a business.
func (o *scene) person(business domain.ID) domain.AuditActor {
	return domain.AuditActor{ID: o.IDs.ID(domain.PrefixPerson), Name: "Ama", BusinessID: business}
}

func TestAPersonOfABusinessReachesNothingOfAnother(t *testing.T) {
	o := newScene(t)
	theirs, own := o.issue(t, nil), o.newApplication(t)
	revoked := o.issue(t, nil)
	operator := boss
	if _, err := o.RevokeKey(t.Context(), operator, revoked.ID); err != nil {
		t.Fatal(err)
	}
	ama := o.person(own.BusinessID)
	once := o.IDs.ID(domain.PrefixAPIKey)
	for name, do := range map[string]func() (any, error){
		"issue a key": func() (any, error) {
			return o.IssueKey(t.Context(), ama, theirs.ApplicationID, domain.Live, domain.AllScopes(), nil)
		},
		"issue a key once": func() (any, error) {
			return o.IssueKeyOnce(t.Context(), ama, once, theirs.ApplicationID, domain.Live, "", domain.AllScopes(), nil)
		},
		"rotate a key":        func() (any, error) { return o.RotateKey(t.Context(), ama, theirs.ID) },
		"rotate a key once":   func() (any, error) { return o.RotateKeyOnce(t.Context(), ama, theirs.ID, once) },
		"rotate a revoked":    func() (any, error) { return o.RotateKey(t.Context(), ama, revoked.ID) },
		"revoke a key":        func() (any, error) { return o.RevokeKey(t.Context(), ama, theirs.ID) },
		"revoke a revoked":    func() (any, error) { return o.RevokeKey(t.Context(), ama, revoked.ID) },
		"disable":             func() (any, error) { return o.SetDisabled(t.Context(), ama, theirs.ApplicationID, true) },
		"enable what is so":   func() (any, error) { return o.SetDisabled(t.Context(), ama, theirs.ApplicationID, false) },
		"read an application": func() (any, error) { return o.ApplicationOf(t.Context(), own.BusinessID, theirs.ApplicationID) },
		"list keys":           func() (any, error) { return o.KeysOf(t.Context(), own.BusinessID, theirs.ApplicationID, domain.Live) },
		"read a key": func() (any, error) {
			return o.KeyOf(t.Context(), own.BusinessID, theirs.ApplicationID, domain.Live, theirs.ID)
		},
		"read a key elsewhere": func() (any, error) { return o.KeyOf(t.Context(), own.BusinessID, own.ID, domain.Live, theirs.ID) },
	} {
		got, err := do()
		var e *domain.Error
		if !errors.As(err, &e) || e.Kind != domain.KindNotFound || e.Message != domain.ErrNotFound.Message {
			t.Errorf("%s of another business: %v, %v", name, got, err)
		}
	}
	if key, err := o.Key(t.Context(), theirs.ID); err != nil || key.RevokedAt != nil {
		t.Errorf("the key afterwards: %+v, %v", key, err)
	}
	app, err := o.Application(t.Context(), theirs.ApplicationID)
	if err != nil || app.Disabled {
		t.Errorf("the application afterwards: %+v, %v", app, err)
	}
	// The same business, the other environment: no key of live is one of the sandbox.
	if _, err := o.KeyOf(t.Context(), app.BusinessID, app.ID, domain.Sandbox, theirs.ID); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a key of live, as one of the sandbox: %v", err)
	}
	if key, err := o.KeyOf(t.Context(), app.BusinessID, app.ID, domain.Live, theirs.ID); err != nil || key.ID != theirs.ID {
		t.Errorf("the key, asked for by its own business: %v, %v", key.ID, err)
	}
}

func TestAFormMakesOneKeyHoweverOftenItIsSent(t *testing.T) {
	o := newScene(t)
	app := o.newApplication(t)
	ama := o.person(app.BusinessID)
	create, rotate := o.IDs.ID(domain.PrefixAPIKey), o.IDs.ID(domain.PrefixAPIKey)
	first, err := o.IssueKey(t.Context(), ama, app.ID, domain.Sandbox, domain.AllScopes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, send := range map[string]func() error{
		"create": func() error {
			_, err := o.IssueKeyOnce(t.Context(), ama, create, app.ID, domain.Sandbox, "", domain.AllScopes(), nil)
			return err
		},
		"rotate": func() error { _, err := o.RotateKeyOnce(t.Context(), ama, first.ID, rotate); return err },
	} {
		var made, refused atomic.Int64
		var sending sync.WaitGroup
		for range 8 {
			sending.Go(func() {
				switch err := send(); {
				case err == nil:
					made.Add(1)
				case domain.HasCode(err, domain.CodeFormAlreadySent):
					refused.Add(1)
				default:
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		sending.Wait()
		if made.Load() != 1 || refused.Load() != 7 {
			t.Errorf("%s: %d made and %d refused, of 8 sent", name, made.Load(), refused.Load())
		}
	}
	keys, err := o.KeysOf(t.Context(), app.BusinessID, app.ID, domain.Sandbox)
	if err != nil || len(keys) != 3 {
		t.Errorf("%d keys, want 3: %v", len(keys), err)
	}
	for _, id := range []domain.ID{"", "key_1", app.ID} {
		if _, err := o.IssueKeyOnce(t.Context(), ama, id, app.ID, domain.Sandbox, "", domain.AllScopes(), nil); !domain.HasCode(err,
			domain.CodeFormAlreadySent) {
			t.Errorf("a form with the ID %q: %v", id, err)
		}
	}
}

func TestAPersonDoesNotEnableWhatTheDeliveryCompanyHasDisabled(t *testing.T) {
	o := newScene(t)
	app := o.newApplication(t)
	ama, operator := o.person(app.BusinessID), boss
	set := func(by domain.AuditActor, disabled bool) error {
		_, err := o.SetDisabled(t.Context(), by, app.ID, disabled)
		return err
	}
	if err := errors.Join(set(ama, true), set(ama, false), set(operator, true)); err != nil {
		t.Fatal(err)
	}
	if err := set(ama, false); !domain.HasCode(err, domain.CodeDisabledByPlatform) {
		t.Errorf("a person enables what an operator has disabled: %v", err)
	}
	if now, err := o.Application(t.Context(), app.ID); err != nil || !now.Disabled {
		t.Errorf("afterwards: %+v, %v", now, err)
	}
	if err := errors.Join(set(operator, false), set(ama, true), set(operator, false)); err != nil {
		t.Error(err)
	}
}
