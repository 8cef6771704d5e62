package trackingpage_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"waybill/domain"
)

// led returns where one request is redirected, without following.
func led(t *testing.T, address string) (status int, to string, header http.Header) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if l, err := res.Location(); err == nil {
		to = l.String()
	}
	return res.StatusCode, to, res.Header
}

// crooked returns other notations of a reference.
func crooked(r domain.Reference) []string {
	s := string(r)
	return []string{strings.ToLower(s), strings.ReplaceAll(s, "-", ""), strings.ReplaceAll(s, "-", " "),
		strings.NewReplacer("-", "–", "1", "l", "0", "o").Replace(s)}
}

func TestAReferenceThatWasWrittenDownLeadsToItsPageWhetherOrNotThereIsOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, r := range []domain.Reference{s.book(t, domain.Live).Reference, "0123-1010-ZZZZ"} {
		for _, typed := range crooked(r) {
			want := s.url + "/" + string(r)
			for _, from := range []string{
				"/" + url.PathEscape(typed), "/?reference=" + url.QueryEscape(typed), "/a/b/?reference=" + url.QueryEscape(typed),
				"/?reference=" + url.QueryEscape(" "+string(r)), "/?reference=" + url.QueryEscape("\u2068"+typed+"\u2069\ufeff"),
				"/%E2%80%8B" + url.PathEscape(typed) + "%C2%AD", "/?reference=" + url.QueryEscape("<"+s.url+"/"+string(r)+"/?lang=fr#top>"),
				"/?reference=" + url.QueryEscape("track.example/"+string(r)+".\u200b\n"),
			} {
				if status, to, header := led(t, s.url+from); status != http.StatusFound || to != want || header.Get("Cache-Control") != "no-store" ||
					header.Get("Referrer-Policy") != "no-referrer" {
					t.Errorf("%s: %d to %s, want %s (%v)", from, status, to, want, header)
				}
			}
		}
	}
	if n := s.pagesCounted(t)["missing"]; n != 0 {
		t.Errorf("%v misses were counted for redirects", n)
	}
	for _, from := range []string{"/7K3M-QX8P-2VT", "/7K3M-QX8P-2VT.", "/?reference=https%3A%2F%2Ftrack.example%2F", "/?reference=nothing", "/?reference=" + strings.Repeat("7", 500)} {
		if status, to, _ := led(t, s.url+from); status != http.StatusNotFound || to != "" {
			t.Errorf("%s: %d to %s", from, status, to)
		}
	}
}

func TestALinkWithPunctuationBehindItLeadsToItsPage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, r := range []domain.Reference{s.book(t, domain.Live).Reference, "0123-1010-ZZZZ"} {
		for _, behind := range []string{".", ")", ",", "/", "//", ").", "/.)", "!", ";", "’", "%E2%80%9D", "%3E", "%2f", "?utm_source=sms", ".?x=1"} {
			status, to, header := led(t, s.url+"/"+string(r)+behind)
			if strings.HasPrefix(behind, "?") && to == "" {
				continue // the page itself
			}
			if want := s.url + "/" + string(r); status != http.StatusFound || to != want || header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d to %s, want %s", behind, status, to, want)
			}
		}
	}
}

func TestThePathOfAllPagesAsksForAReference(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, path := range []string{"", "/", "/?reference=", "/?reference=+"} {
		at := send(t, http.MethodGet, s.url+path, "203.0.113.9")
		if at.StatusCode != http.StatusOK || !strings.Contains(at.body, "<h1>Find your parcel</h1>") ||
			!strings.Contains(at.body, `<label for="reference">Reference</label>`) || strings.Contains(at.body, "<script") {
			t.Errorf("%q: %d\n%s", path, at.StatusCode, at.body)
		}
	}
	if looks := s.storage.looks.Load(); looks != 0 || s.pagesCounted(t)["missing"] != 0 {
		t.Errorf("%d references were looked up", looks)
	}
}

func TestTheFormOfAMissIsFoundUnderAnyAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.book(t, domain.Live).Reference
	for _, prefix := range []string{"/track", "/shop/where"} {
		base := s.serve(t, prefix) + prefix
		if status, to, _ := led(t, base+"?reference=x"); status != http.StatusFound || to != base+"/?reference=x" {
			t.Errorf("%s leads %d to %s", base, status, to)
		}
		for _, page := range []string{"", "/", "/none", "/a/b/c"} {
			at := send(t, http.MethodGet, base+page, "203.0.113.9")
			if at.StatusCode != map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[len(page) < 2] || !strings.Contains(at.body, `<form class="ask" action="./" method="get">`) {
				t.Fatalf("%s: %d, no form in\n%s", page, at.StatusCode, at.body)
			}
			action, err := at.Request.URL.Parse("./?reference=" + strings.ToLower(string(r)))
			if err != nil {
				t.Fatal(err)
			}
			if found := send(t, http.MethodGet, action.String(), "203.0.113.9"); found.StatusCode != http.StatusOK ||
				found.Request.URL.String() != base+"/"+string(r) {
				t.Errorf("from %s the form leads to %s: %d", page, found.Request.URL, found.StatusCode)
			}
		}
	}
	if body := s.get(t, r).body; strings.Contains(body, "<form") {
		t.Error("the page of a delivery has the form")
	}
}
