package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/application/reports"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// refusing is a database that counts no work while it refuses.
type refusing struct {
	ports.Storage
	on *atomic.Bool
}

type refusingPlatform struct {
	ports.PlatformReader
	on *atomic.Bool
}

func (r refusing) Read() ports.Readers {
	all := r.Storage.Read()
	all.Platform = refusingPlatform{all.Platform, r.on}
	return all
}

func (p refusingPlatform) Work(ctx context.Context, e domain.Environment, at time.Time) (domain.WorkTallies, error) {
	if p.on.Load() {
		return nil, errors.New("refused")
	}
	return p.PlatformReader.Work(ctx, e, at)
}

// The columns of the file of deliveries that filters are about.
const (
	columnEnvironment = 3
	columnStatus      = 4
	columnBusiness    = 6
	columnApplication = 8
	columnBooked      = 12
)

func TestEachFilterOfTheListNarrowsItToWhatItSays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busy(t, s)
	sandbox := s.delivery.Tenant
	sandbox.Environment = domain.Sandbox
	if err := s.Store.Book(t.Context(), sample.BookingWrite(sandbox, func(b *domain.Booking) { b.CreatedAt = s.Clock.Now() })); err != nil {
		t.Fatal(err)
	}
	r := s.signedIn(t, domain.RoleViewer)
	all := s.csvOf(t, r, "/deliveries.csv?environment=any&created_after=2020-01-01")[1:]
	is := func(column int, want string) func([]string) bool {
		return func(row []string) bool { return row[column] == want }
	}
	const day = "2026-03-13"
	for query, holds := range map[string]func([]string) bool{
		"status=booked":                        is(columnStatus, "booked"),
		"environment=sandbox":                  is(columnEnvironment, "sandbox"),
		"environment=live":                     is(columnEnvironment, "live"), // of two pages
		"business=" + string(s.business.ID):    is(columnBusiness, string(s.business.ID)),
		"application=" + string(s.app.ID):      is(columnApplication, string(s.app.ID)),
		"created_after=" + day:                 func(row []string) bool { return row[columnBooked] >= day },
		"created_before=" + day:                func(row []string) bool { return row[columnBooked] < day },
		"status=open&application=" + all[0][8]: func(row []string) bool { return row[8] == all[0][8] && domain.Status(row[4]).Open() },
		"order=oldest&status=open":             func(row []string) bool { return domain.Status(row[columnStatus]).Open() },
	} {
		if !strings.Contains(query, "environment") {
			query += "&environment=any"
		}
		if !strings.Contains(query, "created_after") {
			query += "&created_after=2020-01-01"
		}
		var want []string
		for _, row := range all {
			if holds(row) {
				want = append(want, row[0])
			}
		}
		if strings.Contains(query, "order=oldest") {
			slices.Reverse(want)
		}
		got := walkList(t, r, "/deliveries?"+query)
		var file []string
		for _, row := range s.csvOf(t, r, "/deliveries.csv?"+query)[1:] {
			file = append(file, row[0])
		}
		if len(want) == 0 || len(want) == len(all) || !slices.Equal(got, want) || !slices.Equal(file, want) {
			t.Errorf("%s: the list has %d of %d, and the file %d, want %d, in their order", query, len(got), len(all), len(file), len(want))
		}
	}
}

func TestTheAttentionQueueShowsTheOldestOfEachKindFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busy(t, s)
	r := s.signedIn(t, domain.RoleViewer)
	for query, unassigned := range map[string]string{"": "15m-", "?unassigned=4h": "4h-"} {
		body := r.get("/" + query).body
		queues, counts := strings.Split(body, `data-queue="`)[1:], cellTag.FindAllStringSubmatch(body, -1)
		for i, section := range queues {
			var shown []string
			for _, m := range rowTag.FindAllStringSubmatch(section, -1) {
				shown = append(shown, m[1])
			}
			path := []string{"?status=booked&order=oldest&age=" + unassigned, "?status=failed&order=oldest&age=-24h",
				"?status=outsourced&order=oldest&age=4h-"}[i]
			all := walkList(t, r, "/deliveries"+path)
			if len(all) == 0 || !slices.Equal(shown, all[:min(5, len(all))]) {
				t.Errorf("%s: queue %d shows %v, and its list begins with %v", query, i, shown, all[:min(5, len(all))])
			}
			if counts[i][3] != strconv.Itoa(len(all)) {
				t.Errorf("%s: queue %d says %s, and its list has %d", query, i, counts[i][3], len(all))
			}
		}
		if len(queues) != 3 {
			t.Errorf("%d queues", len(queues))
		}
	}
}

func TestAListTellsSinceWhenADeliveryHasItsStatus(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.wait(2 * time.Hour)
	r := s.signedIn(t, domain.RoleDispatcher)
	moved(t, r, r.get("/deliveries/"+string(s.delivery.ID)), "assigned", "")
	since := regexp.MustCompile(string(s.delivery.ID) + `(?s:.*?)<time data-ago datetime="([^"]*)"`).FindStringSubmatch(r.get("/deliveries").body)
	if since == nil {
		t.Fatal("the list tells of no time")
	}
	if at := must[time.Time](t)(time.Parse(time.RFC3339, since[1])); s.Clock.Now().Sub(at) > time.Minute {
		t.Errorf("it was moved at %s, and the list says %s", s.Clock.Now(), at)
	}
}

func TestWhatStandsInTheWayNeedsAttention(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	quiet := func(r *reader) (body string, nothing bool) {
		body = r.get("/").body
		return body, strings.Contains(body, "Nothing needs attention")
	}
	r := s.signedIn(t, domain.RoleViewer)
	if body, nothing := quiet(r); nothing || !strings.Contains(body, "failing: 3 attempts in a row") {
		t.Error("an endpoint that has failed for an hour needs no attention")
	}
	s = newScene(t)
	heal(t, s)
	s.services = []reports.PriceService{
		{Name: "Pricing", Check: func(context.Context) error { return errors.New("refused") }},
		{Name: "Routing", Check: func(context.Context) error { return nil }},
	}
	r = s.signedIn(t, domain.RoleViewer)
	if _, nothing := quiet(r); !nothing {
		t.Error("something waits where nothing does")
	}
	r.url = s.serve(t)
	if body, nothing := quiet(r); nothing || !strings.Contains(body, "Pricing does not answer") {
		t.Errorf("nothing needs attention though pricing is down\n%s", body)
	}
}

// heal lets no endpoint of the scene fail.
func heal(t *testing.T, s *scene) {
	t.Helper()
	for _, e := range must[[]domain.EndpointShown](t)(s.Store.Read().Machinery.Endpoints(t.Context(), domain.EndpointFilter{Unwell: true},
		s.Clock.Now(), nil, 100)) {
		e.Health = domain.WebhookHealth{}
		s.Write(t, func(ctx context.Context, tx ports.Stores) error {
			return tx.Webhooks.UpdateEndpoint(ctx, e.WebhookEndpoint)
		})
	}
}

func TestTheBoardHasEachCustomerOnceWithTheMostOpenFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busy(t, s)
	for i := range 53 {
		b := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, fmt.Sprintf("Shop %d", i), nil))
		app := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, b.ID, "Shop"))
		if err := s.Store.Book(t.Context(), sample.BookingWrite(domain.Tenant{BusinessID: b.ID, ApplicationID: app.ID, Environment: domain.Live},
			func(b *domain.Booking) { b.CreatedAt = s.Clock.Now() })); err != nil {
			t.Fatal(err)
		}
	}
	r := s.signedIn(t, domain.RoleViewer)
	row := regexp.MustCompile(`(?s)<tr data-id="(biz_[0-9a-f]+)">.*?data-cell="biz_[0-9a-f]+/"[^>]*>([0-9]+)</a>`)
	seen, last := map[string]bool{}, 1<<30
	for i, want := range []int{50, 5} {
		p := r.get(fmt.Sprintf("/board?page=%d", i))
		rows := row.FindAllStringSubmatch(p.body, -1)
		if len(rows) != want || strings.Contains(p.body, `rel="next"`) != (i == 0) {
			t.Errorf("page %d has %d customers, want %d", i, len(rows), want)
		}
		for _, m := range rows {
			var open int
			_, _ = fmt.Sscan(m[2], &open) // the expression has digits only
			if seen[m[1]] || open > last {
				t.Errorf("page %d: %s with %d open comes behind %d, or again", i, m[1], open, last)
			}
			seen[m[1]], last = true, open
		}
	}
}

var bookedNow = regexp.MustCompile(`data-cell="a/booked/7"[^>]*>([0-9]+)</a>`)

func TestAMoveIsOnTheBoardAtOnceAndNumbersThatAreOldSaySo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	before := bookedNow.FindStringSubmatch(r.get("/board").body)
	path := "/deliveries/" + string(s.delivery.ID)
	moved(t, r, r.get(path), "assigned", "")
	after := bookedNow.FindStringSubmatch(r.get("/board").body)
	if before == nil || after == nil || before[1] != "2" || after[1] != "1" {
		t.Errorf("before the move %v were booked, after it %v", before, after)
	}
	s.refuses.Store(true)
	moved(t, r, r.get(path), "picked_up", "") // so that it is counted anew
	for _, page := range []string{"/board", "/"} {
		if p := r.get(page); p.status != http.StatusOK || !strings.Contains(p.body, "These numbers are old") {
			t.Errorf("%s: %d, without a word", page, p.status)
		}
	}
}

func TestAStreamTellsOfEachChangeOfItsOwnBoardAndWhenItIsOld(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	sandbox, live := events(t, r, "?environment=sandbox"), events(t, r, "")
	deadline := time.After(time.Minute)
	wait := func(said <-chan string, name string) (data string) {
		t.Helper()
		for event := ""; ; {
			select {
			case line, open := <-said:
				switch {
				case !open:
					t.Fatalf("it ended before %q", name)
				case strings.HasPrefix(line, "event: "):
					event = line[len("event: "):]
				case strings.HasPrefix(line, "data: ") && event == name:
					return line
				}
			case <-deadline:
				t.Fatalf("there is no %q", name)
			}
		}
	}
	if data := wait(sandbox, "board"); strings.Contains(data, "booked") {
		t.Errorf("the board of the sandbox has %s", data)
	}
	if data := wait(live, "board"); !strings.Contains(data, `"a/booked/7":2`) || strings.Contains(data, "a/assigned/7") {
		t.Errorf("the board has %s", data)
	}
	moved(t, r, r.get("/deliveries/"+string(s.delivery.ID)), "assigned", "")
	if data := wait(live, "board"); !strings.Contains(data, `"a/booked/7":1`) || !strings.Contains(data, `"a/assigned/7":1`) {
		t.Errorf("after the move it has %s", data)
	}
	s.refuses.Store(true)
	wait(live, "stale")
	s.refuses.Store(false)
	wait(live, "board")
}

func TestADeliveryOffersExactlyTheMovesThatAreAllowedAndOnlyTheCompanysReasons(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	buttons := regexp.MustCompile(`id="to-([a-z_]*)"`)
	path := "/deliveries/" + string(s.delivery.ID)
	for _, to := range []domain.Status{domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered} {
		p := r.get(path)
		d := must[*domain.Delivery](t)(s.Store.Read().Deliveries.Get(t.Context(), s.delivery.Tenant, s.delivery.ID))
		var offered []domain.Status
		for _, m := range buttons.FindAllStringSubmatch(p.body, -1) {
			offered = append(offered, domain.Status(m[1]))
		}
		if strings.Contains(p.body, string(domain.ReasonCancelledByCaller)) {
			t.Errorf("the customer's own reason is offered")
		}
		if !slices.Equal(offered, d.Next(domain.ActorPlatform)) {
			t.Errorf("%s: %v are offered, want %v", d.Status(), offered, d.Next(domain.ActorPlatform))
		}
		moved(t, r, p, string(to), "")
	}
	if p := r.get(path); strings.Contains(p.body, `action="/console`+path+`/move"`) {
		t.Error("a delivery that is delivered has the form")
	}
	if p := r.post(path+"/move", url.Values{"status": {"assigned"}}); p.status != http.StatusConflict {
		t.Errorf("a move that the state machine forbids: %d", p.status)
	}
}
