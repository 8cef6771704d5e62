package console_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

var (
	anyRow   = regexp.MustCompile(`<tr data-id="([^"]+)"`)
	olderTag = regexp.MustCompile(`href="([^"]*)" rel="next">Older`)
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
		"standing=unwell":              func(e domain.EndpointShown) bool { return slices.Contains(unwell, e.Standing) },
		"q=h1":                         func(e domain.EndpointShown) bool { return strings.Contains(e.URL, "h1") },
		"business=" + string(other.ID): func(e domain.EndpointShown) bool { return e.Tenant.BusinessID == other.ID },
		"environment=live&application=" + string(apps[1].ID): func(e domain.EndpointShown) bool {
			return e.Tenant.ApplicationID == apps[1].ID && e.Tenant.Environment == domain.Live
		},
	} {
		var want []string
		for _, e := range all {
			if holds(e) {
				want = append(want, string(e.ID))
			}
		}
		got := walkList(t, r, "/webhooks?"+query)
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) || len(want) == 0 {
			t.Errorf("%q: the list has %d, want %d, each once", query, len(got), len(want))
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

func TestTheMapIsMovedByLinksAndMarksWhatIsLate(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	late := regexp.MustCompile(`class="(cluster|point) late"`)
	if p := r.get("/map?streets=no"); late.MatchString(p.body) || !strings.Contains(p.body, `class="`) {
		t.Error("what was booked just now stands out as late")
	}
	busyDay(t, s)
	r.url = s.serve(t)
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
	if !strings.Contains(page, "Redis may delete notifications") {
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
	more := nextTag
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
