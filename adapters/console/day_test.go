package console_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/adapters/normalizer"
	"waybill/application/deliveries"
	"waybill/application/monitoring"
	"waybill/application/reports"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

func init() {
	equip = append(equip, func(t *testing.T, s *scene, u *console.UseCases) {
		u.Operations = deliveries.NewOperations(s.Store, s.Clock, drawn{s.IDs}, stage.Renderer{})
		u.Requests = monitoring.NewRequests(s.Store, s.Clock)
		u.Board = reports.NewBoard(refusing{s.Store, &s.refuses}, s.Clock, s.services...)
	})
	furnish = append(furnish, func(_ *testing.T, s *scene) {
		s.ids[":delivery"] = string(s.delivery.ID)
		s.records = append(s.records, string(s.delivery.Recipient.PhoneNumber))
	})
	add(map[string]row{
		"GET /search":                     {may: everybody},
		"GET /board":                      {may: everybody},
		"GET /board/events":               {may: everybody},
		"GET /deliveries":                 {may: everybody},
		"GET /deliveries.csv":             {may: everybody},
		"GET /deliveries/:delivery":       {may: everybody},
		"GET /deliveries/:delivery/move":  {may: everybody},
		"POST /deliveries/:delivery/move": {may: dispatchers, form: sent("status", "assigned", "reason_code", "")},
	})
}

// drawn draws IDs at random: of events whose IDs come in a row the webhooks would be one.
type drawn struct{ ports.Identifiers }

func (drawn) ID(p domain.Prefix) domain.ID { return sample.ID(p) }

// idAt is the ID of a delivery that is booked then: those of a time are found by it.
func idAt(at time.Time) domain.ID {
	id, ms := sample.ID(domain.PrefixDelivery).Hex(), at.UnixMilli()
	return domain.ID(string(domain.PrefixDelivery) + fmt.Sprintf("%012x", ms) + id[12:])
}

// busy adds deliveries of two customers in many statuses and ages to a scene.
func busy(t *testing.T, s *scene) {
	t.Helper()
	other := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "=Kente & Co", nil))
	app := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, other.ID, "Shop"))
	now := s.Clock.Now()
	for i := range 70 {
		tenant := domain.Tenant{BusinessID: other.ID, ApplicationID: app.ID, Environment: domain.Live}
		if i%7 == 0 {
			tenant = s.delivery.Tenant
		}
		at := domain.Millis(now.Add(-time.Duration(i*i) * time.Minute))
		w := sample.BookingWrite(tenant, func(d *domain.Booking) {
			d.ID, d.CreatedAt, d.ExternalID = idAt(at), at, fmt.Sprintf("order-%d", i)
		})
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		for range i % 6 {
			s.Write(t, func(ctx context.Context, tx ports.Stores) error {
				d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
				next := d.Next(domain.ActorPlatform)
				if err != nil || len(next) == 0 {
					return err
				}
				e, err := d.Move(next[i/6%len(next)], domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), at)
				if err != nil {
					return err
				}
				return tx.Deliveries.Update(ctx, tenant, d, sample.Published(e))
			})
		}
	}
}

var (
	cellTag = regexp.MustCompile(`<a href="([^"]*)" (?:data-cell|data-queue)="([^"]*)"[^>]*>([0-9,]+)</a>`)
	rowTag  = regexp.MustCompile(`<tr data-id="(dlv_[0-9a-f]+)"`)
	nextTag = regexp.MustCompile(`href="([^"]*)" rel="next"`)
)

// walkList is the IDs of a list, page by page to its end.
func walkList(t *testing.T, r *reader, path string) (ids []string) {
	t.Helper()
	return walkTable(t, r, path, nextTag)
}

func TestEachNumberOfTheBoardLeadsToExactlyTheListItCounts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busy(t, s)
	r := s.signedIn(t, domain.RoleViewer)
	lists, sum := 0, 0
	for _, path := range []string{"/", "/?unassigned=1h&quiet=5m", "/board", "/board?business=" + string(s.business.ID)} {
		page := r.get(path)
		cells := cellTag.FindAllStringSubmatch(page.body, -1)
		if page.status != http.StatusOK || len(cells) < 3 {
			t.Fatalf("%s: %d with %d numbers", path, page.status, len(cells))
		}
		s.wait(7 * time.Minute) // the numbers keep their lists while time goes by
		for _, cell := range cells {
			want := must[int](t)(strconv.Atoi(strings.ReplaceAll(cell[3], ",", "")))
			ids := walkList(t, r, strings.TrimPrefix(html.UnescapeString(cell[1]), console.Prefix))
			if len(ids) != want {
				t.Errorf("%s: %s says %d, and %s has %d", path, cell[2], want, cell[1], len(ids))
			}
			lists, sum = lists+1, sum+want
		}
	}
	if lists < 50 || sum < 200 {
		t.Errorf("only %d lists with %d deliveries", lists, sum)
	}
}

func TestTheSearchOfTheFrameFindsEachKindOfRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fails(t, s)
	r := s.signedIn(t, domain.RoleSupport)
	delivery, business := "/deliveries/"+string(s.delivery.ID), "/businesses/"+string(s.business.ID)
	for typed, want := range map[string]string{
		string(s.delivery.Reference):             delivery,
		s.delivery.ExternalID:                    delivery,
		string(s.delivery.Recipient.PhoneNumber): delivery,
		s.business.Name[:4] + " ":                business,
		string(s.app.ID):                         business,
		s.ids[":request"]:                        "/requests/" + s.ids[":request"],
		s.ids[":endpoint"]:                       "/webhooks/" + s.ids[":endpoint"],
		"hooks.adom":                             "/webhooks/" + s.ids[":endpoint"],
	} {
		if p := r.get("/search?q=" + url.QueryEscape(typed)); p.at != want && !strings.Contains(p.body, `href="/console`+want+`"`) {
			t.Errorf("%q leads to %s (%d)", typed, p.at, p.status)
		}
	}
	r.get("/search?q=%3Cb%3E").has(t, "Nothing found for “&lt;b&gt;”")
	r.get("/businesses/"+string(s.business.ID)+"/apps").has(t, `action="/console/search"`)
	viewer := s.signedIn(t, domain.RoleViewer)
	viewer.get("/search?q="+url.QueryEscape(string(s.delivery.Recipient.PhoneNumber))).has(t, "cannot search by phone number")
}

func TestAZeroOfTheBoardIsNoLinkAndALateNumberIsShaded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.wait(2 * time.Hour)
	r := s.signedIn(t, domain.RoleViewer)
	r.get("/board?environment=sandbox").has(t, `<a data-cell="a/booked/7" data-href="`)
	r.get("/board").has(t, `<td class="number late-2"><a href="`)
}

func TestAPhoneNumberIsFoundInAnySpelling(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleSupport)
	normalizer := must[*normalizer.Normalizer](t)(normalizer.New("GH"))
	number := string(s.delivery.Recipient.PhoneNumber)
	national := "0" + strings.TrimPrefix(number, "+233")
	spellings := []string{number, national, national[:3] + " " + national[3:6] + " " + national[6:], "00" + number[1:],
		string(s.delivery.Reference), strings.ToLower(strings.ReplaceAll(string(s.delivery.Reference), "-", " ")), s.delivery.ExternalID,
		string(s.delivery.ID)}
	if _, sound := normalizer.PhoneNumber(national); !sound {
		spellings = slices.Delete(spellings, 1, 3)
	}
	for _, typed := range spellings {
		if p := r.get("/deliveries?q=" + url.QueryEscape(typed)); p.at != "/deliveries/"+string(s.delivery.ID) {
			t.Errorf("%q leads to %s (%d)", typed, p.at, p.status)
		}
	}
	if p := r.get("/deliveries?q=nothing"); p.status != http.StatusOK || !strings.Contains(p.body, "No delivery matches") {
		t.Errorf("nothing: %d", p.status)
	}
	for _, path := range []string{"?status=lost", "?environment=mars", "?age=3m-", "?business=x", "?after=x", "/x"} {
		if p := r.get("/deliveries" + path); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
}

func TestAViewerSeesNoNameAndNumberOfARecipient(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	path := "/deliveries/" + string(s.delivery.ID)
	for role, sees := range map[domain.Role]bool{domain.RoleAdmin: true, domain.RoleDispatcher: true, domain.RoleSupport: true,
		domain.RoleViewer: false} {
		body := html.UnescapeString(s.signedIn(t, role).get(path).body)
		for _, text := range []string{string(s.delivery.Recipient.PhoneNumber), s.delivery.Recipient.Name, string(s.delivery.Pickup.Contact),
			s.delivery.Instructions, s.delivery.Dropoff.DeliveryNotes} {
			if text == "" {
				t.Fatal("the delivery lacks a text that a viewer must not read")
			}
			if strings.Contains(body, text) != sees {
				t.Errorf("%s sees %q: %v", role, text, !sees)
			}
		}
		if moves := strings.Contains(body, ">Mark as assigned<"); moves != (role == domain.RoleAdmin || role == domain.RoleDispatcher) {
			t.Errorf("%s has the form: %v", role, moves)
		}
	}
}

// moved sends a form of a page with a status and a reason.
func moved(t *testing.T, r *reader, p page, status, reason string) page {
	t.Helper()
	for _, f := range stage.Forms(p.body) {
		if strings.HasSuffix(f.Action, "/move") {
			f.Fields.Set("status", status)
			f.Fields.Set("reason_code", reason)
			return r.post(strings.TrimPrefix(f.Action, console.Prefix), f.Fields)
		}
	}
	t.Fatalf("%s has no form that moves:\n%s", p.at, p.body)
	return page{}
}

func TestAFormMovesOnceAndAStaleOneTellsWhereTheDeliveryIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	esi, kofi := s.signedIn(t, domain.RoleDispatcher), s.signedIn(t, domain.RoleAdmin)
	path := "/deliveries/" + string(s.delivery.ID)
	early := esi.get(path)
	if p := moved(t, esi, early, "failed", ""); p.status != http.StatusConflict && p.status != http.StatusUnprocessableEntity {
		t.Errorf("a step that is not there: %d", p.status)
	}
	for range 2 { // a double click
		if p := moved(t, esi, early, "assigned", ""); p.status != http.StatusOK || !strings.Contains(p.body, "The delivery was moved") {
			t.Errorf("%d\n%s", p.status, p.body)
		}
	}
	p := moved(t, esi, esi.get(path), "failed", "")
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="reason-failed-error"`) {
		t.Errorf("no reason: %d", p.status)
	}
	if p = moved(t, kofi, early, "cancelled", "no_rider"); p.status != http.StatusConflict ||
		!strings.Contains(p.body, "The delivery is assigned by now") || !strings.Contains(p.body, `role="alert"`) {
		t.Errorf("a stale form: %d\n%s", p.status, p.body)
	}
	if p = moved(t, kofi, p, "failed", "pickup_unavailable"); p.status != http.StatusOK ||
		!strings.Contains(p.body, "reason: pickup unavailable") || !strings.Contains(p.body, "by Kofi admin of the staff") {
		t.Errorf("the form of the refusal: %d\n%s", p.status, p.body)
	}
	entries := must[[]domain.AuditEntry](t)(s.audit.Entries(t.Context(), domain.AuditFilter{Target: s.delivery.ID},
		domain.PageRequest{Limit: 10}))
	if len(entries) != 2 || entries[0].Actor.ID != s.staff[domain.RoleAdmin].ID || entries[1].Actor.ID != s.staff[domain.RoleDispatcher].ID {
		t.Errorf("%+v", entries)
	}
	for _, form := range []url.Values{{"status": {"lost"}}, {"status": {"assigned"}, "reason_code": {"mood"}}, {"status": {"booked"}},
		{"status": {"assigned"}, "reason_code": {"other"}},
		{"status": {"assigned"}, "sequence": {"x"}}} {
		if p := kofi.post(path+"/move", form); p.status != http.StatusUnprocessableEntity && p.status != http.StatusBadRequest {
			t.Errorf("%v: %d", form, p.status)
		}
	}
}
