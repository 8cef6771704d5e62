package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

var (
	anyRow   = regexp.MustCompile(`<tr data-id="([^"]+)"`)
	olderTag = regexp.MustCompile(`href="([^"]*)">Older entries`)
)

// walkTable is the IDs of a table, page by page to its end.
func walkTable(t *testing.T, r *reader, path string, next *regexp.Regexp) (ids []string) {
	t.Helper()
	for pages := 0; path != "" && pages < 50; pages++ {
		p := r.get(path)
		if p.status != http.StatusOK {
			t.Fatalf("%s: %d", path, p.status)
		}
		for _, m := range anyRow.FindAllStringSubmatch(p.body, -1) {
			ids = append(ids, m[1])
		}
		path = ""
		if m := next.FindStringSubmatch(p.body); m != nil {
			path = strings.TrimPrefix(html.UnescapeString(m[1]), console.Prefix)
		}
	}
	return ids
}

func TestEachFilterOfTheWebhooksNarrowsThemAndEachIsOnOnePage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	other := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Kofi Pharmacy", nil))
	apps := []domain.Application{s.app, must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, other.ID, "Till"))}
	for i := range 40 {
		app := apps[i%2]
		tenant := domain.Tenant{BusinessID: app.BusinessID, ApplicationID: app.ID, Environment: []domain.Environment{domain.Live,
			domain.Sandbox}[i/2%2]}
		s.Write(t, func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant, func(e *domain.WebhookEndpoint) {
				e.URL = fmt.Sprintf("https://h%d.kumasi.example/", i)
				if i%3 > 0 {
					e.Health = domain.WebhookHealth{}
				}
				if i%5 == 4 {
					e.Enabled, e.Disabled = false, domain.DisabledGone
				}
			}))
			return err
		})
	}
	r := s.signedIn(t, domain.RoleViewer)
	all := must[[]domain.EndpointShown](t)(s.Store.Read().Machinery.Endpoints(t.Context(), domain.EndpointFilter{}, s.Clock.Now(), nil, 100))
	unwell := []domain.EndpointStanding{domain.StandingFailing, domain.StandingBehind, domain.StandingDisabled}
	for query, holds := range map[string]func(domain.EndpointShown) bool{
		"":                             func(domain.EndpointShown) bool { return true },
		"standing=failing":             func(e domain.EndpointShown) bool { return e.Standing == domain.StandingFailing },
		"standing=disabled":            func(e domain.EndpointShown) bool { return e.Standing == domain.StandingDisabled },
		"standing=unwell":              func(e domain.EndpointShown) bool { return slices.Contains(unwell, e.Standing) },
		"environment=sandbox":          func(e domain.EndpointShown) bool { return e.Tenant.Environment == domain.Sandbox },
		"q=h1":                         func(e domain.EndpointShown) bool { return strings.Contains(e.URL, "h1") },
		"business=" + string(other.ID): func(e domain.EndpointShown) bool { return e.Tenant.BusinessID == other.ID },
		"environment=live&application=" + string(apps[1].ID): func(e domain.EndpointShown) bool {
			return e.Tenant.ApplicationID == apps[1].ID && e.Tenant.Environment == domain.Live
		},
		"business=" + string(s.business.ID) + "&environment=sandbox": func(e domain.EndpointShown) bool {
			return e.Tenant.BusinessID == s.business.ID && e.Tenant.Environment == domain.Sandbox
		},
	} {
		var want []string
		for _, e := range all {
			if holds(e) {
				want = append(want, string(e.ID))
			}
		}
		got := walkTable(t, r, "/webhooks?"+query, nextTag)
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) || len(want) == 0 {
			t.Errorf("%q: the list has %d, want %d, each once", query, len(got), len(want))
		}
	}
}

func TestAPauseIsOfTheEnvironmentOrEndpointThatItNames(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	admin := s.signedIn(t, domain.RoleAdmin)
	admin.post("/webhooks/pause", url.Values{"environment": {"sandbox"}, "reason": {"The network is down"}})
	pauses := must[[]domain.SendingPause](t)(s.Store.Read().Sending.Pauses(t.Context()))
	if len(pauses) != 1 || pauses[0].Environment != domain.Sandbox || pauses[0].By != "Kofi admin" {
		t.Errorf("the pauses are %+v", pauses)
	}
	for act, enabled := range map[string]bool{"pause": false, "resume": true} {
		if act == "resume" {
			admin.post("/webhooks/"+s.ids[":endpoint"]+"/pause", nil)
		}
		admin.post("/webhooks/"+s.ids[":endpoint"]+"/"+act, nil)
		for _, e := range must[[]domain.EndpointShown](t)(s.Store.Read().Machinery.Endpoints(t.Context(), domain.EndpointFilter{},
			s.Clock.Now(), nil, 100)) {
			if want := enabled || string(e.ID) != s.ids[":endpoint"]; e.Enabled != want {
				t.Errorf("after %s the endpoint %s is enabled: %v", act, e.ID, e.Enabled)
			}
		}
	}
}

func TestTheAuditLogIsReadPageByPageAndInTheFileByEachFilter(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	by := domain.AuditActor{ID: s.staff[domain.RoleAdmin].ID, Name: "Kofi admin"}
	entry := func() domain.ID {
		return must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), by, "Shop", nil)).ID
	}
	const early = 510 // more than a file reads at a time
	for range early {
		entry()
	}
	s.wait(time.Hour)
	middle := s.Clock.Now().UTC().Truncate(time.Minute).Format("2006-01-02T15:04")
	s.wait(time.Minute)
	last := entry()
	r := s.signedIn(t, domain.RoleSupport)
	query := "/audit?action=business.create&actor=" + string(by.ID)
	for filter, want := range map[string]int{"": early + 1, "&since=" + middle: 1, "&until=" + middle: early, "&target=" + string(last): 1,
		"&business=" + string(last): 1, "&since=" + middle + "&until=" + middle: 0} {
		got := walkTable(t, r, query+filter, olderTag)
		if n := len(slices.Compact(slices.Sorted(slices.Values(got)))); n != want || len(got) != want {
			t.Errorf("%s: %d entries, %d of them different, want %d", filter, len(got), n, want)
		}
		if rows := s.csvOf(t, r, strings.Replace(query, "/audit", "/audit.csv", 1)+filter); len(rows)-1 != want {
			t.Errorf("%s: %d rows in the file, want %d", filter, len(rows)-1, want)
		}
	}
}

// lives books a delivery of the scene's customer and moves it on, so many minutes after the booking.
func (s *scene) lives(t *testing.T, with func(*domain.Booking), way ...func() (domain.Status, domain.ReasonCode, int)) {
	t.Helper()
	at := s.Clock.Now().Add(-11 * time.Hour)
	tenant := domain.Tenant{BusinessID: s.business.ID, ApplicationID: s.app.ID, Environment: domain.Live}
	w := sample.BookingWrite(tenant, func(b *domain.Booking) { b.ID, b.CreatedAt = idAt(at), at; with(b) })
	if err := s.Store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	for _, step := range way {
		to, reason, minutes := step()
		moved := at.Add(time.Duration(minutes) * time.Minute)
		if err := s.Store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			_, err := deliveries.Change(ctx, tx, stage.Renderer{}, tenant, w.Delivery.ID, moved, func(d *domain.Delivery) ([]domain.Event, error) {
				e, err := d.Move(to, domain.ActorPlatform, reason, sample.ID(domain.PrefixEvent), moved)
				return []domain.Event{e}, err
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAReportHasTheTimesAndReasonsOfItsFilters(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	here := func(b *domain.Booking) { b.VehicleType, b.Dropoff.Municipality = domain.Bike, "Wa" }
	step := func(to domain.Status, reason domain.ReasonCode, minutes int) func() (domain.Status, domain.ReasonCode, int) {
		return func() (domain.Status, domain.ReasonCode, int) { return to, reason, minutes }
	}
	for i := range 20 {
		n := i + 1
		s.lives(t, here, step(domain.Assigned, "", n), step(domain.PickedUp, "", n), step(domain.InTransit, "", n),
			step(domain.Delivered, "", 10*n))
	}
	for i := range 4 {
		s.lives(t, here, step(domain.Assigned, "", 600), step(domain.Failed, []domain.ReasonCode{"", domain.ReasonNoRider}[min(i/3, 1)], 610))
	}
	for i := range 101 {
		s.lives(t, func(b *domain.Booking) { b.Dropoff.Municipality = fmt.Sprintf("Town %d", i) })
	}
	s.countReports(t)
	r := s.signedIn(t, domain.RoleViewer)
	today := domain.ReportDay(s.Clock.Now()).Format(time.DateOnly)
	for query, want := range map[string]int{
		"municipality=Wa": 24, "municipality=Wa&vehicle=bike": 24, "municipality=Wa&vehicle=car": 0, "municipality=Nowhere": 0,
		"municipality=Wa&environment=sandbox": 0, "municipality=Wa&customer=" + string(s.business.ID): 24,
		"municipality=Wa&from=" + today + "&to=" + today: 24, "municipality=Wa&to=2026-03-13": 0,
	} {
		rows := s.csvOf(t, r, "/reports.csv?each=customer&"+query)
		booked := "0"
		if len(rows) == 2 {
			booked = rows[1][5]
		}
		if booked != fmt.Sprint(want) || len(rows) > 2 {
			t.Errorf("%s: %s were booked, want %d", query, booked, want)
		}
	}
	row := s.csvOf(t, r, "/reports.csv?each=vehicle&municipality=Wa")[1]
	for i, want := range []float64{12 * 60, 600 * 60, 100 * 60, 190 * 60} { // the 12th and the 23rd of 24, the 10th and the 19th of 20
		var got float64
		if _, err := fmt.Sscan(row[len(row)-4+i], &got); err != nil || math.Abs(got/want-1) > domain.DurationsError {
			t.Errorf("time %d is %s s, want %v (%v)", i, row[len(row)-4+i], want, err)
		}
	}
	page := html.UnescapeString(r.get("/reports?municipality=Wa").body)
	for _, want := range []string{
		`No reason was given</th><td data-label="Failures" class="number">3</td><td data-label="Of all failures" class="number">75.0 %`,
		`No rider</th><td data-label="Failures" class="number">1</td><td data-label="Of all failures" class="number">25.0 %`,
		"assigned within <strong>1", "95 of 100 within <strong>10 h", "delivered within <strong>1 h", "within <strong>3 h",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	var days []string
	for _, m := range anyRow.FindAllStringSubmatch(page, -1) {
		days = append(days, m[1])
	}
	if len(days) != 30 || days[0] != today || !slices.IsSortedFunc(days, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("the days are %v, want 30 from %s back", days, today)
	}
	p := r.get("/reports?each=municipality")
	if n := len(anyRow.FindAllString(p.body, -1)); n != 100 || !strings.Contains(p.body, "more, with fewer bookings") {
		t.Errorf("a page has %d municipalities", n)
	}
}

func TestTheMapShowsTheDeliveriesOfItsFilters(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fresh := s.signedIn(t, domain.RoleViewer)
	late := regexp.MustCompile(`class="(cluster|point) late"`)
	if p := fresh.get("/map?streets=no"); late.MatchString(p.body) || !strings.Contains(p.body, `class="`) {
		t.Error("what was booked just now stands out as late")
	}
	busyDay(t, s)
	for _, to := range []domain.Status{domain.Assigned, domain.PickedUp} {
		moved(t, s.signedIn(t, domain.RoleAdmin), s.signedIn(t, domain.RoleAdmin).get("/deliveries/"+string(s.delivery.ID)), string(to), "")
	}
	sandbox, another := s.delivery.Tenant, s.delivery.Tenant
	sandbox.Environment = domain.Sandbox
	another.BusinessID = must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Kofi Bakery", nil)).ID
	another.ApplicationID = must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, another.BusinessID, "Shop")).ID
	for _, tenant := range []domain.Tenant{sandbox, another} {
		w := sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = s.Clock.Now() })
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	r := s.signedIn(t, domain.RoleViewer)
	r.url = s.serve(t)
	var points struct {
		Features []struct{ Properties struct{ Kind, ID string } }
	}
	open := "status=open"
	for query, list := range map[string][]string{
		"": {open}, "status=assigned": {"status=assigned"}, "customer=" + string(s.business.ID): {open + "&business=" + string(s.business.ID)},
		"environment=sandbox": {open + "&environment=sandbox"}, "show=pickups": {"status=booked", "status=assigned", "status=outsourced"},
	} {
		if err := json.Unmarshal([]byte(r.get("/map/points?"+query).body), &points); err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, f := range points.Features {
			if f.Properties.Kind == "delivery" {
				got = append(got, f.Properties.ID)
			}
		}
		for _, q := range list {
			want = append(want, walkList(t, r, "/deliveries?"+q)...)
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%q: the map has %d deliveries, the list %d", query, len(got), len(want))
		}
	}
	dropoffs, pickups := r.get("/map/points").body, r.get("/map/points?show=pickups").body
	longitude := regexp.MustCompile(`"coordinates":\[(-?[0-9.]+),`)
	if longitude.FindString(dropoffs) == "" || longitude.FindString(dropoffs) == longitude.FindString(pickups) {
		t.Error("pickups are where dropoffs are")
	}
	p := r.get("/map?lat=7&lon=-1&zoom=5")
	if !late.MatchString(p.body) {
		t.Error("no delivery of days ago stands out as late")
	}
	moves := regexp.MustCompile(`href="([^"]*)"[^>]*>(North|South|West|East)<`).FindAllStringSubmatch(p.body, -1)
	for _, m := range moves {
		to := must[*url.URL](t)(url.Parse(html.UnescapeString(m[1]))).Query()
		var lat, lon float64
		_, _ = fmt.Sscan(to.Get("lat"), &lat) // 0 fails below
		_, _ = fmt.Sscan(to.Get("lon"), &lon)
		if ok := map[string]bool{"North": lat > 8, "South": lat < 6 && lat != 0, "West": lon < -2, "East": lon > 0}[m[2]]; !ok {
			t.Errorf("%s leads to %v, %v", m[2], lat, lon)
		}
	}
	if len(moves) != 4 {
		t.Errorf("%d ways to move the map", len(moves))
	}
}

func TestQueuesTellWhatWaitsWhatIsDueAndWhatIsLate(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := regexp.MustCompile(`Webhooks[^W]*?live.*?data-label="Waiting">([^<]*)</td><td data-label="Due now">([^<]*)</td>`)
	r := s.signedIn(t, domain.RoleViewer)
	page := r.get("/queues").body
	now := row.FindStringSubmatch(strings.ReplaceAll(page, "\n", ""))
	if now == nil || now[1] != now[2] || now[2] == "0" || !strings.Contains(page, `<span class="tag bad">2 min`) {
		t.Errorf("what was booked 2 minutes ago is due and late: %q", now)
	}
	if !strings.Contains(page, "it may forget notifications") {
		t.Error("nothing says that Redis forgets")
	}
	s.wait(-time.Hour) // it is due in an hour
	r.url = s.serve(t)
	page = s.served(t, r).get("/queues").body
	if later := row.FindStringSubmatch(strings.ReplaceAll(page, "\n", "")); later == nil || later[1] != now[1] || later[2] != "0" {
		t.Errorf("an hour before %q wait and are due", later)
	}
}

// served is the browser of another person at the same process.
func (s *scene) served(t *testing.T, at *reader) *reader {
	t.Helper()
	r := s.signedIn(t, domain.RoleSupport)
	r.url = at.url
	return r
}

func TestEachCustomerOfASearchIsOnOnePage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var want []string
	for i := range 60 {
		name := []string{"Kofi Pharmacy", "Ama Bakery"}[i%2]
		b := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, fmt.Sprintf("%s %d", name, i), nil))
		if i%2 == 0 {
			want = append(want, string(b.ID))
			continue
		}
		if i%4 == 1 {
			must[domain.Business](t)(s.tenants.SetBusinessDisabled(t.Context(), operator, b.ID, true))
		}
	}
	r := s.signedIn(t, domain.RoleViewer)
	more := regexp.MustCompile(`href="([^"]*)">More customers`)
	got := walkTable(t, r, "/businesses?q=Kofi+Pharmacy&state=active", more)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the search finds %d, want %d, each once", len(got), len(want))
	}
	if disabled := walkTable(t, r, "/businesses?state=disabled", more); len(disabled) != 15 {
		t.Errorf("%d are disabled, want 15", len(disabled))
	}
	if active := walkTable(t, r, "/businesses?state=active", more); len(active) != 46 {
		t.Errorf("%d are active, want 46", len(active))
	}
}
