package mails_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// member invites a person, who signs in.
func (s *scene) member(t *testing.T, email, role string) {
	t.Helper()
	i, err := s.directory.Invite(t.Context(), command, people.Invitation{BusinessID: s.business, Email: email, Name: role, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.access.Enter(t.Context(), people.Browser{}, i.Secret); err != nil {
		t.Fatal(err)
	}
}

// told empties the outbox, and returns which expiring keys each person was told
// of.
func (s *scene) told(t *testing.T) (all []string) {
	t.Helper()
	for _, l := range s.all(t) {
		if l.Kind == domain.MailKeyExpires {
			all = append(all, fmt.Sprint(l.To, " ", l.KeyID))
		}
	}
	slices.Sort(all)
	return all
}

func TestEachOwnerAndDeveloperIsToldOnceOfEachKeyThatExpiresSoon(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.member(t, "ama@example.com", "owner")
	s.member(t, "kofi@example.com", "developer")
	s.member(t, "efua@example.com", "viewer")
	tenants, app := s.shop(t)
	const day = 24 * time.Hour
	key := func(lives time.Duration) domain.ID {
		t.Helper()
		var lifetime *time.Duration // nil: it does not expire
		if lives != 0 {
			lifetime = &lives
		}
		k, err := tenants.IssueKey(t.Context(), command, app, domain.Live, domain.AllScopes(), lifetime)
		if err != nil {
			t.Fatal(err)
		}
		return k.ID
	}
	soon, later, revoked, late := key(30*day), key(30*day+time.Minute), key(30*day), key(30*day)
	key(0)
	if _, err := tenants.RevokeKey(t.Context(), command, revoked); err != nil {
		t.Fatal(err)
	}
	tell := func(want ...string) {
		t.Helper()
		for range 2 { // by two processes, say
			if err := s.sender.TellExpiring(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(want)
		if got := s.told(t); !slices.Equal(got, want) {
			t.Errorf("told are %v, want %v", got, want)
		}
	}
	tell()
	s.Clock.GoOn(23*day - time.Second)
	tell()
	s.Clock.GoOn(time.Second)
	key(6 * day) // the mail about its making says enough
	if err := s.sender.TellExpiring(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tenants.RevokeKey(t.Context(), command, late); err != nil { // before its mail is sent
		t.Fatal(err)
	}
	tell(fmt.Sprint("ama@example.com ", soon), fmt.Sprint("kofi@example.com ", soon))
	s.Clock.GoOn(time.Minute)
	tell(fmt.Sprint("ama@example.com ", later), fmt.Sprint("kofi@example.com ", later))
	s.Clock.GoOn(8 * day)
	tell()
}

func TestEachOwnerAndDeveloperIsToldOnceOfAnEndpointBeforeItIsDisabled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.member(t, "ama@example.com", "owner")
	s.member(t, "kofi@example.com", "developer")
	s.member(t, "efua@example.com", "viewer")
	_, app := s.shop(t)
	began := s.Clock.Now()
	e := sample.WebhookEndpoint(domain.Tenant{BusinessID: s.business, ApplicationID: app, Environment: domain.Live},
		func(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{Failures: 12, FailingSince: &began} })
	s.Write(t, func(ctx context.Context, tx ports.Stores) (err error) {
		e, err = tx.Webhooks.InsertEndpoint(ctx, e)
		return err
	})
	health := func(h domain.WebhookHealth) {
		t.Helper()
		e.Health = h
		s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.Webhooks.UpdateEndpoint(ctx, e) })
	}
	want := func(when string, n int) {
		t.Helper()
		if err := s.sender.TellFailing(t.Context()); err != nil {
			t.Fatal(err)
		}
		var to []string
		for _, l := range s.all(t) {
			if l.Kind == domain.MailEndpointFailing {
				to = append(to, string(l.To))
				if l.Endpoint != e.ID || l.Until == nil || !l.Until.Equal(domain.Millis(e.Health.DisabledFrom())) || l.Host != e.Host() {
					t.Errorf("the letter has %+v", l)
				}
			}
		}
		if slices.Sort(to); len(to) != n || n > 0 && (to[0] != "ama@example.com" || to[1] != "kofi@example.com") {
			t.Errorf("%s: told are %v, want %d", when, to, n)
		}
	}
	want("at once", 0)
	s.Clock.GoOn(domain.WarnAfter)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		_, err := tx.Sending.Pause(ctx, domain.SendingPause{Environment: domain.Live, Since: s.Clock.Now(), By: "Kofi", Reason: "Flooded"})
		return err
	})
	want("while people have paused the sending", 0)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		_, err := tx.Sending.Resume(ctx, domain.Live, s.Clock.Now())
		return err
	})
	health(e.Health) // resuming began the time anew
	want("a day later", 2)
	s.Clock.GoOn(time.Hour)
	want("once more", 0)
	health(domain.WebhookHealth{})
	want("when it has recovered", 0)
	again := s.Clock.Now()
	health(domain.WebhookHealth{Failures: 1, FailingSince: &again})
	s.Clock.GoOn(domain.WarnAfter)
	want("another time", 2)
	third := s.Clock.Now()
	health(domain.WebhookHealth{Failures: 1, FailingSince: &third})
	s.Clock.GoOn(domain.WarnAfter)
	if err := s.sender.TellFailing(t.Context()); err != nil {
		t.Fatal(err)
	}
	health(domain.WebhookHealth{})
	want("where it recovers before the mail is sent", 0)
}
