package webhooks_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/audit"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

func (s *scene) inboxes() *webhooks.Inboxes {
	return webhooks.NewInboxes(s.listeners, audit.New(s.Store, s.Clock, s.ids), slog.New(slog.DiscardHandler))
}

// opened returns inboxes. That of an application is open.
func (s *scene) opened(tenants ...domain.Tenant) *webhooks.Inboxes {
	s.t.Helper()
	all := s.inboxes()
	for _, t := range tenants {
		if err := all.Open(s.t.Context(), domain.AuditActor{ID: s.ids.ID(domain.PrefixPerson), BusinessID: t.BusinessID}, t); err != nil {
			s.t.Fatal(err)
		}
	}
	return all
}

// publishFor makes an event of an application.
func (s *scene) publishFor(t domain.Tenant) domain.ID {
	s.t.Helper()
	event := domain.FeedEvent{ID: s.ids.ID(domain.PrefixEvent), Type: domain.EventEndpointDisabled, OccurredAt: s.Clock.Now(),
		Payload: []byte(`{"of":"` + string(t.ApplicationID) + `"}`)}
	s.Write(s.t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Webhooks.Publish(ctx, domain.WebhookEndpoint{ID: "whe_00000000000000000000000000000000", Tenant: t}, event)
	})
	return event.ID
}

// awaitEvent waits until a watch has seen an event.
func awaitEvent(t *testing.T, w *webhooks.InboxWatch, event domain.ID) webhooks.InboxNews {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for version := 0; ; {
		news, err := w.Next(ctx, version)
		if err != nil {
			t.Fatalf("the event %s did not come: %v", event, err)
		}
		for _, got := range news.Webhooks {
			if got.EventID == event {
				return news
			}
		}
		version = news.Version
	}
}

func TestAnInboxShowsWhatAReceiverGets(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	inboxes := s.inboxes()
	if seen, err := inboxes.Look(t.Context(), s.tenant, false); err != nil || seen.Open {
		t.Fatalf("nobody opened it, and it is %+v, %v", seen, err)
	}
	if seen, err := inboxes.Look(t.Context(), s.tenant, true); err != nil || seen.Open {
		t.Fatalf("looked at, it is %+v, %v", seen, err)
	}
	s.opened(s.tenant)
	if seen, err := inboxes.Look(t.Context(), s.tenant, true); err != nil || !seen.Open || len(seen.Webhooks) != 0 {
		t.Fatalf("opened: %+v, %v", seen, err)
	}
	event := s.publishFor(s.tenant)
	for range 2 { // a reload shows the same
		seen, err := inboxes.Look(t.Context(), s.tenant, false)
		if err != nil || len(seen.Webhooks) != 1 || seen.Webhooks[0].EventID != event {
			t.Fatalf("%+v, %v", seen, err)
		}
		w := seen.Webhooks[0]
		secret, err := s.sealer.Derive("listener/" + string(s.tenant.ApplicationID) + "/sandbox")
		if err != nil {
			t.Fatal(err)
		}
		want := domain.SignWebhook([][]byte{secret[:]}, event, w.At, w.Body)
		if w.Header[domain.HeaderWebhookSignature] != want || w.Header[domain.HeaderWebhookTimestamp] != strconv.FormatInt(w.At.Unix(), 10) ||
			w.Header[domain.HeaderWebhookID] != string(event) || w.Header[domain.HeaderWebhookAttempt] != "1" {
			t.Errorf("the headers are %v, want the signature %s", w.Header, want)
		}
		s.standsAt(w.ID, domain.WebhookSucceeded)
	}
}

// Inboxes of two processes share one listener, and both show what either received.
func TestTwoProcessesShareOneInboxAndMissNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		here, there := s.opened(s.tenant).Watch(s.tenant, true), s.opened(s.tenant).Watch(s.tenant, true)
		defer here.Close()
		defer there.Close()
		for _, w := range []*webhooks.InboxWatch{here, there} {
			if news, err := w.Next(t.Context(), 0); err != nil || !news.Open {
				t.Fatalf("%+v, %v", news, err)
			}
		}
		for range 5 {
			event := s.publishFor(s.tenant)
			awaitEvent(t, here, event)
			awaitEvent(t, there, event)
		}
		all, err := s.Store.Read().Webhooks.Listeners(t.Context(), s.tenant)
		if err != nil || len(all) != 1 {
			t.Errorf("there are %d listeners, %v", len(all), err)
		}
	})
}

func TestAnInboxHasNothingOfAnotherApplication(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		other := s.NewTenant(t)
		sibling := s.NewApplication(t, s.tenant)
		inboxes := s.opened(s.tenant, other, sibling)
		for _, tenant := range []domain.Tenant{s.tenant, other, sibling} {
			w := inboxes.Watch(tenant, true)
			defer w.Close()
			if _, err := w.Next(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			for _, of := range []domain.Tenant{s.tenant, other, sibling} {
				s.publishFor(of)
			}
			mine := s.publishFor(tenant)
			for _, got := range awaitEvent(t, w, mine).Webhooks {
				if !strings.Contains(string(got.Body), string(tenant.ApplicationID)) {
					t.Errorf("the inbox of %s has %s", tenant.ApplicationID, got.Body)
				}
			}
		}
	})
}

func TestWithoutAPlaceAmongTheEndpointsTheInboxSaysSo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for range domain.MaxWebhookEndpoints {
		s.listen()
	}
	err := s.inboxes().Open(t.Context(), domain.AuditActor{ID: s.ids.ID(domain.PrefixPerson), BusinessID: s.tenant.BusinessID}, s.tenant)
	if !domain.HasCode(err, domain.CodeWebhookEndpointLimit) {
		t.Errorf("%v", err)
	}
}

func TestAWatchOpensNoInboxAndSeesItWhenItIsOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		inboxes := s.inboxes()
		reading := inboxes.Watch(s.tenant, false)
		defer reading.Close()
		news, err := reading.Next(t.Context(), 0)
		if err != nil || news.Open {
			t.Fatalf("%+v, %v", news, err)
		}
		if all, err := s.Store.Read().Webhooks.Listeners(t.Context(), s.tenant); err != nil || len(all) != 0 {
			t.Fatalf("it opened %+v, %v", all, err)
		}
		keeping := inboxes.Watch(s.tenant, true)
		defer keeping.Close()
		if news, err := keeping.Next(t.Context(), 0); err != nil || news.Open {
			t.Fatalf("a watch that keeps it open: %+v, %v", news, err)
		}
		s.opened(s.tenant)
		if opened, err := reading.Next(t.Context(), news.Version); err != nil || !opened.Open {
			t.Fatalf("%+v, %v", opened, err)
		}
		awaitEvent(t, reading, s.publishFor(s.tenant))
	})
}

func TestAnInboxHoldsNoMoreThanItShows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		inboxes := s.opened(s.tenant)
		w := inboxes.Watch(s.tenant, true)
		defer w.Close()
		if _, err := w.Next(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		last := domain.ID("")
		for range webhooks.InboxRows + 20 {
			last = s.publishFor(s.tenant)
		}
		if n := len(awaitEvent(t, w, last).Webhooks); n != webhooks.InboxRows {
			t.Errorf("it holds %d", n)
		}
		if seen, err := inboxes.Look(t.Context(), s.tenant, true); err != nil || len(seen.Webhooks) != webhooks.FirstInboxRows ||
			seen.Webhooks[0].EventID != last {
			t.Errorf("a page shows %d, %v", len(seen.Webhooks), err)
		}
	})
}
