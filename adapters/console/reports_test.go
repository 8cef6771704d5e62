package console_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/application/deliveries"
	"waybill/application/reports"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

func init() {
	equip = append(equip, func(t *testing.T, s *scene, u *console.UseCases) {
		s.countReports(t)
		u.Reports, u.Map = reports.NewReports(s.Store, s.Clock), reports.NewMap(s.Store, s.Clock, square{})
	})
	add(map[string]row{
		"GET /reports": {may: everybody}, "GET /reports.csv": {may: everybody},
		"GET /map": {may: everybody}, "GET /map/deliveries": {may: everybody}, "GET /map/points": {may: everybody},
	})
	states = append(states, []state{
		{name: "reports", role: domain.RoleViewer, path: "/reports", heading: "Reports", before: busyDay},
		{name: "reports-customers", role: domain.RoleSupport, path: "/reports?each=customer", heading: "Reports", before: busyDay},
		{name: "reports-empty", role: domain.RoleViewer, path: "/reports?environment=sandbox", heading: "Reports"},
		{name: "map", role: domain.RoleDispatcher, path: "/map?streets=no", heading: "Map", before: busyDay},
		{name: "map-empty", role: domain.RoleViewer, path: "/map?environment=sandbox", heading: "Map"},
		{name: "map-list", role: domain.RoleViewer, path: "/map/deliveries?cell=0-1-1", heading: "deliveries around", before: busyDay},
	}...)
}

// square is a service area.
type square struct{}

func (square) Outline() [][]domain.Coordinates {
	return [][]domain.Coordinates{{{Latitude: 4.5, Longitude: -3.4}, {Latitude: 4.5, Longitude: 1.3}, {Latitude: 11.3, Longitude: 1.3},
		{Latitude: 11.3, Longitude: -3.4}, {Latitude: 4.5, Longitude: -3.4}}}
}

func (s *scene) countReports(t *testing.T) {
	t.Helper()
	for more := true; more; {
		var err error
		if _, more, err = s.Store.CountReports(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
}

// town is where something is delivered.
type town struct {
	name string
	at   domain.Coordinates
}

var towns = []town{
	{"Accra", domain.Coordinates{Latitude: 5.60, Longitude: -.19}}, {"Kumasi", domain.Coordinates{Latitude: 6.69, Longitude: -1.62}},
	{"=Tamale", domain.Coordinates{Latitude: 9.40, Longitude: -.84}}, {"", domain.Coordinates{Latitude: 5.10, Longitude: -1.25}},
}

// busyDay is a week with deliveries of two customers in several towns.
func busyDay(t *testing.T, s *scene) {
	t.Helper()
	other := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Zongo Pharmacy", nil))
	app := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), operator, other.ID, "Shop"))
	tenants := []domain.Tenant{
		{BusinessID: s.business.ID, ApplicationID: s.app.ID, Environment: domain.Live},
		{BusinessID: other.ID, ApplicationID: app.ID, Environment: domain.Live},
	}
	now := s.Clock.Now()
	for i := range 48 {
		at, end := now.Add(-time.Duration(i*3)*time.Hour), towns[i*i%len(towns)]
		w := sample.BookingWrite(tenants[i%3%2], func(b *domain.Booking) {
			b.CreatedAt, b.VehicleType = at, domain.VehicleTypes()[i%3]
			b.Dropoff.Municipality, b.Dropoff.Coordinates = end.name, end.at
			b.Dropoff.Coordinates.Latitude += float64(i%7) / 50
			b.Dropoff.Coordinates.Longitude += float64(i%5) / 40
		})
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		way := [][]domain.Status{
			{}, {domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered}, {domain.Assigned, domain.Failed}, {domain.Cancelled},
			{domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered}, {domain.Assigned},
		}[i%6]
		for n, to := range way {
			var reason domain.ReasonCode
			if to == domain.Failed {
				reason = domain.ReasonCodes()[i%4]
			}
			s.move(t, w.Delivery.Tenant, w.Delivery.ID, to, reason, at.Add(time.Duration((n+1)*(7+i))*time.Minute))
		}
	}
	s.countReports(t)
}

// move moves a delivery at a time, by the platform.
func (s *scene) move(t *testing.T, tenant domain.Tenant, id domain.ID, to domain.Status, reason domain.ReasonCode, at time.Time) {
	t.Helper()
	if err := s.Store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		_, err := deliveries.Change(ctx, tx, stage.Renderer{}, tenant, id, at, func(d *domain.Delivery) ([]domain.Event, error) {
			e, err := d.Move(to, domain.ActorPlatform, reason, sample.ID(domain.PrefixEvent), at)
			return []domain.Event{e}, err
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAReportShowsWhatHappenedAndLeadsOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busyDay(t, s)
	r := s.signedIn(t, domain.RoleViewer)
	all := r.get("/reports")
	for _, want := range []string{"Recipient unreachable", "95 % within", "/console/reports.csv", `each=customer&amp;from=`} {
		if all.status != http.StatusOK || !strings.Contains(all.body, want) {
			t.Errorf("%d: the report lacks %q", all.status, want)
		}
	}
	var booked int
	for _, each := range []string{"customer", "vehicle", "municipality"} {
		rows := s.csvOf(t, r, "/reports.csv?each="+each)
		total := 0
		for _, row := range rows[1:] {
			var n int
			if _, err := fmt.Sscan(row[5], &n); err != nil {
				t.Fatal(err)
			}
			total += n
			if strings.HasPrefix(row[3], "=") || strings.HasPrefix(row[4], "=") {
				t.Errorf("a spreadsheet takes %q for a formula", row[3])
			}
		}
		if booked == 0 {
			booked = total
		}
		if total != booked || total < 48 || !strings.Contains(all.body, fmt.Sprintf("<dd>%d</dd>", total)) {
			t.Errorf("by %s %d were booked, by customer %d", each, total, booked)
		}
	}
	if got := s.csvOf(t, r, "/reports.csv?each=day&vehicle=bike&municipality=Kumasi"); len(got) != 31 {
		t.Errorf("30 days are %d lines", len(got)-1)
	}
	for path, want := range map[string]string{
		"/reports?from=2026-13-40":                   "Enter a day like",
		"/reports?from=2020-01-01":                   "400 days at most",
		"/reports?environment=sandbox":               "No deliveries in this time",
		"/reports?customer=biz_1&each=nonsense":      "No deliveries in this time",
		"/reports?municipality=%3Cscript%3Ealert(1)": "&lt;script&gt;",
	} {
		if got := r.get(path); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d lacks %q", path, got.status, want)
		}
	}
}

func (s *scene) csvOf(t *testing.T, r *reader, path string) [][]string {
	t.Helper()
	p := r.get(path)
	if p.status != http.StatusOK || !strings.HasPrefix(p.header.Get("Content-Type"), "text/csv") {
		t.Fatalf("%s: %d %s", path, p.status, p.header.Get("Content-Type"))
	}
	return must[[][]string](t)(csv.NewReader(strings.NewReader(p.body)).ReadAll())
}

var (
	markRow = regexp.MustCompile(`<tr data-id="([^"]*)"><th scope="row"><a href="([^"]*)"[^>]*>[^<]*</a> <small>[^<]*</small></th><td[^>]*>(\d+)</td>`)
	listRow = regexp.MustCompile(`<tr data-id="(dlv_[^"]*)">`)
)

func TestEachMarkOfTheMapLeadsToExactlyItsDeliveries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busyDay(t, s)
	r := s.signedIn(t, domain.RoleViewer)
	var points struct {
		Features []struct{ Properties struct{ Kind, ID string } }
	}
	for query, list := range map[string][]string{
		"show=dropoffs": {"status=open"}, "show=pickups": {"status=booked", "status=assigned", "status=outsourced"},
		"status=assigned":                   {"status=assigned"},
		"customer=" + string(s.business.ID): {"status=open&business=" + string(s.business.ID)},
	} {
		if err := json.Unmarshal([]byte(r.get("/map/points?"+query).body), &points); err != nil {
			t.Fatal(err)
		}
		var drawn, want []string
		for _, f := range points.Features {
			if f.Properties.Kind == "delivery" {
				drawn = append(drawn, f.Properties.ID)
			}
		}
		for _, q := range list {
			want = append(want, walkList(t, r, "/deliveries?"+q)...)
		}
		slices.Sort(drawn)
		if slices.Sort(want); !slices.Equal(drawn, want) {
			t.Errorf("%s: the map has %d deliveries, the list %d", query, len(drawn), len(want))
		}
		for _, zoom := range []string{"4", "6", "8"} {
			marks := markRow.FindAllStringSubmatch(r.get("/map?lat=7&lon=-1&zoom="+zoom+"&"+query).body, -1)
			var got []string
			for _, m := range marks {
				if strings.HasPrefix(m[1], "dlv_") {
					if got = append(got, m[1]); m[2] != "/console/deliveries/"+m[1] || m[3] != "1" {
						t.Errorf("the mark of %s leads to %s", m[1], m[2])
					}
					continue
				}
				list := r.get(strings.TrimPrefix(strings.ReplaceAll(m[2], "&amp;", "&"), console.Prefix))
				rows := listRow.FindAllStringSubmatch(list.body, -1)
				if fmt.Sprint(len(rows)) != m[3] {
					t.Errorf("a mark of %s leads to %d deliveries", m[3], len(rows))
				}
				for _, row := range rows {
					got = append(got, row[1])
				}
			}
			slices.Sort(got)
			if len(want) == 0 || zoom != "8" && !slices.Equal(got, want) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%s at %s: marks lead to %d deliveries, %d are open", query, zoom, len(got), len(want))
			}
		}
	}
}

func TestTheMapShowsNoNameAndNoPhone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busyDay(t, s)
	d := s.delivery
	for role := range s.staff {
		r := s.signedIn(t, role)
		for _, path := range []string{"/map?streets=no", "/map/street", "/map?show=pickups", "/map/deliveries?cell=0-1-1", "/map/points",
			"/reports", "/reports.csv"} {
			body := r.get(path).body
			for _, secret := range []string{d.Recipient.Name, string(d.Recipient.PhoneNumber), string(d.Pickup.Contact), d.Dropoff.Address} {
				if strings.Contains(body, secret) || strings.Contains(body, url.QueryEscape(secret)) {
					t.Errorf("%s shows %q to %s", path, secret, role)
				}
			}
		}
	}
}
