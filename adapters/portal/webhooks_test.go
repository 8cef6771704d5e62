package portal_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func TestAnEndpointIsMadeOnceAndItsSecretIsInOneAnswerAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	list := "/webhooks?application=" + string(s.house.app.ID)
	action, form := r.get("/webhooks/new?application="+string(s.house.app.ID)).form(t, "Create")
	form["event_types"] = []string{"delivery.*"}
	form.Set("url", "http://10.0.0.1/in")
	if p := r.post(action, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="url-error"`) ||
		!strings.Contains(p.body, `value="http://10.0.0.1/in"`) {
		t.Fatalf("a private address: %d", p.status)
	}
	form.Set("url", "https://hooks.example.com/in")
	made := r.post(action, form)
	secret := made.secret()
	if made.status != http.StatusOK || !strings.HasPrefix(secret, "whsec_") || made.at != "/webhooks" {
		t.Fatalf("created: %d at %s, %q", made.status, made.at, secret)
	}
	for _, text := range []string{"receive-php", "receive-python", "receive-node", "receive-go", "hmac.compare_digest"} {
		if !strings.Contains(made.body, text) {
			t.Errorf("beside the secret there is no %s", text)
		}
	}
	if p := r.post(action, form); p.status != http.StatusConflict || !strings.Contains(p.body, "No second endpoint was created") ||
		p.secret() != "" {
		t.Errorf("the same form again: %d", p.status)
	}
	var at string
	for _, line := range strings.Split(r.get(list).body, "\n") {
		if strings.Contains(line, "https://hooks.example.com/in") {
			_, at, _ = strings.Cut(line, `<a href="`)
			at, _, _ = strings.Cut(at, `"`)
		}
	}
	told := r.get(list).body + r.get(at).body + r.get(at+"/edit").body + r.get(at+"/rotate").body + s.log.String() +
		fmt.Sprint(made.header, r.get("/audit").body)
	stored := must[[]byte](t)(os.ReadFile(s.Path))
	if wal, err := os.ReadFile(s.Path + "-wal"); err == nil {
		stored = append(stored, wal...)
	}
	if at == "" || strings.Contains(told, secret) || strings.Contains(string(stored), secret) {
		t.Errorf("the secret of %q is somewhere else, too", at)
	}
	// It is rotated once, by a sign-in of the last 10 minutes.
	action, form = r.get(at+"/rotate").form(t, "Rotate")
	form.Set("overlap_seconds", "3600")
	s.wait(domain.FreshFor)
	if p := r.post(action, form); p.status != http.StatusForbidden || !strings.Contains(p.body, "Sign in again to continue") {
		t.Errorf("after 10 minutes: %d", p.status)
	}
	form.Set("password", password)
	form.Set("confirm", "1")
	rotated := r.post(action, form)
	if next := rotated.secret(); next == "" || next == secret || !strings.Contains(rotated.body, "and with the old one until") {
		t.Errorf("rotated: %d\n%s", rotated.status, rotated.body)
	}
	if p := r.post(action, form); p.status != http.StatusConflict || p.secret() != "" {
		t.Errorf("rotated by the same form again: %d", p.status)
	}
	if log := r.get("/audit"); !strings.Contains(log.body, "the old secret signs for ") {
		t.Errorf("the audit log does not tell the overlap\n%s", log.body)
	}
	if p := r.get(at); !strings.Contains(p.body, "two secrets. The old one is used until") {
		t.Error("the page does not tell of the secret before")
	}
}

func TestHealthIsToldInWordsAndBeforeAnEndpointIsSwitchedOff(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	e, r := s.house.endpoint, s.signedIn(t, s.house, domain.RoleViewer)
	// Its one event failed, and its URL was changed since.
	if p := r.get(hooks(e)); !strings.Contains(p.body, ">No success yet</span>") || !strings.Contains(p.body, "0 of the last 1") {
		t.Errorf("an endpoint of which nothing is known but a failure:\n%s", p.body)
	}
	for range 3 {
		s.sends(t, e)
	}
	since := s.Clock.Now()
	s.ails(t, e, func(e *domain.WebhookEndpoint) {
		open := since.Add(4 * time.Minute)
		e.Health = domain.WebhookHealth{Failures: 10, FailingSince: &since, OpenUntil: &open, Opened: 1}
	})
	p := r.get("/webhooks?application=" + string(s.house.app.ID))
	for _, text := range []string{"Failing</span> since <time", ", 3 waiting, next try in 4 min", "503 Service Unavailable", "0 of the last 1",
		"https://hooks.adom.example/in?…"} {
		if !strings.Contains(p.body, text) {
			t.Errorf("the list lacks %q\n%s", text, p.body)
		}
	}
	if strings.Contains(p.body, "s3same") || strings.Contains(r.get("/").body, "will be disabled") {
		t.Error("the query of the address is shown, or a warning that is too early")
	}
	s.ails(t, e, func(e *domain.WebhookEndpoint) { e.Health.FailingSince = new(since.Add(-domain.WarnAfter)) })
	for _, at := range []string{"/", "/webhooks", hooks(e)} {
		if !strings.Contains(r.get(at).body, "will be disabled") {
			t.Errorf("%s does not warn", at)
		}
	}
	s.ails(t, e, func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledFailing })
	if p := r.get("/"); !strings.Contains(p.body, "Webhooks to hooks.adom.example are disabled") {
		t.Error("the start page does not tell of an endpoint that is off")
	}
	s.ails(t, e, func(e *domain.WebhookEndpoint) { e.Disabled = domain.DisabledByCaller })
	if p := r.get("/"); strings.Contains(p.body, "hooks.adom.example") {
		t.Error("the start page tells of an endpoint that its owner paused")
	}
	if p := s.signedIn(t, s.other, domain.RoleOwner).get("/"); strings.Contains(p.body, "hooks.adom.example") {
		t.Error("another business is told")
	}
}

func TestAnEndpointIsPausedChangedTestedAndDeletedWithARecordOfEach(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	e, r := s.house.endpoint, s.signedIn(t, s.house, domain.RoleDeveloper)
	does := func(page, verb string, change func(url.Values), want string) {
		t.Helper()
		action, form := r.get(page).form(t, verb)
		if change != nil {
			change(form)
		}
		if p := r.post(action, form); p.status != http.StatusOK || !strings.Contains(p.body, want) {
			t.Errorf("%s: %d at %s, want %q\n%s", verb, p.status, p.at, want, p.body)
		}
	}
	does(hooks(e), "Pause", nil, "The endpoint was paused")
	if p := r.post(hooks(e, "/test"), nil); p.status != http.StatusConflict || !strings.Contains(p.body, "Resume it first") {
		t.Errorf("a test of one that is paused: %d", p.status)
	}
	does(hooks(e), "Resume", nil, "The endpoint was resumed")
	does(hooks(e), "Send test", nil, "Sent. No response yet.")
	if p := r.get(hooks(e, "/sent/", string(s.house.sent)) + "?done=webhook-tested"); !strings.Contains(p.body, "Sent. Response: 503 Service Unavailable") {
		t.Errorf("the response to a test event is not told:\n%s", p.body)
	}
	does(hooks(e, "/edit"), "Save", func(f url.Values) {
		f.Set("url", "https://hooks.adom.example/other")
		f["event_types"] = []string{"delivery.created", "delivery.failed"}
	}, "The endpoint was saved")
	does(hooks(e, "/sent/", string(s.house.sent)), "Resend", nil, "Sent. No response yet.")
	if p := r.get(hooks(e, "/sent/", string(s.house.sent))); !strings.Contains(p.body, "webhook-id: evt_") ||
		!strings.Contains(p.body, "sent as it is") || !strings.Contains(p.body, "later, please") {
		t.Errorf("request or answer are missing:\n%s", p.body)
	}
	does(hooks(e, "/delete"), "Delete", nil, "The endpoint and its pending webhooks were deleted")
	if p := r.get(hooks(e)); p.status != http.StatusNotFound {
		t.Errorf("what was deleted: %d", p.status)
	}
	var got []string
	for _, entry := range must[[]domain.AuditEntry](t)(s.audit.EntriesOfBusiness(t.Context(), s.house.business.ID,
		domain.AuditFilter{ActorID: s.house.people[domain.RoleDeveloper].ID}, domain.PageRequest{Limit: 50})) {
		if strings.HasPrefix(string(entry.Action), "webhook") {
			got = append(got, string(entry.Action))
		}
	}
	if text := strings.Join(got, " "); text != "webhook_endpoint.delete webhook.resend webhook_endpoint.update webhook_endpoint.test "+
		"webhook_endpoint.update webhook_endpoint.update" {
		t.Errorf("the audit log has %s", text)
	}
	log := s.signedIn(t, s.house, domain.RoleOwner).get("/audit")
	for _, want := range []string{"Webhook endpoint paused", "Webhook endpoint resumed", "changed url, event_types"} {
		if !strings.Contains(log.body, want) {
			t.Errorf("the audit log does not say %q\n%s", want, log.body)
		}
	}
}

// fail makes so many webhooks of an endpoint that were held.
func (s *scene) held(t *testing.T, e domain.WebhookEndpoint, n int) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		for range n {
			_, err := tx.Webhooks.PublishTo(ctx, e, sample.EndpointEvent(domain.EventEndpointTest, func(f *domain.FeedEvent) {
				f.ID, f.OccurredAt = spacedIDs{s.IDs}.ID(domain.PrefixEvent), s.Clock.Now()
			}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.ails(t, e, func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledFailing })
	s.ails(t, e, func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = true, "" })
}

func (s *scene) pending(t *testing.T, e domain.WebhookEndpoint) int {
	t.Helper()
	return len(must[[]domain.WebhookDelivery](t)(s.Store.Read().Webhooks.Deliveries(t.Context(), e.Tenant, e.ID,
		domain.WebhookDeliveryFilter{Status: domain.WebhookPending}, domain.PageRequest{Limit: 20_000})))
}

func TestARecoverySendsTheNumberThatWasShownOrNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	e, r := s.house.endpoint, s.signedIn(t, s.house, domain.RoleDeveloper)
	s.held(t, e, 9_999) // beside the one that failed
	s.wait(time.Second)
	page := r.get(hooks(e, "/recover"))
	if !strings.Contains(page.body, ">10,000 webhooks</h2>") || s.pending(t, e) != 0 {
		t.Fatalf("10,000 are not shown before they are sent: %d wait\n%s", s.pending(t, e), page.body)
	}
	action, form := page.form(t, "Recover 10,000")
	if form.Get("count") != "10000" {
		t.Errorf("the form has %v", form)
	}
	// What changes between the look and the click is looked at again.
	other := url.Values{"since": form["since"], "until": form["until"], "only": form["only"], "count": {"9999"}}
	if p := r.post(action, other); p.status != http.StatusConflict || !strings.Contains(p.body, "and not 9999") || s.pending(t, e) != 0 {
		t.Fatalf("another number: %d, and %d wait", p.status, s.pending(t, e))
	}
	if p := r.post(action, url.Values{"since": form["since"]}); p.status != http.StatusUnprocessableEntity || s.pending(t, e) != 0 {
		t.Fatalf("without a number: %d", p.status)
	}
	if p := r.post(action, form); p.status != http.StatusOK || !strings.Contains(p.body, "10,000 webhooks are on their way") {
		t.Errorf("sent: %d\n%s", p.status, p.body)
	}
	if n := s.pending(t, e); n != 10_000 {
		t.Errorf("10,000 were shown, and %d are sent", n)
	}
	if p := r.post(action, form); p.status != http.StatusConflict || !strings.Contains(p.body, "A recovery is running") {
		t.Errorf("once more: %d", p.status)
	}
}

func TestTheBenchNamesTheStepThatFailsAndKeepsNoSecret(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	e, viewer, developer := s.house.endpoint, s.signedIn(t, s.house, domain.RoleViewer), s.signedIn(t, s.house, domain.RoleDeveloper)
	action, form := developer.get(hooks(e, "/rotate")).form(t, "Rotate")
	form.Set("overlap_seconds", "3600")
	secret := developer.post(action, form).secret()
	plain := must[[]byte](t)(decoded(secret))
	sent := must[domain.WebhookDelivery](t)(s.Store.Read().Webhooks.Delivery(t.Context(), e.Tenant, s.house.sent))
	body := must[domain.FeedEvent](t)(s.Store.Read().Feed.Event(t.Context(), e.Tenant, sent.EventID)).Payload
	now := s.Clock.Now()
	asks := url.Values{"application": {string(s.house.app.ID)}, "environment": {"sandbox"}, "body": {string(body)}, "secret": {secret},
		"headers": {fmt.Sprintf("webhook-id: %s\r\nwebhook-timestamp: %d\r\nwebhook-signature: %s", sent.EventID, now.Unix(),
			domain.SignWebhook([][]byte{plain}, sent.EventID, now, body))}}
	examine := func(r *reader, want string, pairs ...string) {
		t.Helper()
		form := url.Values{}
		for name, values := range asks {
			form[name] = values
		}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		p := r.post("/webhooks/verify", form)
		if !strings.Contains(p.body, want) {
			t.Errorf("%v: %d, want %q\n%s", pairs, p.status, want, p.body)
		}
		if strings.Contains(p.body, secret) || strings.Contains(fmt.Sprint(p.header), secret) || strings.Contains(s.log.String(), secret) {
			t.Error("the secret is in the answer or in the log")
		}
	}
	const wrong = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	examine(viewer, "The signature verifies")
	examine(viewer, "behind it", "body", string(body)+"\r\n")
	examine(viewer, "Wrong secret: none", "secret", wrong)
	examine(developer, "signed with the secret of the sandbox endpoint at hooks.adom.example", "secret", wrong)
	examine(developer, "The signature verifies", "secret", "", "endpoint", string(e.ID))
	examine(viewer, "Missing: webhook-id", "headers", "x: y")
	examine(viewer, "Paste the headers of the webhook", "headers", "")
	examine(viewer, "Paste the secret, or choose an endpoint", "secret", "")
	examine(viewer, "off by 12m", "received_at", now.Add(12*time.Minute).UTC().Format("2006-01-02T15:04:05"))
	examine(viewer, "Page not found", "application", string(s.other.app.ID))
	examine(developer, "Page not found", "endpoint", string(s.other.endpoint.ID))
	examine(viewer, "Your role does not allow this", "endpoint", string(e.ID))
	s.wait(domain.SessionIdle)
	examine(viewer, "You are signed out")
	if stored := string(must[[]byte](t)(os.ReadFile(s.Path))); strings.Contains(stored, secret) {
		t.Error("the secret is in the database")
	}
}
