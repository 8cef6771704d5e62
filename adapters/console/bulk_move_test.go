package console_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"waybill/adapters/console"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/browser"
	"waybill/test/sample"
	"waybill/test/stage"
)

func (s *scene) moves() *bulk.Moves {
	return bulk.NewMoves(s.Store, deliveries.NewOperations(s.Store, s.Clock, s.IDs, stage.Renderer{}), s.Clock, s.IDs,
		slog.New(slog.NewTextHandler(&s.log, nil)))
}

func init() {
	equip = append(equip, func(_ *testing.T, s *scene, u *console.UseCases) { u.Moves = s.moves() })
	furnish = append(furnish, func(t *testing.T, s *scene) {
		run, _, err := s.moves().Advance(t.Context(), bulk.MoveOrders{Key: "dispatch-0001", By: operator, Patience: 1e9, Items: []bulk.MoveOrder{
			{Name: string(s.delivery.Reference), To: domain.Delivered}, {Name: "=1+1", To: domain.Delivered},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.ids[":run"] = string(run.ID)
	})
	form := func(s *scene) url.Values {
		return url.Values{"references": {string(s.delivery.Reference)}, "status": {"assigned"}, "reason_code": {""}}
	}
	add(map[string]row{
		"GET /bulk": {may: everybody}, "POST /bulk": {may: dispatchers, form: form},
		"GET /bulk/move": {may: everybody}, "POST /bulk/move": {may: dispatchers, form: form},
		"GET /bulk/runs/:run": {may: everybody}, "GET /bulk/runs/:run/results.csv": {may: everybody},
	})
	states = append(states, []state{
		{name: "bulk", role: domain.RoleDispatcher, path: "/bulk", heading: "Move many deliveries"},
		{name: "bulk-preview", role: domain.RoleDispatcher, path: "/bulk", heading: "Move many deliveries", then: func(p *tab) {
			p.preview(string(p.delivery.Reference)+"\n"+string(p.delivery.ID)+", nonsense", "assigned", "", "Preview")
		}},
		{name: "bulk-wrong", role: domain.RoleDispatcher, path: "/bulk", heading: "Move many deliveries", then: func(p *tab) {
			p.preview(references(201), "failed", "", "Move many deliveries")
			p.want("Take out 1 and move them in a second run")
		}},
		{name: "bulk-run", role: domain.RoleViewer, path: "/bulk/runs/:run", heading: "0 of 2 moved"},
		{name: "bulk-under-way", role: domain.RoleDispatcher, path: "/bulk/runs/:run", heading: "Moving: 1 of 2 done",
			before: func(t *testing.T, s *scene) { s.ids[":run"] = string(s.underWay(t).Run) },
			// It would load itself again amid the examination.
			then: func(p *tab) { browser.Eval[bool](p.T, p.Page, "(window.stop(), true)") }},
	}...)
	journeys = append(journeys, []journey{
		{"the page of a run follows it to its end", true, followRun},
	}...)
}

// underWay is a run that another process works on.
func (s *scene) underWay(t *testing.T) ports.MoveHold {
	t.Helper()
	h := ports.MoveHold{Run: s.IDs.ID(domain.PrefixMoveRun), Token: sample.ClaimID(), Lease: 60e9}
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		items := []domain.MoveItem{
			{Sent: "nonsense", To: domain.Assigned, Outcome: domain.MoveNotFound},
			{Index: 1, Sent: string(s.delivery.ID), DeliveryID: s.delivery.ID, Reference: s.delivery.Reference, To: domain.Assigned,
				Outcome: domain.MovePending},
		}
		return tx.MoveRuns.Begin(ctx, domain.MoveRun{ID: h.Run, Key: "dispatch-0002", By: operator, CreatedAt: s.Clock.Now(), Items: items}, h)
	})
	return h
}

// references returns a text with n references.
func references(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, domain.MakeReference(uint64(i)<<40|7))
	}
	return b.String()
}

// preview types references, chooses where they go, and sends the form.
func (p *tab) preview(references, status, reason, heading string) {
	p.Helper()
	p.fill("#references", references)
	p.choose("#status", status)
	p.choose("#reason_code", reason)
	p.click(`form[action="/console/bulk"] button`, heading)
}

func moveMany(w *walk) {
	p := w.as(domain.RoleDispatcher)
	p.to("/bulk", "Move many deliveries")
	p.preview(strings.ToLower(string(w.delivery.Reference))+"\nXMK2-QS3D-PP2 for Ama", "assigned", "", "Preview")
	p.want("can be moved")
	p.want("2 references found, 2 other words ignored")
	if n := len(w.timeline(w.T)); n != 1 {
		w.Errorf("the preview left %d events", n)
	}
	p.click(`form[action="/console/bulk/move"] button`, "1 of 2 moved")
	p.want("No delivery has this reference or ID")
	at := browser.Eval[string](w.T, p.Page, "location.href")
	p.to(strings.TrimPrefix(at, w.url), "1 of 2 moved")
	p.to("/bulk", "Move many deliveries")
	p.want("Kofi dispatcher")
}

func followRun(w *walk) {
	h := w.underWay(w.T)
	p := w.as(domain.RoleDispatcher)
	p.to("/bulk/runs/"+string(h.Run), "Moving: 1 of 2 done")
	w.Write(w.T, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Release(ctx, h) })
	if worked, err := w.moves().GoOn(w.Context(), 1e9); !worked || err != nil {
		w.Fatalf("worked %v, %v", worked, err)
	}
	p.want("1 of 2 moved") // by itself
}

func (s *scene) timeline(t *testing.T) []domain.Event {
	t.Helper()
	return must[[]domain.Event](t)(s.Store.Read().Deliveries.Events(t.Context(), s.delivery.Tenant, s.delivery.ID))
}

// run is the ID of the run that a form makes when the person of the role sends it.
func (s *scene) run(t *testing.T, role domain.Role, form url.Values) domain.ID {
	t.Helper()
	return must[domain.ID](t)(domain.ParseFormID(domain.PrefixMoveRun, form.Get("once"), s.staff[role].ID, "", s.Clock.Now()))
}

func TestARunIsMadeOnceHoweverOftenItsFormIsSentAndItsActIsThePersons(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	form := url.Values{"once": {string(s.IDs.ID(domain.PrefixMoveRun))}, "references": {string(s.delivery.Reference)}, "status": {"assigned"}}
	for range 3 {
		if p := r.post("/bulk/move", form); p.status != 200 || !strings.Contains(p.body, "1 of 1 moved") {
			t.Fatalf("%d: %s", p.status, p.body)
		}
	}
	if n := len(s.timeline(t)); n != 2 {
		t.Errorf("three forms left %d events, want 2", n)
	}
	entries := must[[]domain.AuditEntry](t)(s.audit.Entries(t.Context(), domain.AuditFilter{Target: s.delivery.ID},
		domain.PageRequest{Limit: 9}))
	if len(entries) != 1 || entries[0].Actor.ID != s.staff[domain.RoleDispatcher].ID || entries[0].Details["run"] != string(s.run(t, domain.RoleDispatcher, form)) {
		t.Errorf("the audit log has %+v", entries)
	}
	form.Set("status", "picked_up")
	if p := r.post("/bulk/move", form); p.status != 409 || !strings.Contains(p.body, "This form was already sent") {
		t.Errorf("other deliveries under the same form: %d", p.status)
	}
	for _, missing := range []string{"failed", "cancelled"} {
		form.Set("status", missing)
		if p := r.post("/bulk/move", form); p.status != 422 || !strings.Contains(p.body, "Choose why they are "+missing) {
			t.Errorf("%s without a reason: %d", missing, p.status)
		}
	}
}

func TestTheTableOfARunHasNoFormula(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.signedIn(t, domain.RoleViewer).get("/bulk/runs/" + s.ids[":run"] + "/results.csv")
	lines := strings.Split(strings.TrimSpace(p.body), "\n")
	want := fmt.Sprintf("1,%s,%s,%s,delivered,refused,booked,TRANSITION_INVALID,", s.delivery.Reference, s.delivery.Reference, s.delivery.ID)
	if len(lines) != 3 || !strings.HasPrefix(lines[1], want) || lines[2] != "2,'=1+1,,,delivered,not_found,,," {
		t.Errorf("the table is %s\nwant a line %s", p.body, want)
	}
}
