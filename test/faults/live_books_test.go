package faults

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// audit compares what all parties were told of all journeys, when they are over:
// the timelines, the feed, the webhooks, the operators' log, and what the
// database has.
func (c *company) audit(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	journeys, wrong := slices.Clone(c.carried), slices.Clone(c.wrong)
	c.mu.Unlock()
	for _, what := range wrong {
		t.Error(what)
	}
	feed := c.feed(t, len(way)*len(journeys))
	records := c.records(t)
	for _, j := range journeys {
		if j.id == "" {
			t.Errorf("order %d was never booked", j.number)
			continue
		}
		for _, what := range slices.Concat(j.stored(t), c.hooks.came(j, feed[j.id]), j.seen(), expect("the log of operators", records[j.id],
			"booked>assigned", "assigned>picked_up", "picked_up>in_transit", "in_transit>delivered")) {
			t.Errorf("delivery %d, %s: %s", j.number, j.id, what)
		}
		if j.moved > len(way)-1 {
			t.Errorf("delivery %d, %s: %d moves were made, want %d", j.number, j.id, j.moved, len(way)-1)
		}
		delete(feed, j.id)
		delete(records, j.id)
	}
	for id := range feed {
		t.Errorf("the feed has %s, which nobody ordered", id)
	}
	for _, what := range expect("the log of operators", records[""], "business.create", "application.create", "key.create",
		"pickup_location.create") {
		t.Error(what)
	}
	delete(records, "")
	for id, done := range records {
		t.Errorf("the log of operators has %v of %s", done, id)
	}
	var stored int
	if err := c.db.QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries").Scan(&stored); err != nil || stored != len(journeys) {
		t.Errorf("%d deliveries of %d orders (error %v)", stored, len(journeys), err)
	}
	for _, b := range check(t, c.db, Postgres) {
		t.Error(b)
	}
}

func expect(what string, got []string, want ...string) []string {
	if slices.Equal(got, want) {
		return nil
	}
	return []string{fmt.Sprintf("%s has %v, want %v", what, got, want)}
}

// stored is what is wrong with the delivery, its timeline and its length.
func (j *journey) stored(t *testing.T) (wrong []string) {
	t.Helper()
	c := j.company
	var found struct {
		Data struct {
			Status   string
			Timeline []struct {
				Status   string
				Sequence int
			}
			Next []string `json:"allowed_statuses"`
		}
	}
	c.get(t, c.operators, "/deliveries/"+j.id, &found)
	var timeline struct {
		Data []struct {
			Status   string
			Sequence int
		}
	}
	c.get(t, c.customer, "/deliveries/"+j.id+"/events", &timeline)
	var statuses []string
	for i, e := range timeline.Data {
		statuses = append(statuses, e.Status)
		if e.Sequence != i+1 {
			wrong = append(wrong, fmt.Sprintf("the timeline has %d in place %d", e.Sequence, i+1))
		}
	}
	wrong = append(wrong, expect("the timeline", statuses, way...)...)
	if found.Data.Status != "delivered" || len(found.Data.Timeline) != len(way) || len(found.Data.Next) > 0 {
		wrong = append(wrong, fmt.Sprintf("operators see %+v", found.Data))
	}
	var kilometres float64
	var source string
	err := c.db.QueryRowContext(t.Context(),
		"SELECT distance_km, distance_source FROM deliveries WHERE replace(CAST(id AS text), '-', '') = $1", hexOf(j.id)).
		Scan(&kilometres, &source)
	if err != nil || !j.isRoad(source, kilometres) || j.fee != feeFor(kilometres, 10, 2.5) {
		wrong = append(wrong, fmt.Sprintf("it costs %.2f for %.3f km by %q, want %.2f for %.3f by road (error %v)",
			j.fee, kilometres, source, feeFor(j.kilometre, 10, 2.5), j.kilometre, err))
	}
	return wrong
}

// seen is what is wrong with what the recipient was shown.
func (j *journey) seen() []string {
	r := j.recipient
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := slices.Clone(r.wrong)
	if n := len(r.sights); !r.ended || n == 0 || r.sights[n-1].status != "delivered" {
		wrong = append(wrong, fmt.Sprintf("the page shows %+v, ended %t", r.sights, r.ended))
	}
	return wrong
}

// said is an event of the feed.
type said struct {
	id, kind string
	sequence int
	body     [sha256.Size]byte
}

// came is what is wrong with the webhooks of a delivery, and with its events in
// the feed: all, in their order, and the same.
func (r *receiver) came(j *journey, feed []said) (wrong []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []string
	var before time.Time
	for i, e := range feed {
		kinds = append(kinds, e.kind)
		p := r.parcels[e.id]
		switch {
		case e.sequence != i+1:
			wrong = append(wrong, fmt.Sprintf("the feed has %d in place %d", e.sequence, i+1))
		case p == nil || !p.accepted():
			wrong = append(wrong, "the webhook of "+e.kind+" never arrived")
		case p.differ > 0 || p.body != e.body || p.delivery != hexOf(j.id) || p.sequence != e.sequence:
			wrong = append(wrong, "the webhook of "+e.kind+" is not what the feed has")
		default:
			first := p.arrivals[0].came
			if first.Before(before) {
				wrong = append(wrong, "the webhook of "+e.kind+" overtook one before it")
			}
			before = first
		}
	}
	known := 0
	for _, p := range r.parcels {
		if p.delivery == hexOf(j.id) {
			known++
		}
	}
	if known != len(feed) {
		wrong = append(wrong, fmt.Sprintf("%d webhooks of %d events", known, len(feed)))
	}
	return append(wrong, expect("the feed", kinds,
		"delivery.created", "delivery.assigned", "delivery.picked_up", "delivery.in_transit", "delivery.delivered")...)
}

// feed reads all events there are, by delivery, and waits for so many.
func (c *company) feed(t *testing.T, events int) map[string][]said {
	t.Helper()
	found, cursor, n := map[string][]said{}, "", 0
	for deadline := time.Now().Add(patience); n < events && time.Now().Before(deadline); {
		query := "?limit=100"
		if cursor != "" {
			query += "&cursor=" + url.QueryEscape(cursor)
		}
		var page struct {
			Data []json.RawMessage
			Meta struct {
				Next string `json:"next_cursor"`
			}
		}
		c.get(t, c.customer, "/events"+query, &page)
		for _, raw := range page.Data {
			var e struct {
				ID, Type string
				Sequence int
				Data     struct{ Delivery struct{ ID string } }
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			n++
			id := e.Data.Delivery.ID
			found[id] = append(found[id], said{id: e.ID, kind: e.Type, sequence: e.Sequence, body: sha256.Sum256(raw)})
		}
		cursor = page.Meta.Next
	}
	return found
}

// records are what the audit log says of each delivery, oldest first; under
// "" all that is about none.
func (c *company) records(t *testing.T) map[string][]string {
	t.Helper()
	done := map[string][]string{}
	for cursor := ""; ; {
		query := "/audit?limit=100&operator_id=" + c.token
		if cursor != "" {
			query += "&cursor=" + url.QueryEscape(cursor)
		}
		var page struct {
			Data []struct {
				Action, Target string
				Details        map[string]string
			}
			Meta struct {
				Next *string `json:"next_cursor"`
			}
		}
		c.get(t, c.operators, query, &page)
		for _, e := range page.Data {
			target, operation := "", e.Action
			if strings.HasPrefix(e.Target, "dlv_") {
				target, operation = e.Target, e.Details["from"]+">"+e.Details["to"]
			}
			done[target] = slices.Insert(done[target], 0, operation) // newest come first
		}
		if page.Meta.Next == nil {
			return done
		}
		cursor = *page.Meta.Next
	}
}

// get reads when all is well again.
func (c *company) get(t *testing.T, as *sender, path string, into any) {
	t.Helper()
	r, err := c.insist(t.Context(), as, http.MethodGet, path, "", nil)
	if err := decode(r, err, http.StatusOK, into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}
