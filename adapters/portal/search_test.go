package portal_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// known is a thing of a house by what one has of it in hand, and its page.
type known struct{ text, page string }

// inHand are things of a house of every kind.
func (s *scene) inHand(t *testing.T, h house) map[string]known {
	t.Helper()
	hand := map[string]known{}
	var endpoint domain.WebhookEndpoint
	var recipient domain.Recipient
	s.Write(t, func(ctx context.Context, tx ports.Stores) (err error) {
		if endpoint, err = tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(h.tenant(domain.Live))); err != nil {
			return err
		}
		recipient, _, err = tx.Recipients.Add(ctx, h.tenant(domain.Live), sample.Recipient())
		return err
	})
	name := strings.ReplaceAll(h.app.Name, " ", "-")
	id := s.booked(t, h, domain.Live, func(b *domain.Booking) { b.ExternalID = "order/" + name })
	d := must[*domain.Delivery](t)(s.Store.Read().Deliveries.Get(t.Context(), h.tenant(domain.Live), id))
	events := must[[]domain.Event](t)(s.Store.Read().Deliveries.Events(t.Context(), h.tenant(domain.Live), id))
	for what, text := range map[string]string{"delivery": string(id), "reference": string(d.Reference),
		"reference by hand": strings.ToLower(strings.ReplaceAll(string(d.Reference), "-", "")), "external_id": d.ExternalID,
		"event": string(events[0].ID), "tracking link": "http://live.example/track/" + string(d.Reference)} {
		hand[what] = known{text, at(id)}
	}
	due, err := s.Store.Outbox().Due(t.Context(), endpoint.ID, s.Clock.Now(), 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d webhooks are due: %v", len(due), err)
	}
	named := s.called(t, h, sandboxCall, func(r *domain.RequestRecord) { r.ClientID = "trace " + name })
	hand["webhook"] = known{string(due[0].ID), "/webhooks/" + string(endpoint.ID) + "/sent/" + string(due[0].ID)}
	hand["endpoint"] = known{string(endpoint.ID), "/webhooks/" + string(endpoint.ID)}
	hand["recipient"] = known{string(recipient.ID), ""} // has no page
	hand["pickup location"] = known{string(h.pickup[domain.Live]), "/pickup-locations/live/" + string(h.pickup[domain.Live])}
	hand["application"] = known{string(h.app.ID), "/apps/" + string(h.app.ID)}
	hand["name of an application"] = known{h.app.Name, "/apps/" + string(h.app.ID)}
	hand["key"] = known{string(h.key[domain.Live].ID), h.keysPath(domain.Live)}
	hand["end of a key"] = known{h.key[domain.Live].LastFour, h.keysPath(domain.Live)}
	hand["a whole key"] = known{h.key[domain.Live].Secret, h.keysPath(domain.Live)}
	hand["request"] = known{string(h.request), "/requests/" + string(h.request)}
	hand["own name of a request"] = known{"trace " + name, "/requests/" + string(named)}
	return hand
}

// seek is the answer of the search, and where it leads at the end; nothing is opened there.
func (r *reader) seek(text string) (p page, to string) {
	to = "/search?q=" + url.QueryEscape(text)
	for strings.HasPrefix(to, "/search") {
		if p = r.ask(question{method: http.MethodGet, path: to}); p.status != http.StatusSeeOther {
			return p, "/search"
		}
		if to = p.header.Get("Location"); strings.HasPrefix(to, "?") {
			to = "/search" + to
		}
	}
	return p, to
}

func TestEverythingIsFoundByWhatOneHasInHandAndNothingOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	own, foreign := s.inHand(t, s.house), s.inHand(t, s.other)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	for what, k := range own {
		p, to := r.seek(" " + k.text + " ")
		if k.page != "" && to != k.page {
			t.Errorf("%s %q leads to %s, want %s\n%s", what, k.text, to, k.page, p.body)
		}
		if k.page == "" && !strings.Contains(p.body, `<tr data-id="`) {
			t.Errorf("%s %q is not found", what, k.text)
		}
	}
	// Foreign is unknown: but for what was typed the page is the same.
	unknown, _ := r.seek("nobody-has-this")
	for what, k := range foreign {
		p, to := r.seek(k.text)
		typed := k.text
		switch what {
		case "tracking link":
			typed = typed[strings.LastIndexByte(typed, '/')+1:]
		case "a whole key":
			typed = typed[len(typed)-4:]
			p, _ = r.seek(typed) // without the notice about it
		}
		got := strings.ReplaceAll(html.UnescapeString(p.body), typed, "nobody-has-this")
		if got = strings.ReplaceAll(got, url.QueryEscape(typed), "nobody-has-this"); to != "/search" ||
			got != html.UnescapeString(unknown.body) {
			t.Errorf("the %s %q of another business: %d, %s\n%s", what, k.text, p.status, to, p.body)
		}
	}
	if !strings.Contains(unknown.body, "Nothing found for") || !strings.Contains(unknown.body, "What you can search for") {
		t.Errorf("nothing is found, and the page does not say what to try\n%s", unknown.body)
	}
	if p, to := r.seek(strings.Repeat("x", 300)); p.status != http.StatusOK || to != "/search" {
		t.Errorf("a long text: %d", p.status)
	}
	for _, bad := range malformed {
		if p := r.get("/search?q=" + bad); p.status != http.StatusOK {
			t.Errorf("%q: %d", bad, p.status)
		}
	}
}

func TestATextThatNamesSeveralThingsListsThemInGroups(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		s.booked(t, s.house, e, func(b *domain.Booking) { b.ExternalID = "both" })
	}
	s.called(t, s.house, sandboxCall, func(r *domain.RequestRecord) { r.ClientID = "both" })
	p, _ := s.signedIn(t, s.house, domain.RoleViewer).seek("both")
	if strings.Count(p.body, `<tr data-id="dlv_`) != 2 || strings.Count(p.body, `<tr data-id="req_`) != 1 ||
		!strings.Contains(p.body, "<h2>Deliveries</h2>") || !strings.Contains(p.body, "<h2>Requests</h2>") {
		t.Errorf("the page has\n%s", p.body)
	}
	s.storage.breakLog(ports.ErrTookTooLong)
	p = s.signedIn(t, s.house, domain.RoleViewer).get("/search?q=both")
	if strings.Count(p.body, `<tr data-id="dlv_`) != 2 || !strings.Contains(p.body, "no requests were searched") {
		t.Errorf("without the log: %d\n%s", p.status, p.body)
	}
}

func TestASecretIsNeitherKeptInTheAddressNorShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleViewer)
	hook, token := domain.FormatSigningSecret(make([]byte, domain.SigningSecretBytes)), domain.MakeOperatorToken([32]byte{1})
	key, link := s.house.key[domain.Live].Secret, domain.MakeBearerSecret(sha256.Sum256([]byte("link")))
	for _, secret := range []string{hook, "secret: " + strings.ToUpper(hook), "Bearer " + key, key[:30], hook + strings.Repeat("x", 300),
		"https://x.example/" + hook, token, "token=" + token, link, " " + link + " ", s.url + "/enter/" + link, "/view/" + link + "?x",
		"waybill_portal=" + link, `"` + link + `".`, "https://mail.example/?url=" + url.QueryEscape(s.url+"/enter/"+link) + "&data=05",
		url.QueryEscape(url.QueryEscape("waybill_portal=" + link)), "waybill_portal=3D" + link, "__" + link + "__", key[:10] + "\n" + key[10:],
		key[:4] + "\u00ad" + key[4:], "Basic " + base64.StdEncoding.EncodeToString([]byte(key+":")), "%73%76%63%5f" + key[4:],
		url.QueryEscape(url.QueryEscape(url.QueryEscape("%73%76%63%5f" + key[4:30]))), "&#x73;&#118;c_" + key[4:30], "x=" + hex.EncodeToString([]byte(key))} {
		for _, at := range []string{"/search?q=", "/requests?environment=live&q=", "/requests?request_id=", "/deliveries?q=",
			"/pickup-locations?q=", "/audit?person=", "/nowhere?whatever="} {
			p := r.ask(question{method: http.MethodGet, path: at + url.QueryEscape(secret)})
			to := p.header.Get("Location")
			if p.status != http.StatusSeeOther || to != "?secret=1" && to != "?environment=live&secret=1" ||
				strings.Contains(p.body, secret[len(secret)-20:]) {
				t.Errorf("%.20q at %s: %d, to %q", secret, at, p.status, to)
			}
		}
	}
	for _, query := range []string{"q=x;" + hook, ";q=" + hook, "q=x;y=" + hook} {
		p := r.ask(question{method: http.MethodGet, path: "/requests?" + query})
		if to := p.header.Get("Location"); p.status != http.StatusSeeOther || to != "?secret=1" {
			t.Errorf("%.20q behind a semicolon: %d, to %q", query, p.status, to)
		}
	}
	for _, path := range []string{"/search", "/requests", "/deliveries", "/nowhere"} {
		if p := r.get(path + "?secret=1"); !strings.Contains(p.body, "Do not paste secrets here") {
			t.Errorf("%s does not say so\n%s", path, p.body)
		}
	}
	p := r.ask(question{method: http.MethodGet, path: "/requests?q=order-1&cursor=" + string(s.house.request)})
	if p.status != http.StatusOK {
		t.Errorf("what is no secret: %d", p.status)
	}
	if p := r.ask(question{method: http.MethodGet, path: "//evil.example/x?q=" + hook}); p.header.Get("Location") != "?secret=1" {
		t.Errorf("another site: %d, to %q", p.status, p.header.Get("Location"))
	}
}

func TestWhereNothingIsFoundTheNextPlacesAreLinked(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p, _ := s.signedIn(t, s.house, domain.RoleViewer).seek("RATE_LIMIT_EXCEEDED")
	for _, want := range []string{`href="/requests?q=RATE_LIMIT_EXCEEDED"`, `/errors/RATE_LIMIT_EXCEEDED"`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page lacks %s\n%s", want, p.body)
		}
	}
}
