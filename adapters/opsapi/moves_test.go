package opsapi_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// outcomes returns the outcomes of the results, with the current status if there is one.
func (r *reply) outcomes() string {
	results, _ := r.at("data", "results").([]any)
	var out []string
	for i := range results {
		if r.text("data", "results", i, "index") != fmt.Sprint(i) {
			r.t.Errorf("result %d: %s", i, r.body)
		}
		out = append(out, strings.TrimSpace(r.text("data", "results", i, "outcome")+" "+r.text("data", "results", i, "current_status")))
	}
	return strings.Join(out, ", ")
}

// exec changes the database directly, past the store.
func (d *scene) exec(t *testing.T, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", d.Path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// events counts the events in the timeline of a delivery.
func (d *scene) events(t *testing.T, booked *domain.Delivery) int {
	t.Helper()
	events, err := d.Store.Read().Deliveries.Events(t.Context(), booked.Tenant, booked.ID)
	if err != nil {
		t.Fatal(err)
	}
	return len(events)
}

func TestManyDeliveriesAreMovedOnceWithAnAnswerForEach(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	one, two := d.book(t, d.NewTenant(t), "order-1"), d.book(t, d.NewTenant(t), "order-2")
	done := d.book(t, d.NewTenant(t), "order-3")
	d.send(t, "POST", "/deliveries/"+string(done.ID)+"/advance", `{"status":"assigned"}`).is(200)
	typed := strings.ToLower(strings.ReplaceAll(string(two.Reference), "-", " "))
	body := `{"status":"assigned","items":[{"delivery_id":"` + string(one.ID) + `"},{"reference":"` + typed + `"},{"delivery_id":"` +
		string(done.ID) + `"},{"reference":"` + string(one.Reference) + `"},{"reference":"nonsense"},{"delivery_id":"` +
		string(sample.ID(domain.PrefixDelivery)) + `"},{"reference":"` + string(done.Reference) + `","status":"delivered"}]}`
	first := d.send(t, "POST", "/deliveries/advance", body, "Idempotency-Key", "dispatch-0001").is(207)
	want := "advanced assigned, advanced assigned, already_there assigned, duplicate, not_found, not_found, duplicate"
	if got := first.outcomes(); got != want {
		t.Errorf("%s, want %s: %s", got, want, first.body)
	}
	if first.text("data", "counts", "advanced") != "2" || first.text("data", "results", 1, "reference") != string(two.Reference) ||
		first.text("data", "results", 1, "delivery_id") != string(two.ID) {
		t.Errorf("%s", first.body)
	}
	again := d.send(t, "POST", "/deliveries/advance", body, "Idempotency-Key", "dispatch-0001").is(207)
	if again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("again %v: %s\nwant %s", again.header, again.body, first.body)
	}
	for _, booked := range []*domain.Delivery{one, two, done} {
		if n := d.events(t, booked); n != 2 {
			t.Errorf("%s has %d events", booked.ID, n)
		}
		entry := d.send(t, "GET", "/audit?target="+string(booked.ID), "").is(200)
		if list := entry.at("data").([]any); len(list) != 1 || booked != done && entry.text("data", 0, "details", "run") != first.id() {
			t.Errorf("the audit log: %s", entry.body)
		}
	}
	refused := d.send(t, "POST", "/deliveries/advance", `{"items":[{"delivery_id":"`+string(one.ID)+`","status":"delivered"}]}`,
		"Idempotency-Key", "dispatch-0002").is(207)
	if refused.outcomes() != "refused assigned" || refused.text("data", "results", 0, "error", "code") != "TRANSITION_INVALID" ||
		fmt.Sprint(refused.at("data", "results", 0, "error", "allowed_statuses")) != "[picked_up outsourced cancelled failed]" {
		t.Errorf("%s", refused.body)
	}
	all := d.send(t, "POST", "/deliveries/advance", `{"status":"failed","reason_code":"no_rider","items":[{"delivery_id":"`+string(one.ID)+
		`"},{"delivery_id":"`+string(two.ID)+`","status":"picked_up"}]}`, "Idempotency-Key", "dispatch-0003").is(200)
	if all.outcomes() != "advanced failed, advanced picked_up" {
		t.Errorf("%s", all.body)
	}
	d.send(t, "POST", "/deliveries/advance", `{"status":"cancelled","items":[{"reference":"nonsense"}]}`, "Idempotency-Key",
		"dispatch-0001").refused(409, "IDEMPOTENCY_CONFLICT")
}

func TestAMoveOfManySaysEverythingThatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	d.send(t, "POST", "/deliveries/advance", `{"status":"assigned","items":[{"reference":"x"}]}`).refused(400, "IDEMPOTENCY_KEY_REQUIRED")
	many := `{"status":"assigned","items":[` + strings.TrimSuffix(strings.Repeat(`{"reference":"x"},`, 201), ",") + `]}`
	for body, want := range map[string]string{
		`{}`:                          "items required",
		`{"items":[]}`:                "items too_short",
		many:                          "items too_long",
		`{"items":[{}]}`:              "items[0].delivery_id required, items[0].status required",
		`{"items":[{"reference":1}]}`: "items[0].reference invalid_type, items[0].status required",
		`{"status":"assigned","items":[{"reference":"x","delivery_id":"y"}]}`:                            "items[0].reference not_allowed",
		`{"status":"booked","reason_code":"rain","items":[{"reference":"x"}]}`:                           "reason_code not_allowed, status not_allowed",
		`{"items":[{"reference":"x","status":"assigned","reason_code":"no_rider"}]}`:                     "items[0].reason_code not_allowed",
		`{"status":"assigned","reason_code":"no_rider","items":[{"reference":"x"}]}`:                     "items[0].reason_code not_allowed",
		`{"status":"cancelled","reason_code":"cancelled_by_caller","items":[{"reference":"x"}]}`:         "reason_code not_allowed",
		`{"status":"cancelled","items":[{"reference":"x","reason_code":"cancelled_by_caller"},{"a":1}]}`: "",
	} {
		got := d.send(t, "POST", "/deliveries/advance", body, "Idempotency-Key", "dispatch-0001")
		if want == "" {
			got.refused(400, "INVALID_REQUEST")
		} else if got.refused(422, "VALIDATION_ERROR"); got.fields() != want {
			t.Errorf("%.200s: %q, want %q", body, got.fields(), want)
		}
	}
	if left, err := d.Store.Read().MoveRuns.List(t.Context(), domain.PageRequest{Limit: 10}); err != nil || len(left) != 0 {
		t.Errorf("%d runs are kept, %v", len(left), err)
	}
}

func TestARunUnderWayIsAnsweredLaterAndOneThatWasLeftIsResumed(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	booked := d.book(t, d.NewTenant(t), "order-1")
	body := `{"status":"assigned","items":[{"reference":"` + string(booked.Reference) + `"}]}`
	d.send(t, "POST", "/deliveries/advance", body, "Idempotency-Key", "dispatch-0001").is(200)
	again := func() *reply {
		return d.send(t, "POST", "/deliveries/advance", `{"status":"picked_up","items":[{"reference":"`+string(booked.Reference)+`"}]}`,
			"Idempotency-Key", "dispatch-0002")
	}
	first := again().is(200)
	// As if its process had died: the outcome is not recorded, and the lease is another's.
	hold := ports.MoveHold{Run: domain.ID(first.id()), Token: sample.ClaimID(), Lease: 60e9}
	d.exec(t, "UPDATE move_runs SET finished_at = NULL WHERE id = '"+hold.Run.Hex()+"'")
	d.exec(t, "UPDATE move_run_items SET outcome = 'pending', current = '' WHERE run_id = '"+hold.Run.Hex()+"'")
	d.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Resume(ctx, hold) })
	if got := again().refused(409, "IDEMPOTENCY_IN_PROGRESS"); got.header.Get("Retry-After") == "" {
		t.Errorf("%v", got.header)
	}
	d.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Release(ctx, hold) })
	if got := again().is(200); got.outcomes() != "already_there picked_up" || d.events(t, booked) != 3 {
		t.Errorf("%d events: %s", d.events(t, booked), got.body)
	}
}

func TestTheFeedHasTheEventsOfAllCustomersWithWhoseTheyAre(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	var booked []*domain.Delivery
	for range 3 {
		booked = append(booked, d.book(t, d.NewTenant(t), ""))
	}
	environment := string(booked[0].Tenant.Environment)
	d.send(t, "POST", "/deliveries/"+string(booked[0].ID)+"/advance", `{"status":"assigned"}`).is(200)
	cursor, seen := "", []string{}
	for more := true; more; {
		page := d.send(t, "GET", "/events?limit=2&environment="+environment+cursor, "").is(200)
		cursor, more = "&cursor="+page.text("meta", "resume_cursor"), page.text("meta", "has_more") == "true"
		for i := range page.at("data").([]any) {
			seen = append(seen, page.text("data", i, "business_id")+" "+page.text("data", i, "application_id")+" "+
				page.text("data", i, "event", "id"))
		}
	}
	var want []string
	for i, b := range append(booked, booked[0]) {
		events, err := d.Store.Read().Deliveries.Events(t.Context(), b.Tenant, b.ID)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%s %s %s", b.Tenant.BusinessID, b.Tenant.ApplicationID, events[i/3].ID))
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("read %v\nwant %v", seen, want)
	}
	if got := d.send(t, "GET", "/events?environment="+environment+cursor, "").is(200); got.at("meta", "next_cursor") != nil || got.text("meta", "resume_cursor") == "" ||
		len(got.at("data").([]any)) != 0 {
		t.Errorf("behind the end: %s", got.body)
	}
	narrowed := d.send(t, "GET", "/events?types=delivery.assigned,delivery.failed&environment="+environment+"&business_id="+
		string(booked[0].Tenant.BusinessID), "").is(200)
	if list := narrowed.at("data").([]any); len(list) != 1 {
		t.Errorf("narrowed: %s", narrowed.body)
	}
	unknown := d.send(t, "GET", "/events?types=delivery.assigned,rain", "").refused(422, "VALIDATION_ERROR")
	if unknown.fields() != "types not_allowed" {
		t.Errorf("%s", unknown.body)
	}
	d.send(t, "GET", "/events?environment="+environment+"&types=delivery.created"+cursor, "").refused(422, "VALIDATION_ERROR")
	d.exec(t, "DELETE FROM feed_events")
	d.send(t, "GET", "/events?environment="+environment+cursor, "").refused(410, "CURSOR_EXPIRED")
}
