package access_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

func TestWhatAKeyOpensIsAnnouncedWhenItsChangeIsThere(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	change := map[string]func() error{
		"revoke": func() error { _, err := o.RevokeKey(t.Context(), boss, k.ID); return err },
		"disable": func() error {
			_, err := o.SetDisabled(t.Context(), boss, k.ApplicationID, true)
			return err
		},
		"enable": func() error {
			_, err := o.SetDisabled(t.Context(), boss, k.ApplicationID, false)
			return err
		},
	}
	for _, c := range []struct {
		verb              string
		revoked, disabled bool
	}{
		{"disable", false, true}, {"disable", false, true}, {"enable", false, false},
		{"revoke", true, false}, {"revoke", true, false},
	} {
		o.grapevine.passed = nil
		o.grapevine.notice = func(context.Context) {
			found, err := o.Store.Read().Tenancy.Credential(t.Context(), k.Digest)
			if err != nil || found.Application.Disabled != c.disabled || (found.Key.RevokedAt != nil) != c.revoked {
				t.Errorf("%s was announced before its commit: %+v, %v", c.verb, found, err)
			}
		}
		if err := change[c.verb](); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.grapevine.passed, []domain.ID{k.ApplicationID}) {
			t.Errorf("%s announced %q, want its application", c.verb, o.grapevine.passed)
		}
	}
}

func TestWhatChangesNothingIsNotAnnounced(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, new(time.Hour)) // a new key, and all before it
	_, rotated := o.RotateKey(t.Context(), boss, k.ID)
	_, nobody := o.RevokeKey(t.Context(), boss, o.IDs.ID(domain.PrefixAPIKey))
	_, nowhere := o.SetDisabled(t.Context(), boss, o.IDs.ID(domain.PrefixApplication), true)
	o.on(ending{o.Store, func(error) error { return errBroken }, true})
	_, broken := o.RevokeKey(t.Context(), boss, k.ID)
	_, stuck := o.SetDisabled(t.Context(), boss, k.ApplicationID, true)
	if rotated != nil || nobody == nil || nowhere == nil || !errors.Is(broken, errBroken) || !errors.Is(stuck, errBroken) {
		t.Fatal(rotated, nobody, nowhere, broken, stuck)
	}
	if len(o.grapevine.passed) != 0 {
		t.Errorf("announced %q", o.grapevine.passed)
	}
}

func TestAChangeWhoseOutcomeIsUnknownIsAnnounced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene, context.Context, domain.APIKey) error{
		"revoke": func(o *scene, ctx context.Context, k domain.APIKey) error {
			_, err := o.RevokeKey(ctx, boss, k.ID)
			return err
		},
		"disable": func(o *scene, ctx context.Context, k domain.APIKey) error {
			_, err := o.SetDisabled(ctx, boss, k.ApplicationID, true)
			return err
		},
	} {
		o := newScene(t)
		k := o.issue(t, nil)
		o.on(ending{o.Store, func(err error) error { return errors.Join(err, ports.ErrOutcomeUnknown) }, false})
		if err := change(o, t.Context(), k.APIKey); !errors.Is(err, ports.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(o.grapevine.passed, []domain.ID{k.ApplicationID}) {
			t.Errorf("%s announced %q", name, o.grapevine.passed)
		}
	}
}

func TestAnOperatorWhoLeavesBehindTheCommitStopsNoAnnouncement(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	ctx, leave := context.WithCancel(t.Context())
	o.on(ending{o.Store, func(err error) error { leave(); return err }, false})
	var word context.Context
	o.grapevine.notice = func(ctx context.Context) { word = ctx }
	if _, err := o.RevokeKey(ctx, boss, k.ID); err != nil {
		t.Fatal(err)
	}
	if word == nil || word.Err() != nil {
		t.Errorf("announced under a context that has ended: %v", word)
	}
}

// ending has another end for each transaction, which may be rolled back for it.
type ending struct {
	ports.Storage
	end  func(error) error
	back bool
}

func (e ending) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	if e.back {
		return e.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error { return e.end(fn(ctx, tx)) })
	}
	return e.end(e.Storage.InTx(ctx, fn))
}
