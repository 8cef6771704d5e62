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

func since(t time.Time) func() (webhooks.Span, error) {
	return func() (webhooks.Span, error) { return webhooks.Span{Since: t}, nil }
}

func showRecovered(r webhooks.Recovered) domain.Answer { return render(202, r) }

func (s *scene) recover(endpoint domain.ID, span webhooks.Span) webhooks.Recovered {
	s.t.Helper()
	r, err := s.webhooks.Recover(s.t.Context(), s.request(), endpoint, func() (webhooks.Span, error) { return span, nil }, showRecovered)
	return read[webhooks.Recovered](s.t, r, err)
}

func TestTenTestsAMinuteAndTheEleventhWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id, other := s.add().Endpoint.ID, s.add().Endpoint.ID
	first := s.send(id)
	if first.EventType != domain.EventEndpointTest || first.Status != domain.WebhookPending || first.Trigger != domain.TriggerTest {
		t.Errorf("a test is %+v", first)
	}
	s.Clock.GoOn(30 * time.Second)
	for range domain.MaxWebhookTests - 1 {
		s.send(id)
	}
	_, err := s.webhooks.Test(t.Context(), s.request(), id, showWebhook)
	e := isCode(t, err, domain.CodeRateLimitExceeded)
	if e.Kind != domain.KindLimited || e.RetryAfter != 30*time.Second || e.Details["scope"] != "endpoint" {
		t.Errorf("refused with %+v, want 30 s to wait", e)
	}
	s.send(other) // has its own webhook
	s.Clock.GoOn(e.RetryAfter)
	s.send(id)
	_, err = s.webhooks.Test(t.Context(), s.request(), id, showWebhook)
	isCode(t, err, domain.CodeRateLimitExceeded)
}

func TestATestIsTriedOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	webhook := s.send(id).ID
	s.attempt(id, serverError)
	if d := s.standsAt(webhook, domain.WebhookFailed); d.Attempts != 1 {
		t.Errorf("after a failure it is %+v", d)
	}
}

func TestARedeliveryLeavesTheOutcomeUnlessItArrives(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	webhook := s.send(id).ID
	s.attempt(id, serverError)
	redeliver := func() domain.WebhookDelivery {
		t.Helper()
		r, err := s.webhooks.Redeliver(t.Context(), s.request(), webhook, showWebhook)
		return read[domain.WebhookDelivery](t, r, err)
	}
	if d := redeliver(); d.Status != domain.WebhookPending || d.Trigger != domain.TriggerManual {
		t.Errorf("it is %+v", d)
	}
	redeliver() // a second request changes nothing
	s.attempt(id, serverError)
	if d := s.standsAt(webhook, domain.WebhookFailed); d.Attempts != 2 {
		t.Errorf("after another failure it is %+v", d)
	}
	redeliver()
	s.attempt(id, tookIt)
	s.standsAt(webhook, domain.WebhookSucceeded)
	by := domain.AuditActor{Name: "Dispatch"}
	if d, err := s.webhooks.Resend(t.Context(), by, s.tenant, webhook); err != nil || d.Status != domain.WebhookPending {
		t.Errorf("an operator's is %+v, %v", d, err)
	}
	kept, err := s.Store.Read().Audit.List(t.Context(), domain.AuditFilter{Target: webhook}, domain.PageRequest{Limit: 10})
	if err != nil || len(kept) != 1 || kept[0].Action != domain.ActionWebhookResend || kept[0].Actor != by ||
		kept[0].BusinessID != s.tenant.BusinessID {
		t.Errorf("the audit log has %+v, %v", kept, err)
	}
	s.attempt(id, serverError)
	s.standsAt(webhook, domain.WebhookSucceeded)
	attempts, err := s.webhooks.Attempts(t.Context(), s.tenant, webhook)
	if err != nil || len(attempts) != 4 || attempts[1].Trigger != domain.TriggerManual {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
}

func TestARecoveryQueuesWhatFailedOrWasHeldWithinItsSpan(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	failed := s.send(id).ID
	s.attempt(id, serverError)
	succeeded := s.send(id).ID
	s.attempt(id, tookIt)
	s.Clock.GoOn(time.Hour)
	later := s.Clock.Now()
	held := s.send(id).ID
	s.change(id, domain.WebhookEndpointChange{Enabled: new(false)})
	s.change(id, domain.WebhookEndpointChange{Enabled: new(true)})

	if r := s.recover(id, webhooks.Span{Since: later.Add(-2 * time.Hour), Until: &later,
		Only: domain.WebhookHeld}); r != (webhooks.Recovered{}) {
		t.Errorf("recovered %+v, and nothing was held then", r)
	}
	if r := s.recover(id, webhooks.Span{Since: later}); r.Queued != 1 {
		t.Errorf("recovered %+v, want the one that was held", r)
	}
	if d := s.standsAt(held, domain.WebhookPending); d.Trigger != domain.TriggerRecover {
		t.Errorf("it is %+v", d)
	}
	_, err := s.webhooks.Recover(t.Context(), s.request(), id, since(later.Add(-2*time.Hour)), showRecovered)
	isCode(t, err, domain.CodeRecoveryRunning)
	s.attempt(id, tookIt)
	if r := s.recover(id, webhooks.Span{Since: later.Add(-2 * time.Hour)}); r.Queued != 1 {
		t.Errorf("recovered %+v, want the one that failed", r)
	}
	s.standsAt(failed, domain.WebhookPending)
	s.standsAt(succeeded, domain.WebhookSucceeded)
}

func TestARecoveryTellsWhetherThereIsMore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.webhooks.RecoverAtMost(2)
	id := s.add().Endpoint.ID
	for range 4 {
		s.send(id)
		s.attempt(id, serverError)
	}
	span := webhooks.Span{Since: s.Clock.Now().Add(-time.Hour)}
	for _, want := range []webhooks.Recovered{{Queued: 2, HasMore: true}, {Queued: 2}, {}} {
		if got := s.recover(id, span); got != want {
			t.Errorf("recovered %+v, want %+v", got, want)
		}
		s.attempt(id, tookIt)
	}
}

func TestASpanIsWithinThirtyDaysAndGoesForward(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	id := s.add().Endpoint.ID
	now := s.Clock.Now()
	for name, c := range map[string]struct {
		span  webhooks.Span
		field string // the invalid field; empty: none
	}{
		"thirty days, as the caller counted them": {webhooks.Span{Since: now.Add(-domain.RecoverableFor)}, ""},
		"older":         {webhooks.Span{Since: now.Add(-domain.RecoverableFor - time.Hour)}, "since"},
		"in the future": {webhooks.Span{Since: now.Add(time.Hour)}, "since"},
		"backwards":     {webhooks.Span{Since: now.Add(-time.Hour), Until: new(now.Add(-2 * time.Hour))}, "until"},
		"empty":         {webhooks.Span{Since: now.Add(-time.Hour), Until: new(now.Add(-time.Hour))}, "until"},
		"to the future": {webhooks.Span{Since: now.Add(-time.Hour), Until: new(now.Add(time.Hour))}, ""},
	} {
		_, err := s.webhooks.Recover(t.Context(), s.request(), id, func() (webhooks.Span, error) { return c.span, nil }, showRecovered)
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if e := isCode(t, err, domain.CodeValidation); e.Fields[0].Field != c.field || e.Fields[0].Code != domain.FieldOutOfRange {
			t.Errorf("%s: %+v", name, e.Fields)
		}
	}
}

// A caller who requests an attempt wants to see it made, not to wait for minutes.
func TestAskingForAnAttemptEndsAPause(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(s *scene, endpoint, webhook domain.ID){
		"a test":       func(s *scene, endpoint, _ domain.ID) { s.send(endpoint) },
		"a redelivery": func(s *scene, _, webhook domain.ID) { s.redeliver(webhook) },
		"a recovery": func(s *scene, endpoint, _ domain.ID) {
			s.recover(endpoint, webhooks.Span{Since: s.Clock.Now().Add(-time.Hour)})
		},
		"enabling it": func(s *scene, endpoint, _ domain.ID) {
			s.change(endpoint, domain.WebhookEndpointChange{Enabled: new(true)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			e := s.add().Endpoint
			webhook := s.send(e.ID).ID
			s.pause(e.ID, time.Hour)
			waits := func() bool {
				waiting, err := s.Store.Outbox().Waiting(t.Context(), s.Clock.Now(), 0, 10)
				if err != nil {
					t.Fatal(err)
				}
				return len(waiting) > 0
			}
			if waits() {
				t.Fatal("it is not paused")
			}
			ask(s, e.ID, webhook)
			if !waits() {
				t.Error("it is paused still")
			}
		})
	}
}

// What becomes due during the pause is attempted when the pause ends, and shown so.
func TestAPausedEndpointShowsWhenItIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	endpoint := s.add().Endpoint
	id := endpoint.ID
	failed := s.send(id).ID
	s.attempt(id, serverError)
	s.redeliver(failed)
	s.attempt(id, serverError) // outside the schedule: no attempt follows
	booked := domain.WebhookDeliveryID(s.publish(), endpoint.Slot)
	s.attempt(id, serverError) // the next one is due in 5 s
	shownAs := func() (listed, read, tried, ended *time.Time) {
		t.Helper()
		all, err := s.webhooks.Deliveries(t.Context(), s.tenant, id, domain.WebhookDeliveryFilter{}, domain.PageRequest{Limit: 10})
		one, oneErr := s.webhooks.Delivery(t.Context(), s.tenant, booked)
		attempts, attemptsErr := s.webhooks.Attempts(t.Context(), s.tenant, booked)
		done, doneErr := s.webhooks.Attempts(t.Context(), s.tenant, failed)
		if err := errors.Join(err, oneErr, attemptsErr, doneErr); err != nil || len(all) != 2 || len(attempts) != 1 || len(done) != 2 {
			t.Fatalf("%v; %d webhooks, %d and %d attempts", err, len(all), len(attempts), len(done))
		}
		if all[0].ID != booked {
			all[0], all[1] = all[1], all[0]
		}
		if all[1].DueAt != nil {
			t.Errorf("what failed is due at %v", all[1].DueAt)
		}
		return all[0].DueAt, one.DueAt, attempts[0].NextAt, done[1].NextAt
	}
	wantAll := func(name string, want time.Time) {
		t.Helper()
		listed, read, tried, ended := shownAs()
		if !want.Equal(*listed) || !want.Equal(*read) || !want.Equal(*tried) || ended != nil {
			t.Errorf("%s: listed %v, read %v, after its attempt %v, want %v; what has ended: %v", name, listed, read, tried, want, ended)
		}
	}
	stored, err := s.Store.Read().Webhooks.Delivery(t.Context(), s.tenant, booked)
	if err != nil {
		t.Fatal(err)
	}
	due := *stored.DueAt
	wantAll("healthy", due)
	s.pause(id, 3*time.Second)
	wantAll("the pause is the shorter one", due)
	until := s.pause(id, 30*time.Second)
	wantAll("the pause is the longer one", until)
	s.Clock.GoOn(20 * time.Second) // it has been due for long
	wantAll("paused still", until)
}

// pause opens the circuit of an endpoint for a time.
func (s *scene) pause(endpoint domain.ID, lasting time.Duration) (until time.Time) {
	s.t.Helper()
	until = s.Clock.Now().Add(lasting)
	s.Write(s.t, func(ctx context.Context, tx ports.Stores) error {
		e, err := tx.Webhooks.LockEndpoint(ctx, s.tenant, endpoint)
		if err != nil {
			return err
		}
		e.Health = domain.WebhookHealth{Failures: 10, FailingSince: new(s.Clock.Now()), OpenUntil: &until, Opened: 1}
		return tx.Webhooks.UpdateEndpoint(ctx, e)
	})
	return until
}

func (s *scene) redeliver(webhook domain.ID) {
	s.t.Helper()
	r, err := s.webhooks.Redeliver(s.t.Context(), s.request(), webhook, showWebhook)
	read[domain.WebhookDelivery](s.t, r, err)
}
