package portal_test

import (
	"context"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// ticked are the steps that the page of an application ticks, sorted.
func (r *reader) ticked(h house) string {
	var done []string
	p := r.get("/apps/" + string(h.app.ID))
	for _, step := range strings.Split(p.body, `<li data-step="`)[1:] {
		if name, rest, _ := strings.Cut(step, `"`); strings.HasPrefix(rest, ` class="done"`) {
			done = append(done, name)
		}
	}
	slices.Sort(done)
	return strings.Join(done, " ")
}

// replayedCall makes a request one that got the answer of an earlier one.
func (s *scene) replays(t *testing.T, h house) {
	t.Helper()
	id := s.called(t, h, sandboxCall, func(r *domain.RequestRecord) { r.Replayed = true })
	_, err := s.Store.WriteRequests(t.Context(), s.IDs.ID(domain.PrefixRequest).Hex(), nil, []domain.UsageMinute{{
		Minute: id.MadeAt().Truncate(time.Minute), Environment: domain.Sandbox, BusinessID: h.business.ID, ApplicationID: h.app.ID,
		KeyID: h.key[domain.Sandbox].ID, Route: "POST /v1/deliveries", Status: 201, Calls: 1, Replayed: 1, Took: time.Millisecond,
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// webhooked sends the first webhook of a new delivery: it arrives at once, or at the second attempt.
func (s *scene) webhooked(t *testing.T, h house, atOnce bool) {
	t.Helper()
	var endpoint domain.WebhookEndpoint
	s.Write(t, func(ctx context.Context, tx ports.Stores) (err error) {
		endpoint, err = tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(h.tenant(domain.Sandbox)))
		return err
	})
	s.booked(t, h, domain.Sandbox)
	due, err := s.Store.Outbox().Due(t.Context(), endpoint.ID, s.Clock.Now(), 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d are due: %v", len(due), err)
	}
	w := due[0].WebhookDelivery
	if !atOnce {
		w = s.settles(t, endpoint, w, sample.Refused(s.Clock.Now()))
	}
	s.settles(t, endpoint, w, sample.Arrived(s.Clock.Now()))
}

// fails lets a delivery fail.
func (s *scene) fails(t *testing.T, h house, in domain.Environment) domain.ID {
	t.Helper()
	id := s.booked(t, h, in)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		d, err := tx.Deliveries.Lock(ctx, h.tenant(in), id)
		if err != nil {
			return err
		}
		for _, to := range []domain.Status{domain.Assigned, domain.Failed} {
			e, err := d.Move(to, domain.ActorHelper, "", sample.ID(domain.PrefixEvent), s.Clock.Now())
			if err != nil {
				return err
			}
			if err := tx.Deliveries.Update(ctx, d.Tenant, d, ports.EventWrite{Event: e, Payload: []byte("{}")}); err != nil {
				return err
			}
		}
		return nil
	})
	return id
}

func limited(r *domain.RequestRecord) {
	r.Environment, r.Status, r.Code = domain.Sandbox, http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED"
}

// readsFailed reads a delivery as its program does, which no log need tell.
func (s *scene) readsFailed(t *testing.T, h house, id domain.ID) {
	t.Helper()
	must[*domain.Delivery](t)(s.Deliveries(s.storage, s.Store, nil, nil, nil).Get(t.Context(), h.tenant(domain.Sandbox), id))
}

// program is another application of the house, which has done nothing yet.
func (s *scene) program(t *testing.T, name string) house {
	t.Helper()
	h := s.house
	h.app = must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, h.business.ID, name))
	h.key = map[domain.Environment]tenancyKey{}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		h.key[e] = must[tenancyKey](t)(s.tenants.IssueKey(t.Context(), operator, h.app.ID, e, domain.AllScopes(), nil))
	}
	return h
}

func TestAStepIsTickedByTheTrafficOfItsApplicationAndNoOther(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	own, second := s.program(t, "A new shop"), s.program(t, "A second shop")
	r := s.signedIn(t, s.house, domain.RoleViewer)
	want := ""
	show := func(step, what string, do func(h house)) {
		t.Helper()
		do(s.other)
		do(second)
		if got := r.ticked(own); got != want {
			t.Fatalf("%s, by another application: ticked are %q, want %q", what, got, want)
		}
		do(own)
		if step != "" {
			want = strings.TrimSpace(want + " " + step)
			all := strings.Fields(want)
			slices.Sort(all)
			want = strings.Join(all, " ")
		}
		if got := r.ticked(own); got != want {
			t.Fatalf("%s: ticked are %q, want %q", what, got, want)
		}
	}
	show("replayed", "a replay", func(h house) { s.replays(t, h) })
	show("", "a 429, and called again at once", func(h house) {
		s.called(t, h, limited)
		s.wait(300 * time.Millisecond)
		s.called(t, h, sandboxCall)
		s.wait(2 * time.Second)
	})
	show("waited", "a 429, and called again later", func(h house) {
		s.called(t, h, limited)
		s.wait(2 * time.Second)
		s.called(t, h, sandboxCall)
	})
	show("verified", "a webhook that arrives", func(h house) { s.webhooked(t, h, true) })
	feed := func(r *domain.RequestRecord) {
		r.Environment, r.Route, r.Status = domain.Sandbox, "GET /v1/events", http.StatusOK
	}
	show("", "the feed without an outage", func(h house) { s.called(t, h, feed); s.wait(time.Minute) })
	show("", "an outage", func(h house) { s.webhooked(t, h, false); s.wait(time.Minute) })
	show("feed", "the feed after an outage", func(h house) { s.called(t, h, feed) })
	show("", "a failed delivery", func(h house) { s.fails(t, h, domain.Sandbox) })
	show("", "a failed live delivery, and read", func(h house) {
		must[*domain.Delivery](t)(s.Deliveries(s.storage, s.Store, nil, nil, nil).Get(t.Context(), h.tenant(domain.Live),
			s.fails(t, h, domain.Live)))
	})
	show("failure", "a failed delivery, and read", func(h house) { s.readsFailed(t, h, s.fails(t, h, domain.Sandbox)) })
	if p := r.get("/apps/" + string(own.app.ID)); !strings.Contains(p.body, ">request req_") ||
		!strings.Contains(p.body, ">webhook whd_") {
		t.Errorf("the page does not tell by what a step was ticked\n%s", p.body)
	}
	// The log forgets; a step that was seen stays.
	s.wait(40 * 24 * time.Hour)
	if got := s.signedIn(t, s.house, domain.RoleViewer).ticked(own); got != want {
		t.Errorf("long afterwards: ticked are %q, want %q", got, want)
	}
}

func TestAFailedDeliveryThatWasReadIsTickedThoughNobodyLooksBeforeTheLogForgets(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.readsFailed(t, s.house, s.fails(t, s.house, domain.Sandbox))
	s.wait(60 * 24 * time.Hour)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	if got := r.ticked(s.house); got != "failure" {
		t.Errorf("ticked are %q", got)
	}
	if p := r.get("/apps/" + string(s.house.app.ID)); !strings.Contains(p.body, `<a href="/deliveries/dlv_`) {
		t.Error("the page does not lead to the delivery")
	}
}

func TestKeysAreTickedWhenTheyUseAllTheirScopes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleOwner)
	s.called(t, s.house)
	p := r.get("/apps/" + string(s.house.app.ID))
	if strings.Contains(r.ticked(s.house), "scopes") || !strings.Contains(p.body, "did not use quotes:read") {
		t.Errorf("a key with all scopes: %q\n%s", r.ticked(s.house), p.body)
	}
	must[domain.APIKey](t)(s.tenants.RevokeKey(t.Context(), operator, s.house.key[domain.Live].ID))
	s.house.key[domain.Live] = must[tenancyKey](t)(s.tenants.IssueKey(t.Context(), operator, s.house.app.ID, domain.Live,
		[]domain.Scope{domain.ScopeDeliveriesWrite}, nil))
	if got := r.ticked(s.house); strings.Contains(got, "scopes") {
		t.Errorf("a key that was not used: %q", got)
	}
	s.called(t, s.house)
	if got := r.ticked(s.house); got != "scopes" {
		t.Errorf("a key that uses its scope: %q", got)
	}
}

func TestTheStartPageTellsOfKeysNearTheirLimit(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.calledOften(t, 500, s.house)
	p := s.signedIn(t, s.house, domain.RoleViewer).get("/")
	key := s.house.key[domain.Live]
	if !strings.Contains(p.body, "A key is near its limit") || strings.Contains(p.body, string(key.ID)) ||
		!strings.Contains(p.body, "The live key …"+key.LastFour+" of Adom Foods shop made 500 calls") {
		t.Errorf("the start page does not tell of it by its last characters\n%s", p.body)
	}
}

func TestTheStartPageOfALiveCustomerHasTheFiguresOfTodayAndLeadsToThem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if p := s.signedIn(t, s.house, domain.RoleViewer).get("/"); !strings.Contains(p.body, "Your setup and next steps") ||
		strings.Contains(p.body, "Booked today") {
		t.Error("before the first live call there are figures, or no steps")
	}
	s.calledOften(t, 30, s.house)
	s.calledOften(t, 10, s.house, refused)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Tenancy.TouchAPIKeys(ctx, []ports.KeyUse{{ID: s.house.key[domain.Live].ID, At: s.Clock.Now()}})
	})
	s.booked(t, s.house, domain.Live)
	failed := s.fails(t, s.house, domain.Live)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	p := r.get("/")
	for _, text := range []string{">2</a>", `class="bad">1</a>`, ">25 %</a>", ">failed</span> 1", ">booked</span> 1", ">None</a>", "Of the request limit"} {
		if !strings.Contains(p.body, text) {
			t.Errorf("the start page lacks %s\n%s", text, p.body)
		}
	}
	_, link, _ := strings.Cut(p.body, "<dt>Failed today</dt><dd><a href=\"")
	link, _, _ = strings.Cut(link, `"`)
	if list := r.get(html.UnescapeString(link)); len(list.rows()) != 1 || list.rows()[0] != string(failed) {
		t.Errorf("%s leads to %v", link, list.rows())
	}
	if strings.Contains(p.body, "Your setup and next steps") {
		t.Error("a live customer has the steps of a new one")
	}
}
