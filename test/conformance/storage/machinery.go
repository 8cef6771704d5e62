package storage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func endpointsBy(t testing.TB, b ports.Database, f domain.EndpointFilter, now time.Time) (ids []domain.ID) {
	t.Helper()
	var after *domain.EndpointPlace
	for {
		found := must(b.Read().Machinery.Endpoints(t.Context(), f, now, after, 2))(t)
		for _, e := range found {
			ids = append(ids, e.ID)
		}
		if len(found) < 2 {
			return ids
		}
		after = &domain.EndpointPlace{Standing: found[1].Standing, ID: found[1].ID}
	}
}

func testMachineryEndpoints(t *testing.T, b ports.Database) {
	now, since := sample.Now, sample.Now.Add(-time.Hour)
	failing := func(w *domain.WebhookEndpoint) { w.Health = domain.WebhookHealth{Failures: 3, FailingSince: &since} }
	one, other := newTenant(t, b), newTenant(t, b)
	off := func(reason domain.DisabledReason) func(*domain.WebhookEndpoint) {
		return func(w *domain.WebhookEndpoint) { healthy(w); w.Enabled, w.Disabled = false, reason }
	}
	at := func(url string) func(*domain.WebhookEndpoint) {
		return func(w *domain.WebhookEndpoint) { healthy(w); w.URL = url }
	}
	paused := insertEndpoint(t, b, one, off(domain.DisabledByCaller))
	gone := insertEndpoint(t, b, one, off(domain.DisabledGone))
	well := insertEndpoint(t, b, live(one), at("https://Zebra.example.com/a_b"))
	heard := insertEndpoint(t, b, one, listener)
	wantEqual(t, "Endpoint", must(b.Read().Machinery.Endpoint(t.Context(), well.ID))(t), well)
	for _, id := range []domain.ID{heard.ID, sample.ID(domain.PrefixWebhookEndpoint), "whe_1"} {
		wantError(t, "Endpoint", errorOf(b.Read().Machinery.Endpoint(t.Context(), id)), domain.ErrNotFound)
	}
	behind := insertEndpoint(t, b, other, healthy)
	bookAt(t, b, other, now.Add(-2*time.Minute))
	bookAt(t, b, other, now.Add(-time.Minute))
	ill := insertEndpoint(t, b, live(other), failing)

	all := domain.EndpointFilter{}
	wantEqual(t, "all by standing", endpointsBy(t, b, all, now), []domain.ID{ill.ID, behind.ID, gone.ID, paused.ID, well.ID})
	for what, c := range map[string]struct {
		f    domain.EndpointFilter
		want []domain.ID
	}{
		"those that need people":    {domain.EndpointFilter{Unwell: true}, []domain.ID{ill.ID, behind.ID, gone.ID}},
		"of a business":             {domain.EndpointFilter{BusinessID: one.BusinessID}, []domain.ID{gone.ID, paused.ID, well.ID}},
		"of an application":         {domain.EndpointFilter{ApplicationID: other.ApplicationID}, []domain.ID{ill.ID, behind.ID}},
		"of live":                   {domain.EndpointFilter{Environment: domain.Live}, []domain.ID{ill.ID, well.ID}},
		"of a standing":             {domain.EndpointFilter{Standing: domain.StandingPaused}, []domain.ID{paused.ID}},
		"of a host":                 {domain.EndpointFilter{Host: "ZEBRA.example"}, []domain.ID{well.ID}},
		"with a wildcard":           {domain.EndpointFilter{Host: "a%b"}, nil},
		"with another wildcard":     {domain.EndpointFilter{Host: "a_b"}, []domain.ID{well.ID}},
		"of no ID":                  {domain.EndpointFilter{BusinessID: "biz_1"}, nil},
		"of what no database keeps": {domain.EndpointFilter{Host: "a\x00"}, nil},
	} {
		wantEqual(t, what, endpointsBy(t, b, c.f, now), c.want)
	}

	webhook := must(b.Outbox().Due(t.Context(), behind.ID, now, 1))(t)[0]
	token := leaseOf(t, b, behind)
	attempt := domain.WebhookAttempt{ID: sample.ID(domain.PrefixWebhookAttempt), DeliveryID: webhook.ID, Number: 1,
		Trigger: domain.TriggerSchedule, Result: domain.WebhookResult{StatusCode: 503, Error: domain.ErrorHTTP5xx, StartedAt: now,
			Duration: time.Second, Excerpt: "no"}, NextAt: webhook.DueAt}
	d := webhook.WebhookDelivery
	d.Attempts, d.Used = 1, 1
	record(t, b, behind, token, ports.WebhookOutcome{Delivery: d, Attempt: attempt})
	release(t, b, behind, token)
	got := must(b.Read().Machinery.Endpoints(t.Context(), domain.EndpointFilter{Standing: domain.StandingBehind}, now, nil, 5))(t)
	wantEqual(t, "how many", len(got), 1)
	wantEqual(t, "what waits", got[0].Waiting, 2)
	wantEqual(t, "the oldest", got[0].Oldest, new(now.Add(-2*time.Minute)))
	wantEqual(t, "the last attempt", got[0].Last, &attempt)
	if got[0].Business == "" || got[0].Application == "" {
		t.Errorf("the names are %q and %q", got[0].Business, got[0].Application)
	}
}

func testMachineryWork(t *testing.T, b ports.Database) {
	now := sample.Now
	tenant := newTenant(t, b)
	insertEndpoint(t, b, tenant, healthy)
	insertEndpoint(t, b, live(tenant), healthy)
	bookAt(t, b, tenant, now.Add(-time.Minute))
	bookAt(t, b, tenant, now.Add(time.Hour))
	n := aNotice()
	tell(t, b, n)
	work := func() map[string]domain.Work {
		of := map[string]domain.Work{}
		for _, w := range must(b.Read().Machinery.Work(t.Context(), now))(t) {
			of[string(w.Kind)+string(w.Environment)] = w
		}
		return of
	}
	oldest := now.Add(-time.Minute)
	wantEqual(t, "Work", work(), map[string]domain.Work{
		"webhookslive":    {Kind: domain.WorkWebhooks, Environment: domain.Live},
		"webhookssandbox": {Kind: domain.WorkWebhooks, Environment: domain.Sandbox, Waiting: 2, Due: 1, Oldest: &oldest},
		"mails":           {Kind: domain.WorkMails, Waiting: 1, Due: 1, Oldest: &now},
		"stepssandbox":    {Kind: domain.WorkSteps, Environment: domain.Sandbox},
	})

	mail := leaseAll(t, b, now)[0]
	change := func(do func(tx ports.MachineryStore) (domain.Mail, error)) (m domain.Mail, err error) {
		err = b.InTx(t.Context(), func(_ context.Context, tx ports.Stores) (err error) {
			m, err = do(tx.Machinery)
			return err
		})
		return m, err
	}
	retry := func(tx ports.MachineryStore) (domain.Mail, error) {
		return tx.RetryMail(t.Context(), mail.ID, now.Add(time.Hour))
	}
	drop := func(tx ports.MachineryStore) (domain.Mail, error) { return tx.DropMail(t.Context(), mail.ID) }
	wantError(t, "RetryMail of one that waits", errorOf(change(retry)), domain.ErrNotFound)
	settle(t, b, mail, domain.MailGivenUp)
	wantEqual(t, "given up", work()["mails"].GivenUp, 1)
	wantEqual(t, "GivenUpMails", must(b.Read().Machinery.GivenUpMails(t.Context(), 5))(t)[0].ID, mail.ID)
	again, err := change(retry)
	if err != nil || again.State != domain.MailWaiting || !again.ExpiresAt.After(now.Add(time.Hour)) {
		t.Errorf("RetryMail: %+v, %v", again, err)
	}
	wantEqual(t, "due again", len(leaseAll(t, b, now.Add(time.Hour))), 1)
	wantError(t, "DropMail of one that waits", errorOf(change(drop)), domain.ErrNotFound)
	mail.Attempts++
	settle(t, b, mail, domain.MailGivenUp)
	must(change(drop))(t)
	wantEqual(t, "given up after the drop", len(must(b.Read().Machinery.GivenUpMails(t.Context(), 5))(t)), 0)
	mail.ID = "mai_1"
	wantError(t, "RetryMail of no ID", errorOf(change(retry)), domain.ErrNotFound)

	unknown := aNotice(func(n *domain.Notice) { n.Kind, n.PersonID, n.Email = domain.MailSignInLink, "", "a@example.com" })
	tell(t, b, unknown)
	mail = leaseAll(t, b, now.Add(2*time.Hour))[0]
	settle(t, b, mail, domain.MailGivenUp)
	wantError(t, "RetryMail to a forgotten address", errorOf(change(retry)), domain.ErrNotFound)
}

func testProcesses(t *testing.T, b ports.Database) {
	p := domain.Process{ID: sample.ID(domain.PrefixProcess), StartedAt: sample.Now, SeenAt: sample.Now, ProcessFacts: domain.ProcessFacts{
		Role: "worker", Host: "a", PID: 7, Version: "1", Jobs: []domain.JobRun{{Name: "cleaning", Every: time.Minute, EndedAt: sample.Now,
			Took: time.Second, Failed: "the disk is full"}},
		Pools:    []domain.PoolState{{Name: "live", Open: 2, InUse: 1, Most: 4, Waited: time.Second}},
		Services: []domain.ServiceState{{Name: "pricing", Environment: domain.Live, GoneSince: &sample.Now}},
	}}
	keep := func(p domain.Process) {
		t.Helper()
		if err := b.KeepProcess(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	list := func(since time.Time) []domain.Process {
		return must(b.Read().Machinery.Processes(t.Context(), since))(t)
	}
	keep(p)
	wantEqual(t, "Processes", list(sample.Now), []domain.Process{p})
	p.SeenAt, p.Jobs = sample.Now.Add(time.Minute), nil
	keep(p)
	wantEqual(t, "Processes after it told again", list(sample.Now), []domain.Process{p})
	wantEqual(t, "Processes of later", len(list(p.SeenAt.Add(time.Millisecond))), 0)
	later := p
	later.ID, later.StartedAt, later.SeenAt = sample.ID(domain.PrefixProcess), sample.Now.Add(time.Hour), p.SeenAt.Add(domain.ProcessKept)
	keep(later)
	wantEqual(t, "Processes a day later", list(sample.Now), []domain.Process{p, later})
	later.SeenAt = later.SeenAt.Add(time.Millisecond)
	keep(later)
	wantEqual(t, "Processes after the other was forgotten", list(sample.Now), []domain.Process{later})
}

func testDatabaseState(t *testing.T, b ports.Database) {
	d, err := b.State(t.Context())
	if err != nil || d.Product == "" || d.Version == "" || d.Replica || d.ReadOnly || d.Applied != d.Known {
		t.Errorf("%+v, %v", d, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.State(ended); err != nil && !errors.Is(err, context.Canceled) && !ports.StorageUnavailable(err) &&
		!strings.Contains(err.Error(), "cancel") {
		t.Errorf("without time: %v", err)
	}
}
