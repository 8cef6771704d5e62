package access_test

import (
	"context"
	"testing"
	"time"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// used is a gate in front of the scene's database, and what that then says
// about when a key was used last.
type used struct {
	*scene
	gate    *access.Admission
	limiter *counter
}

func newUsed(t *testing.T, between func(ports.Storage) ports.Storage) *used {
	t.Helper()
	u := &used{scene: newScene(t), limiter: &counter{taken: map[string]int{}}}
	u.gate = access.NewAdmission(between(u.Store), u.limiter, stage.Digester{}, u.Clock, limits)
	return u
}

func straight(s ports.Storage) ports.Storage { return s }

func (u *used) credentials(t *testing.T, secret string) error {
	t.Helper()
	_, err := u.gate.Admit(t.Context(), access.Credentials{Environment: domain.Live, Address: address, Key: secret})
	return err
}

func (u *used) record(t *testing.T) {
	t.Helper()
	if err := u.gate.RecordUses(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (u *used) want(t *testing.T, k access.IssuedKey, want *time.Time) {
	t.Helper()
	stored, err := u.Store.Read().Tenancy.APIKey(t.Context(), k.ID)
	if err != nil || (want == nil) != (stored.LastUsedAt == nil) || want != nil && !stored.LastUsedAt.Equal(*want) {
		t.Errorf("used at %v (%v), want %v", stored.LastUsedAt, err, want)
	}
}

func TestTheLastUseOfAKeyIsWrittenWhenItIsRecorded(t *testing.T) {
	t.Parallel()
	u := newUsed(t, straight)
	k, other := u.issue(t, nil), u.issue(t, nil)
	var last time.Time
	for range 3 {
		u.Clock.GoOn(400 * time.Millisecond)
		last = u.Clock.Now()
		if err := u.credentials(t, k.Secret); err != nil {
			t.Fatal(err)
		}
	}
	u.want(t, k, nil) // no request writes it
	u.record(t)
	u.want(t, k, &last)
	u.want(t, other, nil)
	u.Clock.GoOn(time.Hour)
	u.record(t)
	u.want(t, k, &last) // no use since
}

func TestAClockThatStepsBackTakesNoUseBack(t *testing.T) {
	t.Parallel()
	u := newUsed(t, straight)
	k := u.issue(t, nil)
	last := u.Clock.Now()
	for _, step := range []time.Duration{0, -time.Hour} {
		u.Clock.GoOn(step)
		if err := u.credentials(t, k.Secret); err != nil {
			t.Fatal(err)
		}
	}
	u.record(t)
	u.want(t, k, &last)
}

func TestWhichRequestsAreAUseOfTheirKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*testing.T, *used, access.IssuedKey)
		secret func(string) string
		code   string
		counts bool
	}{
		"one that is let in": {counts: true},
		"one that the limit of the key refused": {code: "RATE_LIMIT_EXCEEDED", counts: true,
			before: func(_ *testing.T, u *used, k access.IssuedKey) { u.limiter.taken["key "+string(k.ID)] = 600 }},
		"a revoked key": {code: "API_KEY_REVOKED", before: func(t *testing.T, u *used, k access.IssuedKey) {
			if _, err := u.RevokeKey(t.Context(), boss, k.ID); err != nil {
				t.Fatal(err)
			}
		}},
		"an expired key": {code: "API_KEY_EXPIRED", before: func(_ *testing.T, u *used, _ access.IssuedKey) { u.Clock.GoOn(time.Hour) }},
		"a disabled application": {code: "INVALID_API_KEY", before: func(t *testing.T, u *used, k access.IssuedKey) {
			if _, err := u.SetDisabled(t.Context(), boss, k.ApplicationID, true); err != nil {
				t.Fatal(err)
			}
		}},
		"one behind a locked-out address": {counts: true,
			before: func(_ *testing.T, u *used, _ access.IssuedKey) { u.limiter.taken["address "+address] = 60 }},
		"a key that nobody has": {code: "INVALID_API_KEY", secret: func(string) string { return liveKey }},
		"a mistyped key":        {code: "INVALID_API_KEY", secret: func(s string) string { return s[:len(s)-1] }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUsed(t, straight)
			k := u.issue(t, new(time.Hour))
			if c.before != nil {
				c.before(t, u, k)
			}
			secret := k.Secret
			if c.secret != nil {
				secret = c.secret(secret)
			}
			if err := u.credentials(t, secret); c.code == "" && err != nil || c.code != "" && !domain.HasCode(err, c.code) {
				t.Fatalf("got %v, want %q", err, c.code)
			}
			u.record(t)
			if c.counts {
				u.want(t, k, &noon)
			} else {
				u.want(t, k, nil)
			}
		})
	}
}

// moody fails the transactions whose number, from 1 on, is in fails.
type moody struct {
	ports.Storage
	fails map[int]error
	begun int
}

func (m *moody) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	m.begun++
	if err := m.fails[m.begun]; err != nil {
		return err
	}
	return m.Storage.InTx(ctx, fn)
}

func TestNothingIsWrittenWhereNothingWasUsed(t *testing.T) {
	t.Parallel()
	store := &moody{}
	gate := access.NewAdmission(store, nil, stage.Digester{}, nil, limits)
	if err := gate.RecordUses(t.Context()); err != nil || store.begun != 0 {
		t.Errorf("%v, %d transactions", err, store.begun)
	}
}
