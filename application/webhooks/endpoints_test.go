package webhooks_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/test/stage"
)

func TestASecretIsToldTwiceAndStoredInClearNowhere(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	req := stage.Key(s.tenant, "endpoint-0001", 1)
	first, err := s.webhooks.Create(t.Context(), req, form(), showSecret)
	made := read[shown](t, first, err)
	if !strings.HasPrefix(made.Secret, "whsec_") || first.Replayed {
		t.Fatalf("made %+v, replayed %t", made, first.Replayed)
	}
	again, err := s.webhooks.Create(t.Context(), req, form(), showSecret)
	if err != nil || !again.Replayed || !stage.SameAnswer(first, again) {
		t.Errorf("the replay is %v %+v", err, again)
	}
	rotate := stage.Key(s.tenant, "rotation-0001", 2)
	turn := func() (time.Duration, error) { return time.Hour, nil }
	rotated, err := s.webhooks.Rotate(t.Context(), rotate, made.Endpoint.ID, turn, showSecret)
	second := read[shown](t, rotated, err)
	if again, err = s.webhooks.Rotate(t.Context(), rotate, made.Endpoint.ID, turn, showSecret); err != nil || !again.Replayed ||
		!stage.SameAnswer(rotated, again) {
		t.Errorf("the replay is %v %+v", err, again)
	}
	if second.Secret == made.Secret {
		t.Error("the new secret is the old one")
	}

	stored, err := s.Store.Read().Webhooks.Endpoint(t.Context(), s.tenant, made.Endpoint.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"endpoint-0001", "rotation-0001"} {
		record, err := s.Store.Read().Idempotency.Find(t.Context(), s.tenant, key)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(record.Answer.Body, []byte("whsec_")) || bytes.Contains(record.Answer.Body, []byte("example.com")) {
			t.Errorf("under %s lies %q", key, record.Answer.Body)
		}
		if _, err := s.sealer.Open("answer/"+string(s.tenant.ApplicationID)+"/sandbox/another-key", record.Answer.Body); err == nil {
			t.Error("an answer opens under another key")
		}
	}
	for i, want := range []string{second.Secret, made.Secret} { // the newest first
		secret, err := s.sealer.Open(string(made.Endpoint.ID), stored.Secrets[i].Sealed)
		if err != nil || domain.FormatSigningSecret(secret) != want {
			t.Errorf("secret %d opens as %q, %v, want %q", i, secret, err, want)
		}
	}
}

func TestTwoSecretsSignForTheOverlapThatWasAskedFor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	rotate := func(overlap time.Duration) domain.WebhookEndpoint {
		r, err := s.webhooks.Rotate(t.Context(), s.request(), id, func() (time.Duration, error) { return overlap, nil }, showSecret)
		read[shown](t, r, err)
		e, err := s.webhooks.Get(t.Context(), s.tenant, id)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := rotate(time.Hour)
	if n := len(e.ActiveSecrets(s.Clock.Now())); n != 2 {
		t.Errorf("%d secrets sign after the rotation, want 2", n)
	}
	s.Clock.GoOn(time.Hour)
	if n := len(e.ActiveSecrets(s.Clock.Now())); n != 1 {
		t.Errorf("%d secrets sign after the overlap, want 1", n)
	}
	if n := len(rotate(0).Secrets); n != 1 {
		t.Errorf("without an overlap %d secrets are left, want 1", n)
	}
}

func TestAnAddressIsJudgedBeforeAnythingIsStored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.resolver.refuses = "nowhere"
	for _, url := range []string{"https://10.0.0.1/x", "ftp://shop.example.com", "https://nowhere.example.com"} {
		_, err := s.webhooks.Create(t.Context(), s.request(), form(func(f *webhooks.Form) { f.URL = url }), showSecret)
		isCode(t, err, domain.CodeWebhookURLNotAllowed)
	}
	if want := []string{"https://nowhere.example.com"}; !slices.Equal(s.resolver.asked, want) {
		t.Errorf("looked up %v, want %v: what the rules refuse needs no look", s.resolver.asked, want)
	}
	id := s.add().Endpoint.ID
	_, err := s.webhooks.Change(t.Context(), s.request(), id, func() (domain.WebhookEndpointChange, error) {
		return domain.WebhookEndpointChange{URL: new("https://nowhere.example.com")}, nil
	}, showChanged)
	isCode(t, err, domain.CodeWebhookURLNotAllowed)
	asked := len(s.resolver.asked)
	s.change(id, domain.WebhookEndpointChange{Description: new("No address in it")})
	if len(s.resolver.asked) != asked {
		t.Error("a change without an address looked one up")
	}
}

func TestAnApplicationHasSixteenEndpointsListenersIncluded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for range domain.MaxWebhookEndpoints - 1 {
		s.add()
	}
	listener := s.listen()
	_, err := s.webhooks.Create(t.Context(), s.request(), form(), showSecret)
	isCode(t, err, domain.CodeWebhookEndpointLimit)
	_, err = s.listeners.Create(t.Context(), s.request(), allTypes, showSecret)
	isCode(t, err, domain.CodeWebhookEndpointLimit)
	if _, err := s.listeners.Delete(t.Context(), s.request(), listener, showEndpoint); err != nil {
		t.Fatal(err)
	}
	s.add() // takes its place
	other := s.tenant
	other.Environment = domain.Live
	if _, err := s.webhooks.Create(t.Context(), stage.Key(other, "endpoint-0001", 1), form(), showSecret); err != nil {
		t.Errorf("the other environment has its own: %v", err)
	}
}

func TestOnlyItsApplicationFindsAnEndpointAndItsWebhooks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	webhook := s.send(id).ID
	elsewhere := s.tenant
	elsewhere.Environment = domain.Live
	for name, tenant := range map[string]domain.Tenant{
		"the application in the other environment": elsewhere,
		"another application of the business":      s.NewApplication(t, s.tenant),
		"another business":                         s.NewTenant(t),
	} {
		ctx, req := t.Context(), stage.Key(tenant, "", 0)
		_, got := s.webhooks.Get(ctx, tenant, id)
		_, change := s.webhooks.Change(ctx, req, id, func() (domain.WebhookEndpointChange, error) {
			return domain.WebhookEndpointChange{}, nil
		}, showChanged)
		_, deleted := s.webhooks.Delete(ctx, req, id, showEndpoint)
		_, rotate := s.webhooks.Rotate(ctx, req, id, func() (time.Duration, error) { return 0, nil }, showSecret)
		_, test := s.webhooks.Test(ctx, req, id, showWebhook)
		_, listed := s.webhooks.Deliveries(ctx, tenant, id, domain.WebhookDeliveryFilter{}, domain.PageRequest{Limit: 1})
		_, one := s.webhooks.Delivery(ctx, tenant, webhook)
		_, attempts := s.webhooks.Attempts(ctx, tenant, webhook)
		_, redeliver := s.webhooks.Redeliver(ctx, req, webhook, showWebhook)
		_, recovered := s.webhooks.Recover(ctx, req, id, since(s.Clock.Now().Add(-time.Hour)), showRecovered)
		for what, err := range map[string]error{
			"get": got, "change": change, "delete": deleted, "rotate": rotate, "test": test, "deliveries": listed,
			"delivery": one, "attempts": attempts, "redeliver": redeliver, "recover": recovered,
		} {
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: %s answers %v", name, what, err)
			}
		}
		if all, err := s.webhooks.List(ctx, tenant, domain.PageRequest{Limit: 10}); err != nil || len(all) != 0 {
			t.Errorf("%s lists %v, %v", name, all, err)
		}
	}
}

func TestAChangeThatChangesNothingLeavesTheTimeAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	made := s.add().Endpoint
	same := s.change(made.ID, domain.WebhookEndpointChange{URL: &made.URL, Enabled: new(true)})
	if !same.UpdatedAt.Equal(made.UpdatedAt) {
		t.Errorf("updated_at went from %v to %v", made.UpdatedAt, same.UpdatedAt)
	}
	if other := s.change(made.ID, domain.WebhookEndpointChange{Description: new("Orders")}); !other.UpdatedAt.After(made.UpdatedAt) ||
		other.Description != "Orders" {
		t.Errorf("changed to %+v", other)
	}
}

func TestDisablingHoldsAndEnablingStartsAfresh(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	pending := s.send(id).ID
	off := s.change(id, domain.WebhookEndpointChange{Enabled: new(false)})
	if off.Enabled || off.Disabled != domain.DisabledByCaller {
		t.Errorf("disabled, it is %+v", off)
	}
	s.standsAt(pending, domain.WebhookHeld)
	_, err := s.webhooks.Test(t.Context(), s.request(), id, showWebhook)
	if e := isCode(t, err, domain.CodeWebhookEndpointDisabled); e.Details["disabled_reason"] != "by_caller" {
		t.Errorf("the details are %v", e.Details)
	}
	_, err = s.webhooks.Redeliver(t.Context(), s.request(), pending, showWebhook)
	isCode(t, err, domain.CodeWebhookEndpointDisabled)
	_, err = s.webhooks.Recover(t.Context(), s.request(), id, since(s.Clock.Now().Add(-time.Hour)), showRecovered)
	isCode(t, err, domain.CodeWebhookEndpointDisabled)

	if on := s.change(id, domain.WebhookEndpointChange{Enabled: new(true)}); !on.Enabled || on.Disabled != "" ||
		on.Health != (domain.WebhookHealth{}) {
		t.Errorf("enabled, it is %+v", on)
	}
	s.standsAt(pending, domain.WebhookHeld) // until it is asked for
}

func TestADeletedEndpointIsGoneWithItsLog(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	webhook := s.send(id).ID
	key := stage.Key(s.tenant, "deletion-0001", 1)
	first, err := s.webhooks.Delete(t.Context(), key, id, showEndpoint)
	if last := read[shown](t, first, err).Endpoint; last.ID != id || !last.Enabled {
		t.Errorf("its last state is %+v", last)
	}
	if again, err := s.webhooks.Delete(t.Context(), key, id, showEndpoint); err != nil || !again.Replayed || !stage.SameAnswer(first, again) {
		t.Errorf("the replay is %v %+v", err, again)
	}
	if _, err := s.webhooks.Delete(t.Context(), s.request(), id, showEndpoint); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("deleting it again answers %v", err)
	}
	if _, err := s.webhooks.Delivery(t.Context(), s.tenant, webhook); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("what was sent to it is still read: %v", err)
	}
}

func TestAListenerIsNoEndpointAndAnEndpointNoListener(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	listener, endpoint := s.listen(), s.add().Endpoint.ID
	if _, err := s.webhooks.Get(t.Context(), s.tenant, listener); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a listener is read as an endpoint: %v", err)
	}
	if _, err := s.webhooks.Delete(t.Context(), s.request(), listener, showEndpoint); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a listener is deleted as an endpoint: %v", err)
	}
	if _, err := s.listeners.Delete(t.Context(), s.request(), endpoint, showEndpoint); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an endpoint is deleted as a listener: %v", err)
	}
	if _, err := s.listeners.Report(t.Context(), s.tenant, endpoint, nil); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an endpoint is fetched from: %v", err)
	}
	if all, err := s.webhooks.List(t.Context(), s.tenant, domain.PageRequest{Limit: 10}); err != nil || len(all) != 1 ||
		all[0].ID != endpoint {
		t.Errorf("listed are %+v, %v", all, err)
	}
}

func (s *scene) standsAt(id domain.ID, want domain.WebhookStatus) domain.WebhookDelivery {
	s.t.Helper()
	d, err := s.webhooks.Delivery(context.Background(), s.tenant, id)
	if err != nil || d.Status != want {
		s.t.Errorf("webhook %s is %s, %v, want %s", id, d.Status, err, want)
	}
	return d
}
