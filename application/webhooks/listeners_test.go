package webhooks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

func allTypes() ([]string, error) { return []string{domain.AllEvents}, nil }

func (s *scene) listen() domain.ID {
	s.t.Helper()
	r, err := s.listeners.Create(s.t.Context(), s.request(), allTypes, showSecret)
	return read[shown](s.t, r, err).Endpoint.ID
}

// publish makes an event for all endpoints of the application.
func (s *scene) publish() domain.ID {
	s.t.Helper()
	event := domain.FeedEvent{ID: s.ids.ID(domain.PrefixEvent), Type: domain.EventEndpointDisabled, OccurredAt: s.Clock.Now(),
		Payload: []byte(`{}`)}
	s.Write(s.t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Webhooks.Publish(ctx, domain.WebhookEndpoint{ID: "whe_00000000000000000000000000000000", Tenant: s.tenant}, event)
	})
	return event.ID
}

// fetch reports results, and returns what is due without waiting.
func (s *scene) fetch(id domain.ID, results ...webhooks.ListenerResult) []webhooks.FetchedWebhook {
	s.t.Helper()
	e, err := s.listeners.Report(s.t.Context(), s.tenant, id, results)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel()
	fetched, err := s.listeners.Await(ctx, e)
	if err != nil {
		s.t.Fatal(err)
	}
	return fetched
}

func TestWhatAListenerFetchedComesAgainUntilItsResultIsTold(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.listen()
	if got := s.fetch(id); len(got) != 0 {
		t.Fatalf("fetched %+v, and nothing has happened", got)
	}
	event := s.publish()
	first := s.fetch(id)
	if len(first) != 1 || first[0].EventID != event || first[0].Header[domain.HeaderWebhookAttempt] != "1" || string(first[0].Body) != "{}" {
		t.Fatalf("fetched %+v", first)
	}
	if again := s.fetch(id); len(again) != 1 || again[0].ID != first[0].ID {
		t.Errorf("before its result is told, fetched %+v", again)
	}
	told := webhooks.ListenerResult{DeliveryID: first[0].ID, Attempt: 1, Result: domain.WebhookResult{StatusCode: 200,
		Duration: 7 * time.Millisecond}}
	if rest := s.fetch(id, told, told); len(rest) != 0 {
		t.Errorf("afterwards, fetched %+v", rest)
	}
	s.fetch(id, told) // a call without an answer is retried
	attempts, err := s.webhooks.Attempts(t.Context(), s.tenant, first[0].ID)
	if err != nil || len(attempts) != 1 || attempts[0].Result.StatusCode != 200 || attempts[0].Result.Duration != 7*time.Millisecond {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
	s.standsAt(first[0].ID, domain.WebhookSucceeded)
}

func TestWhatAListenerCouldNotDeliverComesAgainByTheSchedule(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.listen()
	s.publish()
	webhook := s.fetch(id)[0].ID
	refused := webhooks.ListenerResult{DeliveryID: webhook, Result: domain.WebhookResult{Error: domain.ErrorRefused}}
	if rest := s.fetch(id, refused); len(rest) != 0 {
		t.Errorf("at once, fetched %+v", rest)
	}
	s.Clock.GoOn(7 * time.Second) // 5 s and a fifth
	again := s.fetch(id)
	if len(again) != 1 || again[0].Attempts != 1 || again[0].Header[domain.HeaderWebhookAttempt] != "2" {
		t.Fatalf("later, fetched %+v", again)
	}
	stale := refused
	stale.Attempt = 1
	s.fetch(id, stale) // names an attempt that was reported already: skipped
	if d := s.standsAt(webhook, domain.WebhookPending); d.Attempts != 1 {
		t.Errorf("a result that was told before counts again: %+v", d)
	}
}

func TestAListenerTellsNothingAboutOthers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id, endpoint := s.listen(), s.add().Endpoint.ID
	theirs := s.send(endpoint).ID
	s.fetch(id, webhooks.ListenerResult{DeliveryID: theirs, Result: tookIt}, webhooks.ListenerResult{DeliveryID: "", Result: tookIt},
		webhooks.ListenerResult{DeliveryID: "whd_00000000000000000000000000000000", Result: tookIt})
	s.standsAt(theirs, domain.WebhookPending)
}

func TestAListenerGetsSixteenAtATime(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.listen()
	for range 20 {
		s.publish()
	}
	first := s.fetch(id)
	if len(first) != 16 {
		t.Fatalf("fetched %d", len(first))
	}
	var results []webhooks.ListenerResult
	for _, f := range first {
		results = append(results, webhooks.ListenerResult{DeliveryID: f.ID, Result: tookIt})
	}
	if rest := s.fetch(id, results...); len(rest) != 4 {
		t.Errorf("then fetched %d, want the 4 that are left", len(rest))
	}
}

func TestAListenerThatIsGoneIsNotFound(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.listen()
	if _, err := s.listeners.Delete(t.Context(), s.request(), id, showEndpoint); err != nil {
		t.Fatal(err)
	}
	if _, err := s.listeners.Report(t.Context(), s.tenant, id, nil); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("fetching from it answers %v", err)
	}
	if _, err := s.listeners.Get(t.Context(), s.tenant, id); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("it is read: %v", err)
	}
}

func TestTheSecretOfListenersIsTheApplicationsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	secretOf := func(tenant domain.Tenant) string {
		s.tenant = tenant
		r, err := s.listeners.Create(s.t.Context(), s.request(), allTypes, showSecret)
		return read[shown](s.t, r, err).Secret
	}
	one, sibling := s.tenant, s.NewApplication(t, s.tenant)
	first, again, other := secretOf(one), secretOf(one), secretOf(sibling)
	if first == "" || first != again {
		t.Errorf("the secrets of two listeners of an application are %q and %q, want one", first, again)
	}
	if first == other {
		t.Error("another application has the same secret")
	}
}
