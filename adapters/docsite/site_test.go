package docsite_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/brand"
	"waybill/adapters/docsite"
	"waybill/adapters/httpapi"
	"waybill/domain"
)

const (
	live    = "https://api.example.com/v1"
	sandbox = "https://sandbox.example.com/v1"
	portal  = "https://portal.example.com"
)

func newSite(change ...func(*docsite.Options)) *docsite.Site {
	o := options()
	for _, c := range change {
		c(&o)
	}
	return docsite.New(o)
}

func newOperatorsSite() *docsite.Site { return docsite.NewForOperators(options()) }

func options() docsite.Options {
	return docsite.Options{
		Description:    func() []byte { return httpapi.Described(httpapi.OpenAPI.JSON(), live, sandbox) },
		SandboxBaseURL: sandbox, LiveBaseURL: live, PortalURL: portal, TrackingBaseURL: "https://track.example.com",
		PerKey:      domain.RateLimit{Limit: 601, Window: time.Minute},
		PerBusiness: domain.RateLimit{Limit: 1203, Window: 90 * time.Second},
		PerAddress:  domain.RateLimit{Limit: 61, Window: time.Minute},
		Schedules: map[domain.Environment]domain.RetrySchedule{
			domain.Live: domain.DefaultRetrySchedule(domain.Live), domain.Sandbox: domain.DefaultRetrySchedule(domain.Sandbox),
		},
		IdempotencyRetention: 36 * time.Hour,
	}
}

func get(t *testing.T, s *docsite.Site, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return send(s, http.MethodGet, path, headers...)
}

func send(s *docsite.Site, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

var (
	reLink  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	reID    = regexp.MustCompile(` id="([^"]*)"`)
	reTitle = regexp.MustCompile(`<title>([^<]+)</title>`)
)

// crawl fetches every page and asset that can be reached from the start page,
// and calls look for each link with where it stands.
func crawl(t *testing.T, s *docsite.Site, look func(from, link string)) map[string]*httptest.ResponseRecorder {
	t.Helper()
	found := map[string]*httptest.ResponseRecorder{}
	for todo := []string{"/docs"}; len(todo) > 0; {
		path := todo[0]
		todo = todo[1:]
		if found[path] != nil {
			continue
		}
		w := get(t, s, path)
		found[path] = w
		if !isPage(w) {
			continue
		}
		for _, m := range reLink.FindAllStringSubmatch(w.Body.String(), -1) {
			link := html.UnescapeString(m[1])
			look(path, link)
			if target, _, _ := strings.Cut(link, "#"); strings.HasPrefix(target, "/docs") {
				todo = append(todo, target)
			}
		}
	}
	return found
}

func TestGuidesLeadToThePortalWhereKeysAreMadeIfThereIsOne(t *testing.T) {
	t.Parallel()
	without := newSite(func(o *docsite.Options) { o.PortalURL = "" })
	for _, path := range []string{"/docs/quickstart", "/docs/going-live", "/docs/webhooks", "/docs/support"} {
		if page := get(t, newSite(), path).Body.String(); strings.Count(page, `href="`+portal) < 2 { // the header has one
			t.Errorf("%s does not lead to the portal", path)
		}
		page := get(t, without, path).Body.String()
		if strings.Contains(page, `href=""`) || strings.Contains(strings.ToLower(page), "portal") {
			t.Errorf("%s speaks of a portal where there is none", path)
		}
	}
}

func isPage(w *httptest.ResponseRecorder) bool {
	return strings.HasPrefix(w.Header().Get("Content-Type"), "text/html")
}

func TestEveryLinkAndAnchorLeadsSomewhere(t *testing.T) {
	t.Parallel()
	checkLinks(t, newSite(), 60, 2000)
	checkLinks(t, newOperatorsSite(), 20, 300)
}

func checkLinks(t *testing.T, s *docsite.Site, fewestPages, fewestLinks int) {
	t.Helper()
	type link struct{ from, to string }
	var links []link
	found := crawl(t, s, func(from, to string) { links = append(links, link{from, to}) })
	ids := map[string]map[string]bool{}
	for path, w := range found {
		ids[path] = map[string]bool{}
		if w.Code != http.StatusOK {
			t.Errorf("%s answers %d", path, w.Code)
		}
		if !isPage(w) {
			continue
		}
		for _, m := range reID.FindAllStringSubmatch(w.Body.String(), -1) {
			if ids[path][m[1]] {
				t.Errorf("%s has the ID %q twice", path, m[1])
			}
			ids[path][m[1]] = true
		}
	}
	for _, l := range links {
		target, anchor, hasAnchor := strings.Cut(l.to, "#")
		switch {
		case target == "":
			target = l.from
		case isElsewhere(target), strings.HasPrefix(target, "https://sandbox.example.com/docs"): // the customers' site has its own test
			continue
		}
		if found[target] == nil {
			t.Errorf("%s links to %s, which is not of this site", l.from, l.to)
			continue
		}
		if hasAnchor && !ids[target][anchor] {
			t.Errorf("%s links to %s, and %s has no such place", l.from, l.to, target)
		}
	}
	if len(found) < fewestPages || len(links) < fewestLinks {
		t.Errorf("%d pages and assets with %d links, which is too few to be all", len(found), len(links))
	}
}

// isElsewhere reports whether a link leads to another site that exists.
func isElsewhere(link string) bool {
	return slices.Contains([]string{sandbox + "/openapi.yaml", sandbox + "/openapi.json", "https://www.standardwebhooks.com",
		"https://www.usebruno.com", "https://openapi-generator.tech", "https://llmstxt.org", "/console"}, link) ||
		strings.HasPrefix(link, portal) || strings.HasPrefix(link, "/docs/assets/") || link == "/docs/search.json" || link == "/docs/llms.txt"
}

func TestEveryPageHasATitleOfItsOwn(t *testing.T) {
	t.Parallel()
	titles := map[string]string{}
	for path, w := range crawl(t, newSite(), func(string, string) {}) {
		m := reTitle.FindStringSubmatch(w.Body.String())
		if m == nil {
			continue
		}
		if other := titles[m[1]]; other != "" {
			t.Errorf("%s and %s are both called %q", path, other, m[1])
		}
		titles[m[1]] = path
		body := w.Body.String()
		if n := strings.Count(body, "<h1"); n != 1 {
			t.Errorf("%s has %d first headings", path, n)
		}
		if n := strings.Count(body, "aria-current="); n != 1 && path != "/docs/try" {
			t.Errorf("%s marks %d entries of the navigation as the current one", path, n)
		}
		for _, left := range []string{"127.0.0.1:8080", "127.0.0.1:8081", "<no value>", "%!", "ZgotmplZ"} {
			if strings.Contains(body, left) && path != "/docs/testing" { // it shows what a local server prints
				t.Errorf("%s shows %q", path, left)
			}
		}
	}
}

func TestPagesAllowNothingButTheirOwnOrigin(t *testing.T) {
	t.Parallel()
	s := newSite()
	for path, w := range crawl(t, s, func(string, string) {}) {
		checkHeaders(t, path, w)
	}
	checkHeaders(t, "/docs/nowhere", get(t, s, "/docs/nowhere"))
	checkHeaders(t, "POST /docs", send(s, http.MethodPost, "/docs"))
}

func checkHeaders(t *testing.T, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	h := w.Header()
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%s: headers %v", path, h)
	}
	if strings.HasPrefix(path, "/docs/assets/") {
		if h.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", path, h.Get("Cache-Control"))
		}
		return
	}
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none';", "script-src 'self';", "base-uri 'none'", "form-action 'none'",
		"frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s: Content-Security-Policy %q lacks %s", path, policy, part)
		}
	}
	if loose := strings.Contains(policy, "unsafe"); loose != (path == "/docs/try") {
		t.Errorf("%s: Content-Security-Policy %q; only the page that tries calls may have styles of its own", path, policy)
	}
	if strings.Contains(policy, "*") || strings.Contains(policy, "http") {
		t.Errorf("%s: Content-Security-Policy %q names another origin", path, policy)
	}
	for _, inPage := range []string{"<style", " style=", "<script>", " onclick="} {
		if strings.Contains(w.Body.String(), inPage) {
			t.Errorf("%s has %s, which its policy forbids", path, inPage)
		}
	}
}

func TestAnswersAreComparedAndCompressed(t *testing.T) {
	t.Parallel()
	s := newSite()
	var paths []string
	for path := range crawl(t, s, func(string, string) {}) {
		paths = append(paths, path)
	}
	for _, path := range paths {
		plain := get(t, s, path)
		packed := get(t, s, path, "Accept-Encoding", "br, gzip;q=0.8")
		if encoding := packed.Header().Get("Content-Encoding"); encoding != "gzip" && plain.Body.Len() > 300 {
			t.Errorf("%s: Content-Encoding %q", path, encoding)
		} else if encoding == "gzip" {
			r, err := gzip.NewReader(packed.Body)
			if err != nil {
				t.Fatal(err)
			}
			if unpacked, err := io.ReadAll(r); err != nil || !bytes.Equal(unpacked, plain.Body.Bytes()) {
				t.Errorf("%s: compressed it is something else (%v)", path, err)
			}
			if packed.Header().Get("ETag") == plain.Header().Get("ETag") {
				t.Errorf("%s: one ETag for two forms", path)
			}
		}
		vary := "Accept-Encoding"
		if isPage(plain) && path != "/docs/try" {
			vary = "Accept, Accept-Encoding" // the same address has Markdown
		}
		if plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Vary") != vary {
			t.Errorf("%s: headers %v", path, plain.Header())
		}
		if refused := get(t, s, path, "Accept-Encoding", "gzip;q=0"); refused.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: compressed for one who refuses that", path)
		}
		if again := get(t, s, path, "If-None-Match", `"other", W/`+plain.Header().Get("ETag")); again.Code != http.StatusNotModified ||
			again.Body.Len() > 0 {
			t.Errorf("%s: %d and %d bytes for an ETag that holds", path, again.Code, again.Body.Len())
		}
		head := send(s, http.MethodHead, path)
		if head.Body.Len() > 0 || head.Header().Get("Content-Length") != fmt.Sprint(plain.Body.Len()) {
			t.Errorf("%s: HEAD has %d bytes and says %s", path, head.Body.Len(), head.Header().Get("Content-Length"))
		}
	}
}

func TestWhatIsNotThereAndWhatCannotBeDoneSaySo(t *testing.T) {
	t.Parallel()
	s := newSite()
	for _, path := range []string{"/docs/nowhere", "/docs/errors/NO_SUCH_CODE", "/docs/assets/site.css", "/docsmissing", "/docs/../docs",
		"/docs/guides/start.md"} {
		if w := get(t, s, path); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `href="/docs/errors"`) {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
	if w := get(t, s, "/docs/first-delivery"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "/docs/quickstart" {
		t.Errorf("a page that has moved: %d %s", w.Code, w.Header().Get("Location"))
	}
	if w := get(t, s, "/docs/errors/"); w.Code != http.StatusOK {
		t.Errorf("with a slash at the end: %d", w.Code)
	}
	if w := send(s, http.MethodPost, "/docs"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestBehindAProxyLinksHaveItsPath(t *testing.T) {
	t.Parallel()
	s := newSite(func(o *docsite.Options) { o.SandboxBaseURL = "https://example.com/delivery/sandbox/v1" })
	for _, m := range reLink.FindAllStringSubmatch(get(t, s, "/docs").Body.String(), -1) {
		if !strings.HasPrefix(m[1], "#") && m[1] != portal && !strings.HasPrefix(m[1], "/delivery/sandbox/docs") &&
			!strings.HasPrefix(m[1], "https://example.com/delivery/sandbox/v1/") {
			t.Errorf("link to %s", m[1])
		}
	}
	if !strings.Contains(get(t, s, "/docs/try").Body.String(), `data-root="/delivery/sandbox/docs"`) {
		t.Error("the reference calls the API elsewhere")
	}
}

func TestTheReferenceIsDrawnByTheFileThatWasExamined(t *testing.T) {
	t.Parallel()
	packed, err := os.ReadFile("assets/" + docsite.ScalarFile)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != docsite.ScalarSHA256 {
		t.Errorf("SHA-256 %s, want %s: was it replaced without being examined?", got, docsite.ScalarSHA256)
	}
	licence, err := os.ReadFile("assets/" + strings.TrimSuffix(docsite.ScalarFile, ".js.gz") + ".LICENSE.txt")
	if err != nil || !bytes.Contains(licence, []byte("Copyright (c) 2023-present Scalar")) {
		t.Errorf("its licence does not stand beside it: %v", err)
	}
}

func TestTheSiteShowsTheCompany(t *testing.T) {
	t.Parallel()
	b := brand.New(brand.Options{Name: "Kwik & Co", SupportEmail: "help@kwik.example", Logo: []byte("<svg/>"), Accent: "#aa2211"})
	s := newSite(func(o *docsite.Options) { o.Brand = b })
	page := get(t, s, "/docs/support").Body.String()
	for _, want := range []string{"Kwik &amp; Co", "mailto:help@kwik.example", "/docs/brand/" + b.Logo.Name, "/docs/brand/" + b.Style.Name} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, guide := range []string{"quickstart", "testing", "support"} {
		if page := get(t, s, "/docs/"+guide+".md").Body.String(); !strings.Contains(page, "at [help@kwik.example](mailto:help@kwik.example)") {
			t.Errorf("%s does not say where to ask", guide)
		}
	}
	if w := get(t, s, "/docs/brand/"+b.Logo.Name); w.Code != http.StatusOK || w.Body.String() != "<svg/>" {
		t.Errorf("the logo: %d", w.Code)
	}
}
