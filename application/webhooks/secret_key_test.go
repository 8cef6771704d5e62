package webhooks_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// keyed is a sealer under the first of its keys. It opens what is under any of them. No key is a
// prefix of another one.
type keyed []string

func (k keyed) Derive(purpose string) ([domain.SigningSecretBytes]byte, error) {
	return sha256.Sum256([]byte(k[0] + purpose)), nil
}

func (k keyed) Seal(purpose string, plain []byte) ([]byte, error) {
	return maskSealer{}.Seal(k[0]+purpose, plain)
}

func (k keyed) Open(purpose string, sealed []byte) ([]byte, error) {
	for _, key := range k {
		if plain, err := (maskSealer{}).Open(key+purpose, sealed); err == nil {
			return plain, nil
		}
	}
	return nil, errors.New("sealed under another key")
}

func (k keyed) Current(sealed []byte) bool { return bytes.HasPrefix(sealed, []byte(k[0])) }

// under returns the secret key of a process with the keys, the current one first.
func (s *scene) under(keys ...string) *webhooks.SecretKey {
	return webhooks.NewSecretKey(s.Store, keyed(keys))
}

func TestTheFirstKeyIsConfirmedAndAnyThatCannotOpenItIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, step := range []struct {
		keys    []string
		refused bool
	}{
		{[]string{"old"}, false},
		{[]string{"old"}, false},
		{[]string{"new"}, true},
		{[]string{"new", "other"}, true},
		{[]string{"old", "new"}, false},
		{[]string{"new", "other", "old"}, false},
		{[]string{"old"}, false}, // being admitted among others changes nothing yet
	} {
		err := s.under(step.keys...).Confirm(t.Context())
		if step.refused {
			isCode(t, err, "SECRET_KEY_MISMATCH")
		} else if err != nil {
			t.Errorf("%v: %v", step.keys, err)
		}
	}
}

func TestAnAdoptedKeyTakesThePlaceOfOneThatIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, step := range []struct {
		keys     []string
		replaced bool
	}{{[]string{"old"}, false}, {[]string{"new", "old"}, false}, {[]string{"new"}, true}, {[]string{"new"}, false}} {
		if replaced, err := s.under(step.keys...).Adopt(t.Context()); err != nil || replaced != step.replaced {
			t.Errorf("%v: replaced %t, %v", step.keys, replaced, err)
		}
	}
	isCode(t, s.under("old").Confirm(t.Context()), "SECRET_KEY_MISMATCH")
}

// sealed makes an endpoint whose secrets, the newest first, are under these keys.
func (s *scene) sealed(keys ...string) domain.WebhookEndpoint {
	s.t.Helper()
	now := s.Clock.Now()
	e := domain.WebhookEndpoint{
		ID: s.ids.ID(domain.PrefixWebhookEndpoint), Tenant: s.tenant, URL: "https://shop.example.com", EventTypes: []string{domain.AllEvents},
		Enabled: true, CreatedAt: now, UpdatedAt: now, Health: domain.WebhookHealth{Failures: 3, FailingSince: &now},
	}
	for i, key := range keys {
		sealed, _ := keyed{key}.Seal(string(e.ID), []byte{byte(i)})
		e.Secrets = append(e.Secrets, domain.SigningSecret{Sealed: sealed})
		if i > 0 {
			e.Secrets[i].ExpiresAt = new(now.Add(time.Hour))
		}
	}
	if err := s.Store.InTx(s.t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		e, err = tx.Webhooks.InsertEndpoint(ctx, e)
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return e
}

func TestSecretsUnderAPreviousKeyAreSealedAnewAndThenTheOldKeyIsNotNeeded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.under("old").Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := []domain.WebhookEndpoint{
		s.sealed("old"), s.sealed("new"), s.sealed("new", "old"), s.sealed("old", "old"),
		s.sealed("lost"), s.sealed("old", "lost"), s.sealed("lost", "old"),
	}
	for _, want := range []int{5, 0} {
		if n, err := s.under("new", "old").Reseal(t.Context()); n != want || err != nil {
			t.Errorf("%d were sealed anew, want %d (%v)", n, want, err)
		}
	}
	for i, before := range all {
		after, err := s.Store.Read().Webhooks.Endpoint(t.Context(), s.tenant, before.ID)
		if err != nil {
			t.Fatal(err)
		}
		for j, secret := range after.Secrets {
			was, _ := keyed{"old", "new", "lost"}.Open(string(before.ID), before.Secrets[j].Sealed)
			if plain, err := (keyed{"new", "lost"}).Open(string(before.ID), secret.Sealed); err != nil || !bytes.Equal(plain, was) {
				t.Errorf("endpoint %d, secret %d: %q became %q", i, j, before.Secrets[j].Sealed, secret.Sealed)
			}
			before.Secrets[j].Sealed = secret.Sealed
		}
		if !slices.EqualFunc(after.Secrets, before.Secrets, func(a, b domain.SigningSecret) bool {
			return (a.ExpiresAt == nil) == (b.ExpiresAt == nil) && (a.ExpiresAt == nil || a.ExpiresAt.Equal(*b.ExpiresAt))
		}) || !after.UpdatedAt.Equal(before.UpdatedAt) || after.Health.Failures != 3 || after.URL != before.URL {
			t.Errorf("endpoint %d changed otherwise: %+v, before %+v", i, after, before)
		}
	}
	if err := s.under("new").Confirm(t.Context()); err != nil {
		t.Errorf("the new key alone: %v", err)
	}
	isCode(t, s.under("old").Confirm(t.Context()), "SECRET_KEY_MISMATCH")
}

func TestHoweverManyEndpointsThereAreAllAreSealedAnew(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const tenants = 8
	for range tenants {
		s.tenant = s.NewTenant(t)
		for range domain.MaxWebhookEndpoints {
			s.sealed("old")
		}
	}
	if n, err := s.under("new", "old").Reseal(t.Context()); n != tenants*domain.MaxWebhookEndpoints || err != nil {
		t.Errorf("%d were sealed anew, want %d (%v)", n, tenants*domain.MaxWebhookEndpoints, err)
	}
}

// A process with the old key may run for a while, and end again.
func TestAProcessWithTheOldKeyLeavesNothingBehindThatTheNewKeyDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before, after := s.under("old", "new"), s.under("new", "old")
	for _, process := range []*webhooks.SecretKey{before, after, before, after} {
		if err := process.Confirm(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := process.Reseal(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.sealed("old")
	}
	if n, err := after.Reseal(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were sealed anew, want what came last (%v)", n, err)
	}
	if err := s.under("new").Confirm(t.Context()); err != nil {
		t.Error(err)
	}
}
