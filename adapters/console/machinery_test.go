package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/application/monitoring"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

// redis is a queue that answers, hangs, or is gone.
type redis struct {
	hangs, gone, panics bool
	dead                []domain.DeadTask
	changed             []string
}

func (r *redis) State(ctx context.Context) (domain.QueueState, error) {
	switch {
	case r.hangs:
		select {} // whatever becomes of ctx
	case r.gone:
		return domain.QueueState{}, errors.New("connection refused")
	case r.panics:
		panic("a fault")
	}
	return domain.QueueState{Product: "Redis", Version: "8.0", Eviction: "allkeys-lru", Memory: 1 << 20,
		Queues: []domain.JobQueue{{Job: "webhook", Pending: 3, Archived: len(r.dead)}}}, nil
}

func (r *redis) Dead(context.Context, int) ([]domain.DeadTask, error) { return r.dead, nil }

func (r *redis) Retry(_ context.Context, job, id string) error {
	r.changed = append(r.changed, "retry "+job+" "+id)
	return nil
}

func (r *redis) Drop(_ context.Context, job, id string) error {
	r.changed = append(r.changed, "drop "+job+" "+id)
	return nil
}

func init() {
	furnish = append(furnish, furnishMachinery)
	equip = append(equip, func(_ *testing.T, s *scene, u *console.UseCases) {
		u.Machinery = monitoring.NewMachinery(s.Store, s.queue, s.Clock, s.IDs)
		u.Endpoints = webhooks.NewEndpoints(s.Store, s.hooks, s.Clock, s.IDs)
	})
	repair := func(form ...string) row { return row{may: admins, form: sent(form...)} }
	read := row{may: everybody}
	add(map[string]row{
		"GET /webhooks": read, "GET /webhooks/pause": read,
		"POST /webhooks/pause": repair("environment", "live", "reason", "The network is down"),
		"GET /webhooks/resume": read, "POST /webhooks/resume": repair("environment", "live"),
		"GET /webhooks/:endpoint": read, "GET /webhooks/:endpoint/pause": read, "POST /webhooks/:endpoint/pause": repair("reason", "Their server is down"),
		"GET /webhooks/:endpoint/resume": read, "POST /webhooks/:endpoint/resume": repair(),
		"GET /webhooks/:endpoint/sent/:sent/resend": read, "POST /webhooks/:endpoint/sent/:sent/resend": repair(),
		"GET /queues": read, "GET /queues/mails/:mail/retry": read, "POST /queues/mails/:mail/retry": repair(),
		"GET /queues/mails/:mail/drop": read, "POST /queues/mails/:mail/drop": repair(),
		"GET /queues/tasks/retry": read, "POST /queues/tasks/retry": repair("job", "webhook", "task", "whe_1:0"),
		"GET /queues/tasks/drop": read, "POST /queues/tasks/drop": repair("job", "webhook", "task", "whe_1:0"),
	})
	states = append(states, []state{
		{name: "webhooks", role: domain.RoleAdmin, path: "/webhooks", heading: "Webhooks"},
		{name: "webhooks-paused", role: domain.RoleAdmin, path: "/webhooks/pause", heading: "Pause sending", before: pauseLive},
		{name: "home-paused", role: domain.RoleViewer, path: "/", heading: "Kofi viewer", before: pauseLive},
		{name: "webhook", role: domain.RoleAdmin, path: "/webhooks/:endpoint", heading: "Webhook endpoint"},
		{name: "queues", role: domain.RoleAdmin, path: "/queues", heading: "Queues"},
		{name: "queues-no-redis", role: domain.RoleAdmin, path: "/queues", heading: "Queues", before: func(_ *testing.T, s *scene) {
			s.queue.gone = true
		}},
	}...)
}

func furnishMachinery(t *testing.T, s *scene) {
	t.Helper()
	s.queue = &redis{dead: []domain.DeadTask{{Job: "webhook", ID: "whe_1:0", Of: "whe_1", Cause: "the lease expired", At: s.Clock.Now()}}}
	s.hooks = webhooks.New(s.Store, nil, nil, nil, stage.Renderer{}, s.Clock, s.IDs, false) // no secret is read, nothing sent
	since := s.Clock.Now().Add(-time.Hour)
	e := sample.WebhookEndpoint(domain.Tenant{BusinessID: s.business.ID, ApplicationID: s.app.ID, Environment: domain.Live},
		func(e *domain.WebhookEndpoint) {
			e.URL, e.Health = "https://hooks.adom.example/waybill?token=their-secret", domain.WebhookHealth{Failures: 3, FailingSince: &since}
		})
	s.Write(t, func(ctx context.Context, tx ports.Stores) (err error) {
		if e, err = tx.Webhooks.InsertEndpoint(ctx, e); err != nil {
			return err
		}
		return tx.Mails.Tell(ctx, domain.Notice{Kind: domain.MailNewDevice, Cause: s.IDs.ID(domain.PrefixSession), PersonID: s.owner.ID,
			At: s.Clock.Now(), Facts: map[string]string{domain.FactDevice: "Firefox"}})
	})
	w := sample.BookingWrite(e.Tenant, func(b *domain.Booking) { b.CreatedAt = s.Clock.Now().Add(-2 * time.Minute) })
	if err := s.Store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	s.ids[":endpoint"] = string(e.ID)
	s.ids[":sent"] = string(must[[]ports.OutgoingWebhook](t)(s.Store.Outbox().Due(t.Context(), e.ID, s.Clock.Now(), 1))[0].ID)
	now := s.Clock.Now()
	for _, m := range must[[]domain.Mail](t)(s.Store.Mails().Lease(t.Context(), ports.MailLease{Now: now, Until: now.Add(time.Minute), Limit: 100})) {
		m.State, m.SettledAt, m.LastError = domain.MailDropped, &now, ""
		if m.PersonID == s.owner.ID && m.Kind == domain.MailNewDevice {
			m.State, m.LastError = domain.MailGivenUp, "550 no such mailbox"
			s.ids[":mail"] = string(m.ID)
		}
		if err := s.Store.Mails().Settle(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	s.records = append(s.records, string(e.ID), "hooks.adom.example", s.ids[":sent"], s.ids[":mail"])
}

func pauseLive(t *testing.T, s *scene) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		_, err := tx.Sending.Pause(ctx, domain.SendingPause{Environment: domain.Live, Since: s.Clock.Now(), By: "Kofi admin",
			Reason: "The network is down"})
		return err
	})
}

// wantAudited fails unless the audit log has these actions of the admin.
func (s *scene) wantAuditedBy(t *testing.T, actions ...domain.Action) {
	t.Helper()
	admin := s.staff[domain.RoleAdmin]
	for _, a := range actions {
		found := must[[]domain.AuditEntry](t)(s.audit.Entries(t.Context(), domain.AuditFilter{ActorID: admin.ID, Action: a},
			domain.PageRequest{Limit: 5}))
		if len(found) == 0 || found[0].Actor.Name != admin.Name || found[0].Actor.RequestID == "" {
			t.Errorf("%s is not in the audit log with its person: %+v", a, found)
		}
	}
}

func TestAPauseStandsOnEveryPageOfEveryProcessWithItsPersonAndReason(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin, other := s.signedIn(t, domain.RoleAdmin), s.signedIn(t, domain.RoleViewer)
	form := url.Values{"environment": {"live"}, "reason": {"Receivers are flooded"}}
	if p := admin.post("/webhooks/pause", form); p.status != http.StatusOK || !strings.Contains(p.body, "Sending is paused") {
		t.Fatalf("%d at %s\n%s", p.status, p.at, p.body)
	}
	if p := admin.post("/webhooks/pause", form); p.status != http.StatusConflict || !strings.Contains(p.body, "already paused") {
		t.Errorf("a second pause: %d", p.status)
	}
	other.url = s.second
	for _, path := range []string{"/", "/staff", "/account", "/webhooks", "/queues"} {
		if p := other.get(path); p.status != http.StatusOK || !strings.Contains(p.body, "Sending of all live webhooks is paused") ||
			!strings.Contains(p.body, "Kofi admin") || !strings.Contains(p.body, "Receivers are flooded") {
			t.Errorf("%s: %d, without the banner", path, p.status)
		}
	}
	s.wantAuditedBy(t, domain.ActionSendingPause)
	if p := admin.post("/webhooks/resume", url.Values{"environment": {"live"}}); strings.Contains(p.body, "Sending of all live webhooks is paused") {
		t.Error("the banner stays after the resuming")
	}
	for _, reason := range []string{" ", strings.Repeat("x", 201)} {
		wrong := url.Values{"environment": {"live"}, "reason": {reason}}
		if p := admin.post("/webhooks/pause", wrong); p.status != http.StatusUnprocessableEntity ||
			!strings.Contains(p.body, `id="reason-live-error"`) {
			t.Errorf("the reason %q: %d", wrong.Get("reason"), p.status)
		}
	}
}

func TestACustomerReadsWhyStaffPausedItsEndpoint(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin, at := s.signedIn(t, domain.RoleAdmin), "/webhooks/"+s.ids[":endpoint"]
	if p := admin.post(at+"/pause", nil); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="reason-error"`) {
		t.Errorf("without a reason: %d", p.status)
	}
	admin.post(at+"/pause", url.Values{"reason": {"Your server <answers> slowly"}}).has(t, "Reason: Your server &lt;answers&gt; slowly")
	ofCustomer := s.customerAt(at)
	admin.get(ofCustomer).has(t, "Paused by "+domain.CompanyName, "Your server &lt;answers&gt; slowly.")
	for _, enabled := range []bool{true, false} { // a program resumes it, and pauses it again
		s.wait(time.Second)
		s.Write(t, func(ctx context.Context, tx ports.Stores) error {
			one, err := tx.Webhooks.LockEndpoint(ctx, s.delivery.Tenant, domain.ID(s.ids[":endpoint"]))
			if err != nil {
				return err
			}
			_, err = s.hooks.ChangeWithin(ctx, tx, one, domain.WebhookEndpointChange{Enabled: &enabled})
			return err
		})
		if p := admin.get(ofCustomer); strings.Contains(p.body, "slowly") {
			t.Errorf("enabled %t: the pause of the staff is shown after it ended", enabled)
		}
	}
}

func TestQueuesTellOfARedisThatIsGoneOrHangs(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		redis  redis
		logged string
	}{
		"gone": {redis{gone: true}, "connection refused"}, "hangs": {redis: redis{hangs: true}}, "panics": {redis{panics: true}, "a fault"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			*s.queue = of.redis
			r := s.signedIn(t, domain.RoleViewer)
			p := r.get("/queues")
			if p.status != http.StatusOK || !strings.Contains(p.body, "Redis cannot be read at the moment") ||
				!strings.Contains(p.body, "550 no such mailbox") {
				t.Errorf("%d\n%s", p.status, p.body)
			}
			if !strings.Contains(s.log.String(), of.logged) {
				t.Errorf("the log has %s, want %q", s.log.String(), of.logged)
			}
		})
	}
}

func TestWhatTheQueueGaveUpIsRepairedByAdmins(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.signedIn(t, domain.RoleAdmin)
	page := admin.get("/queues")
	for verb, want := range map[string]string{"Retry": "retry webhook whe_1:0"} {
		to, form := page.form(t, verb)
		if p := admin.post(to, form); p.status != http.StatusOK || len(s.queue.changed) != 1 || s.queue.changed[0] != want {
			t.Errorf("%s: %d, %v", verb, p.status, s.queue.changed)
		}
	}
	s.wantAuditedBy(t, domain.ActionTaskRetry)
	if p := admin.post("/queues/mails/"+s.ids[":mail"]+"/drop", nil); p.status != http.StatusOK ||
		strings.Contains(p.body, "550 no such mailbox") {
		t.Errorf("drop of a mail: %d", p.status)
	}
	if p := admin.post("/queues/mails/"+s.ids[":mail"]+"/drop", nil); p.status != http.StatusNotFound {
		t.Errorf("drop of a mail that was dropped: %d", p.status)
	}
	s.wantAuditedBy(t, domain.ActionMailDrop)
}

func TestAMailThatWasGivenUpGoesOutAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if p := s.signedIn(t, domain.RoleAdmin).post("/queues/mails/"+s.ids[":mail"]+"/retry", nil); p.status != http.StatusOK {
		t.Errorf("%d", p.status)
	}
	s.wantAuditedBy(t, domain.ActionMailRetry)
	now := s.Clock.Now()
	due := must[[]domain.Mail](t)(s.Store.Mails().Lease(t.Context(), ports.MailLease{Now: now, Until: now.Add(time.Minute), Limit: 100}))
	if !slices.ContainsFunc(due, func(m domain.Mail) bool { return string(m.ID) == s.ids[":mail"] }) {
		t.Errorf("it is not among %d mails that are due", len(due))
	}
}
