package trackingpage_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waybill/adapters/brand"
	"waybill/domain"
	"waybill/ports"
)

func TestEveryStatusIsToldInPlainWords(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	headlines := map[string]domain.Status{}
	heading := regexp.MustCompile(`(?s)role="status"[^>]*>\s*<h1>([^<]+)</h1>`)
	for _, status := range domain.Statuses() {
		d := s.book(t, domain.Live)
		s.move(t, d, domain.ReasonRecipientUnreachable, ways[status]...)
		got := s.get(t, d.Reference)
		if got.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", status, got.StatusCode)
		}
		found := heading.FindStringSubmatch(got.body)
		if found == nil || strings.Contains(found[1], string(status)) && strings.Contains(string(status), "_") {
			t.Fatalf("%s: no headline in words in\n%s", status, got.body)
		}
		if other, taken := headlines[found[1]]; taken {
			t.Errorf("%s and %s have one headline: %s", status, other, found[1])
		}
		headlines[found[1]] = status
		if n := strings.Count(got.body, "<h1"); n != 1 {
			t.Errorf("%s: %d main headings", status, n)
		}
		if n := strings.Count(got.body, `aria-current="step"`); n != 1 {
			t.Errorf("%s: %d current steps", status, n)
		}
		// Each event has its time, and none that is to come.
		if n, want := strings.Count(got.body, "<time datetime="), len(ways[status])+1; n != want {
			t.Errorf("%s: %d times, want %d", status, n, want)
		}
		for _, part := range []string{
			`<time datetime="2026-03-14T09:27:02Z">14 March 2026, 09:27 UTC</time>`, "Adom Foods", "Accra",
			`href="` + string(d.Reference) + `">Refresh</a>`, `<html lang="en">`, `name="robots" content="noindex`,
		} {
			if !strings.Contains(got.body, part) {
				t.Errorf("%s: no %s in\n%s", status, part, got.body)
			}
		}
		if streams, over := strings.Contains(got.body, "data-stream="), status == domain.Delivered ||
			status == domain.Cancelled; streams == over {
			t.Errorf("%s: goes on by itself: %v", status, streams)
		}
	}
}

func TestEveryReasonIsToldKindly(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	reason := regexp.MustCompile(`<p class="reason">([^<]+)</p>`)
	seen := map[string]bool{}
	for _, code := range domain.ReasonCodes() {
		d := s.book(t, domain.Live)
		s.move(t, d, code, ways[domain.Failed]...)
		found := reason.FindStringSubmatch(s.get(t, d.Reference).body)
		if found == nil || seen[found[1]] || strings.Contains(found[1], "_") {
			t.Errorf("%s: %q", code, found)
			continue
		}
		seen[found[1]] = true
		// After another try the reason stands with its step.
		s.move(t, d, "", domain.Assigned)
		if body := s.get(t, d.Reference).body; !strings.Contains(body, `<span class="why">`+found[1]) || reason.MatchString(body) {
			t.Errorf("%s: after another try\n%s", code, body)
		}
	}
}

// marked marks a booking so that everything that must not be shown differs from all other text.
func marked(b *domain.Booking) {
	b.ExternalID = "marker-external"
	b.Recipient.Name, b.Recipient.PhoneNumber = "marker-name", "+233209998887"
	b.Pickup.Name, b.Pickup.Contact, b.Pickup.Address = "marker-pickup", "+233209998886", "marker-origin"
	b.Pickup.Coordinates = domain.Coordinates{Latitude: 5.43219, Longitude: -0.43219}
	b.Dropoff.Address, b.Dropoff.Label, b.Dropoff.DeliveryNotes = "marker-street", "marker-label", "marker-notes"
	b.Dropoff.Coordinates = domain.Coordinates{Latitude: 5.98761, Longitude: -0.98761}
	b.Payment.GoodsValue = &domain.Money{Minor: 987_654, Currency: "GHS"}
	b.Quote.Fee = &domain.Money{Minor: 876_543, Currency: "GHS"}
	b.Quote.Distance.Kilometres = 76.54
	b.Instructions = "marker-instructions"
}

// markers returns the words of a marked delivery that must not be shown.
func markers(d *domain.Delivery) []string {
	words := []string{
		"marker", "233209998887", "0209998887", "233209998886", "43219", "98761", "9876.54", "987654", "8765.43", "876543", "76.54", "GHS",
	}
	for _, id := range []domain.ID{d.ID, d.Tenant.BusinessID, d.Tenant.ApplicationID, d.Recipient.ID, d.Dropoff.ID} {
		words = append(words, id.Hex())
	}
	for _, prefix := range []domain.Prefix{
		domain.PrefixDelivery, domain.PrefixBusiness, domain.PrefixApplication, domain.PrefixRecipient, domain.PrefixAddress,
		domain.PrefixEvent, domain.PrefixPickupLocation,
	} {
		words = append(words, string(prefix))
	}
	return words
}

// wantNoMarkers reads past the reference: it is shown on purpose, and its letters are drawn, so they may spell any short marker.
func wantNoMarkers(t *testing.T, what, text string, d *domain.Delivery) {
	t.Helper()
	if d.Reference != "" {
		text = strings.ReplaceAll(text, string(d.Reference), "the-reference")
	}
	for _, word := range markers(d) {
		if strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
			t.Errorf("%s shows %q:\n%s", what, word, text)
		}
	}
}

func TestNothingIsShownOfWhoWhereAndHowMuch(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, status := range domain.Statuses() {
		d := s.book(t, domain.Sandbox, marked)
		s.move(t, d, domain.ReasonCODRefused, ways[status]...)
		got := s.get(t, d.Reference)
		wantNoMarkers(t, string(status)+": the page", got.body, d)
		wantNoMarkers(t, string(status)+": the headers", fmt.Sprint(got.Header), d)
	}
	wantNoMarkers(t, "the log", s.log.String(), &domain.Delivery{Booking: domain.Booking{
		ID: "dlv_none", Recipient: domain.Party{ID: "rcp_none"}, Dropoff: domain.Dropoff{ID: "adr_none"},
		Tenant: domain.Tenant{BusinessID: "biz_none", ApplicationID: "app_none"},
	}})
}

func TestATestDeliverySaysSo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for e, want := range map[domain.Environment]bool{domain.Sandbox: true, domain.Live: false} {
		if got := strings.Contains(s.get(t, s.book(t, e).Reference).body, "Test delivery"); got != want {
			t.Errorf("%s: the page says it is a test: %v", e, got)
		}
	}
}

func TestTextsOfOthersAreTextsAndNoMarkup(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live, func(b *domain.Booking) { b.Dropoff.Municipality = `"><script>alert(1)</script>` })
	if body := s.get(t, d.Reference).body; strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;alert(1)") {
		t.Errorf("markup of a municipality:\n%s", body)
	}
}

func TestEveryAnswerIsProtected(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	want := http.Header{
		"Content-Security-Policy": {"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
		"Cache-Control":          {"no-store"},
		"X-Robots-Tag":           {"noindex, nofollow"},
		"Referrer-Policy":        {"no-referrer"},
		"X-Content-Type-Options": {"nosniff"},
	}
	for _, c := range []struct{ method, path string }{
		{http.MethodGet, "/" + string(d.Reference)}, {http.MethodHead, "/" + string(d.Reference)},
		{http.MethodGet, "/none"}, {http.MethodGet, ""}, {http.MethodGet, "/a/b/c"},
		{http.MethodPost, "/" + string(d.Reference)}, {http.MethodHead, "/" + string(d.Reference) + "/stream"},
	} {
		got := http.Header{}
		answer := s.ask(t, c.method, c.path, "203.0.113.9")
		for name := range want {
			got[name] = answer.Header[name]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.method, c.path, diff)
		}
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	path := "/" + string(s.book(t, domain.Live).Reference)
	got, head := s.ask(t, http.MethodGet, path, "203.0.113.9"), s.ask(t, http.MethodHead, path, "203.0.113.9")
	if head.StatusCode != http.StatusOK || head.body != "" || head.ContentLength != int64(len(got.body)) {
		t.Errorf("HEAD: %d, %q, length %d, want %d", head.StatusCode, head.body, head.ContentLength, len(got.body))
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch, "BREW"} {
		for _, p := range []string{path, path + "/stream", "/assets/x.css", "", "/a/b/c"} {
			refused := s.ask(t, method, p, "203.0.113.9")
			if refused.StatusCode != http.StatusMethodNotAllowed || refused.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, p, refused.StatusCode, refused.Header.Get("Allow"))
			}
		}
	}
}

var links = regexp.MustCompile(`(?:href|src)="([^"]+)"`)

func TestThePageFindsItsFilesUnderAnyAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	for _, prefix := range []string{"/track", "/shop/where/is/it"} {
		base := s.serve(t, prefix) + prefix + "/"
		found, missing := send(t, http.MethodGet, base+string(d.Reference), "203.0.113.9"), send(t, http.MethodGet, base+"none", "203.0.113.9")
		kinds := map[string]bool{}
		for _, link := range append(links.FindAllStringSubmatch(found.body, -1), links.FindAllStringSubmatch(missing.body, -1)...) {
			if strings.HasPrefix(link[1], "/") || strings.Contains(link[1], ":") {
				t.Errorf("%s is no relative link", link[1])
			}
			got := send(t, http.MethodGet, base+link[1], "203.0.113.9")
			if got.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", base+link[1], got.StatusCode)
			}
			if !strings.HasPrefix(link[1], "assets/") {
				continue
			}
			kinds[got.Header.Get("Content-Type")] = true
			if cache := got.Header.Get("Cache-Control"); cache != "public, max-age=31536000, immutable" ||
				!regexp.MustCompile(`\.[0-9a-f]{12}\.`).MatchString(link[1]) {
				t.Errorf("%s may be kept: %q", link[1], cache)
			}
			// From a link with a slash too many they are found as well.
			if deep := send(t, http.MethodGet, base+"a/b/"+link[1], "203.0.113.9"); deep.body != got.body {
				t.Errorf("below another path: %d", deep.StatusCode)
			}
		}
		want := []string{"image/svg+xml", "text/css; charset=utf-8", "text/javascript; charset=utf-8"}
		if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
			t.Errorf("files of %q, want %q", got, want)
		}
	}
}

// kofi is a company with all that a brand can have.
var kofi = brand.New(brand.Options{Name: "Kofi & Co Express", Accent: "#c2410c", SupportURL: "https://kofi.example/help",
	SupportEmail: "help@kofi.example", Logo: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 32"><rect width="48" height="32" ` +
		`rx="8" fill="#c2410c"/><path d="M10 8v16M24 8L12 16l12 8" stroke="#fff" stroke-width="4" fill="none"/></svg>`)})

func TestThePageShowsTheCompanyAndItsContact(t *testing.T) {
	t.Parallel()
	s := newSceneOf(t, kofi)
	for path, status := range map[string]int{"/" + string(s.book(t, domain.Live).Reference): http.StatusOK, "/none": http.StatusNotFound} {
		got := s.ask(t, http.MethodGet, path, "203.0.113.9")
		for _, part := range []string{"Kofi &amp; Co Express</p>", `<img src="assets/` + kofi.Logo.Name, `href="assets/` + kofi.Style.Name,
			`<a href="https://kofi.example/help" rel="noreferrer">Contact Kofi &amp; Co Express</a>`, `<a href="mailto:help@kofi.example">`} {
			if got.StatusCode != status || !strings.Contains(got.body, part) {
				t.Errorf("%s: %d, no %s in\n%s", path, got.StatusCode, part, got.body)
			}
		}
	}
	for _, name := range []string{kofi.Logo.Name, kofi.Style.Name} {
		if got := s.ask(t, http.MethodGet, "/a/assets/"+name, "203.0.113.9"); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
	if body := newScene(t).ask(t, http.MethodGet, "", "203.0.113.9").body; strings.Contains(body, `class="help"`) || !strings.Contains(body, "Waybill</p>") {
		t.Errorf("without settings\n%s", body)
	}
}

// showCash says whether the business of a delivery lets its tracking pages show the cash.
func (s *scene) showCash(t *testing.T, d *domain.Delivery, shown bool) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		b, err := tx.Tenancy.LockBusiness(ctx, d.Tenant.BusinessID)
		if err != nil {
			return err
		}
		b.TrackingCash = shown
		return tx.Tenancy.UpdateBusiness(ctx, b)
	})
}

func TestTheCashToHaveReadyIsShownIfTheBusinessAllowsIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, c := range []struct {
		allowed bool
		status  domain.Status
		with    func(*domain.Booking)
		want    string // of an English page; empty: no cash
	}{
		{true, domain.InTransit, nil, "Cash to have ready: <strong>GHS\u00a0125.50</strong>"},
		{true, domain.Outsourced, func(b *domain.Booking) { b.Payment.GoodsValue.Minor = 1_000_005 }, "<strong>GHS\u00a010000.05</strong>"},
		{false, domain.InTransit, nil, ""},
		{true, domain.Delivered, nil, ""}, {true, domain.Failed, nil, ""}, {true, domain.Cancelled, nil, ""},
		{true, domain.InTransit, func(b *domain.Booking) { b.Payment = domain.Payment{Type: domain.DeliveryOnly} }, ""},
	} {
		d := s.book(t, domain.Live, func(b *domain.Booking) {
			if c.with != nil {
				c.with(b)
			}
		})
		s.showCash(t, d, c.allowed)
		s.move(t, d, domain.ReasonRecipientUnreachable, ways[c.status]...)
		if body := s.get(t, d.Reference).body; !strings.Contains(body, c.want) || c.want == "" && strings.Contains(body, "GHS") {
			t.Errorf("%+v:\n%s", c, body)
		}
		if c.allowed && c.status == domain.InTransit && c.with == nil {
			if body := s.ask(t, http.MethodGet, "/"+string(d.Reference)+"?lang=fr", "203.0.113.9").body; !strings.Contains(body, "125,50\u00a0GHS") {
				t.Errorf("in French:\n%s", body)
			}
		}
	}
}
