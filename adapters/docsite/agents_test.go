package docsite_test

import (
	"bytes"
	"compress/gzip"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waybill/adapters/docsite"
)

var (
	reAlternate    = regexp.MustCompile(`<link rel="alternate" type="text/markdown" href="([^"]+)">`)
	reMarkdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	reIndexed      = regexp.MustCompile(`(?m)^- \[([^\]]+)\]\(([^)]+)\): (.+)$`)
	reFence        = regexp.MustCompile("(?ms)^```.*?^```$")
	reHeadingLine  = regexp.MustCompile(`(?m)^#{1,3} (.+)$`)
	rePre          = regexp.MustCompile(`(?s)<pre[^>]*><code>(.*?)</code></pre>`)
	reCell         = regexp.MustCompile(`<t[dh][ >]`)
)

// htmlPages are all pages, by path.
func htmlPages(t *testing.T, s *docsite.Site) map[string]*httptest.ResponseRecorder {
	t.Helper()
	pages := crawl(t, s, func(string, string) {})
	maps.DeleteFunc(pages, func(path string, w *httptest.ResponseRecorder) bool { return !isPage(w) || path == "/docs/try" })
	if len(pages) < 45 {
		t.Fatalf("found %d pages, which is too few to be all", len(pages))
	}
	return pages
}

func isMarkdown(w *httptest.ResponseRecorder) bool {
	return w.Code == http.StatusOK && w.Header().Get("Content-Type") == "text/markdown; charset=utf-8"
}

func TestTheIndexForAgentsListsEveryPageAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite()
	index := get(t, s, "/llms.txt")
	text := index.Body.String()
	if kind := index.Header().Get("Content-Type"); index.Code != http.StatusOK || kind != "text/plain; charset=utf-8" {
		t.Fatalf("%d %s", index.Code, kind)
	}
	if !strings.HasPrefix(text, "# Waybill Delivery API\n\n> ") {
		t.Errorf("it begins with %.80q, not with a title and a quote as llmstxt.org says", text)
	}
	if below := get(t, s, "/docs/llms.txt").Body.String(); below != text {
		t.Error("below the site it is another one")
	}
	listed := map[string]bool{}
	for _, m := range reIndexed.FindAllStringSubmatch(text, -1) {
		path, ours := strings.CutPrefix(m[2], "https://sandbox.example.com")
		switch {
		case strings.HasPrefix(path, "/v1/openapi."):
			continue
		case !ours || !isMarkdown(get(t, s, path)):
			t.Errorf("it leads to %s, which is no page as Markdown", m[2])
		}
		listed[path] = true
	}
	pages := htmlPages(t, s)
	for path, w := range pages {
		alternate := reAlternate.FindStringSubmatch(w.Body.String())
		if alternate == nil {
			t.Errorf("%s does not say where its Markdown is", path)
		} else if !listed[alternate[1]] {
			t.Errorf("%s is not listed", path)
		}
	}
	if len(listed) != len(pages) {
		t.Errorf("it lists %d pages of %d", len(listed), len(pages))
	}
}

func TestThePagesInOneFileAreThePages(t *testing.T) {
	t.Parallel()
	s := newSite()
	all := get(t, s, "/docs/llms-full.txt").Body.String()
	for path, w := range htmlPages(t, s) {
		page := get(t, s, reAlternate.FindStringSubmatch(w.Body.String())[1]).Body.String()
		title, rest, _ := strings.Cut(page, "\n")
		if !strings.Contains(all, title+"\nSource: https://sandbox.example.com"+path+"\n"+rest) {
			t.Errorf("%s is not in it, or in other words", path)
		}
	}
}

func TestAPageAsMarkdownSaysWhatThePageSays(t *testing.T) {
	t.Parallel()
	s := newSite()
	for path, w := range htmlPages(t, s) {
		body := w.Body.String()
		markdown := get(t, s, reAlternate.FindStringSubmatch(body)[1])
		text := markdown.Body.String()
		title, _, _ := strings.Cut(reTitle.FindStringSubmatch(body)[1], " · ")
		if !isMarkdown(markdown) || !strings.HasPrefix(text, "# "+html.UnescapeString(title)+"\n\n") {
			t.Errorf("%s: %d %v %.60q", path, markdown.Code, markdown.Header(), text)
		}
		for _, code := range rePre.FindAllStringSubmatch(body, -1) {
			if !strings.Contains(text, "\n"+strings.TrimSuffix(html.UnescapeString(code[1]), "\n")+"\n```") {
				t.Errorf("%s lacks the code %.80q", path, code[1])
			}
		}
		_, main, _ := strings.Cut(body, "<main")
		cells := 0
		for line := range strings.Lines(reFence.ReplaceAllString(text, "")) {
			if strings.HasPrefix(line, "| ") && path != "/docs/reference" {
				cells += strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
			}
		}
		headless := strings.Count(main, "<tbody>") - strings.Count(main, "<thead>")
		if want := len(reCell.FindAllString(main, -1)) + 2*headless; cells != want && path != "/docs/reference" {
			t.Errorf("%s has %d cells in tables, and as Markdown %d", path, want, cells)
		}
		for _, left := range []string{"</", "&lt;", "&amp;", "&#", "<no value>", "%!", "]()", "(#)"} {
			if strings.Contains(reFence.ReplaceAllString(strings.ReplaceAll(text, "Waybill <no-reply@", ""), ""), left) {
				t.Errorf("%s as Markdown shows %q", path, left)
			}
		}
	}
}

func TestEveryLinkInMarkdownLeadsToMarkdown(t *testing.T) {
	t.Parallel()
	s := newSite()
	links := 0
	for path, w := range htmlPages(t, s) {
		here := reAlternate.FindStringSubmatch(w.Body.String())[1]
		text := reFence.ReplaceAllString(get(t, s, here).Body.String(), "")
		for _, m := range reMarkdownLink.FindAllStringSubmatch(text, -1) {
			to, err := (&url.URL{Path: here}).Parse(m[1])
			if err != nil {
				t.Fatal(err)
			}
			target, anchor, hasAnchor := strings.Cut(strings.TrimPrefix(to.String(), "https://sandbox.example.com"), "#")
			if !strings.HasPrefix(target, "/docs") || target == "/docs/try" {
				if target != "/docs/try" && !isElsewhere(to.String()) {
					t.Errorf("%s leads to %s", path, m[1])
				}
				continue
			}
			links++
			found := get(t, s, target)
			if !isMarkdown(found) || !strings.HasSuffix(target, ".md") {
				t.Errorf("%s leads to %s, which is no Markdown", path, m[1])
			} else if hasAnchor && !slices.Contains(anchors(found.Body.String()), anchor) {
				t.Errorf("%s leads to %s, and no heading there is called so", path, m[1])
			}
		}
	}
	if links < 250 {
		t.Errorf("found %d links, which is too few to be all", links)
	}
}

// anchors are those that renderers give the headings of a text.
func anchors(text string) (all []string) {
	for _, m := range reHeadingLine.FindAllStringSubmatch(reFence.ReplaceAllString(text, ""), -1) {
		all = append(all, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"), ""))
	}
	return all
}

func TestWhoAsksForMarkdownGetsItAtTheAddressOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite()
	for accept, wants := range map[string]bool{
		"": false, "*/*": false, "text/html": false, "text/*": false, "application/json": false,
		"text/markdown":                                  true,
		"Text/Markdown; charset=utf-8":                   true,
		"text/markdown, text/html, */*":                  true,
		"text/html, text/markdown":                       true,
		"text/html;q=0.8, text/markdown;q=0.9":           true,
		"text/html;q=0.9, text/markdown;q=0.8":           false,
		"text/html, text/markdown;q=0.999":               false,
		"text/markdown;q=0":                              false,
		"text/markdown;q=0, */*":                         false,
		"text/markdown;q=0.5, */*;q=0.1":                 true,
		"text/markdown;q=0.5, */*":                       false,
		"text/*;q=0.9, text/html;q=0.1":                  true,
		"text/html;q=0, */*":                             true,
		"text/markdown ; q = 0.5 , text/html; q=0.4":     true,
		"text/markdown;q=7, text/html;q=0.1":             false,
		"text/markdown;q=, text/html;q=0.1":              false,
		"text/markdown;q=NaN":                            false,
		",,;;,text/markdown":                             true,
		"text/html,application/xhtml+xml,*/*;q=0.8":      false,
		"text/plain, text/markdown;q=0.3, text/html;q=0": true,
	} {
		for _, path := range []string{"/docs", "/docs/webhooks", "/docs/reference", "/docs/errors/NOT_FOUND"} {
			w := get(t, s, path, "Accept", accept)
			if isMarkdown(w) != wants || isPage(w) == wants {
				t.Errorf("%s with Accept %q is %s", path, accept, w.Header().Get("Content-Type"))
			}
			if vary := w.Header().Get("Vary"); vary != "Accept, Accept-Encoding" {
				t.Errorf("%s with Accept %q: Vary %q", path, accept, vary)
			}
		}
	}
	w := get(t, s, "/docs/nowhere", "Accept", "text/markdown")
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusNotFound || !strings.HasPrefix(kind, "text/markdown") ||
		!strings.Contains(w.Body.String(), "](/docs/index.md)") {
		t.Errorf("a page that does not exist: %d %s\n%s", w.Code, kind, w.Body)
	}
	for _, path := range []string{"/docs/missing.md", "/docs/nowhere.md", "/docs/.md", "/docs.md"} {
		if w := get(t, s, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestMarkdownIsKeptAndComparedAsThePagesAre(t *testing.T) {
	t.Parallel()
	s := newSite()
	page := get(t, s, "/docs/webhooks")
	negotiated := get(t, s, "/docs/webhooks", "Accept", "text/markdown")
	named := get(t, s, "/docs/webhooks.md")
	if negotiated.Body.String() != named.Body.String() {
		t.Error("it is one thing at its own address and another where it is asked for")
	}
	if vary := named.Header().Get("Vary"); vary != "Accept-Encoding" {
		t.Errorf("Vary %q of an address that has Markdown only", vary)
	}
	tag := negotiated.Header().Get("ETag")
	if tag == "" || tag == page.Header().Get("ETag") || negotiated.Header().Get("Cache-Control") != page.Header().Get("Cache-Control") {
		t.Errorf("headers %v beside those of the page, %v", negotiated.Header(), page.Header())
	}
	same := get(t, s, "/docs/webhooks", "Accept", "text/markdown", "If-None-Match", tag)
	if same.Code != http.StatusNotModified || same.Header().Get("Vary") != "Accept, Accept-Encoding" {
		t.Errorf("%d, Vary %q for a tag that holds", same.Code, same.Header().Get("Vary"))
	}
	if other := get(t, s, "/docs/webhooks", "If-None-Match", tag); other.Code != http.StatusOK {
		t.Errorf("the page is %d for the tag of its Markdown", other.Code)
	}
	packed := get(t, s, "/docs/webhooks.md", "Accept-Encoding", "gzip")
	r, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || !bytes.Equal(text, named.Body.Bytes()) {
		t.Errorf("compressed it is something else: %v", err)
	}
	if head := send(s, http.MethodHead, "/docs/webhooks.md"); head.Code != http.StatusOK || head.Body.Len() > 0 {
		t.Errorf("HEAD: %d with %d bytes", head.Code, head.Body.Len())
	}
}

func TestTheReferenceAsMarkdownHasEveryCallAndSchema(t *testing.T) {
	t.Parallel()
	text := get(t, newSite(), "/docs/reference.md").Body.String()
	for _, part := range []string{"### POST /deliveries\n\n**", "### GET /api-key\n", "### DeliveryRequest\n", "`deliveries:write`",
		"Body: [QuoteRequest](#quoterequest)", "- `409` [`EXTERNAL_ID_CONFLICT`](errors/EXTERNAL_ID_CONFLICT.md), ",
		"Either `recipient`, or `recipient_id` and `recipient_address_id`; and", "text, so far `delivery.created`, ", "\n| `vehicle_type` | yes | [VehicleType](#vehicletype)"} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q", part)
		}
	}
	calls := regexp.MustCompile(`(?m)^### (GET|POST|PUT|PATCH|DELETE) /`).FindAllString(text, -1)
	if told := regexp.MustCompile(`(\d+) calls, from`).FindStringSubmatch(text); told == nil || len(calls) < 35 ||
		told[1] != strconv.Itoa(len(calls)) {
		t.Errorf("it has %d calls and says %v", len(calls), told)
	}
}
