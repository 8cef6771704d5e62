package pages_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/adapters/brand"
	"waybill/adapters/pages"
)

// tokens are the colours of one of the two schemes, by name.
func tokens(sheet string) map[string]string {
	colours := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(sheet, -1) {
		colours[m[1]] = m[2]
	}
	return colours
}

// luminance is that of WCAG 2.2.
func luminance(hex string) (l float64) {
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		l += weight * c
	}
	return l
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func TestEveryTextCanBeReadOnEveryGroundInBothSchemes(t *testing.T) {
	light, dark, found := strings.Cut(string(pages.Tokens()), "@media")
	if !found {
		t.Fatal("there is one scheme only")
	}
	for scheme, colours := range map[string]map[string]string{"light": tokens(light), "dark": tokens(dark)} {
		for text, grounds := range map[string][]string{
			"ink": {"paper", "raised", "card", "tint"}, "quiet": {"paper", "raised", "card"}, "accent": {"paper", "raised", "card", "tint"},
			"good": {"card", "good-tint"}, "bad": {"card", "bad-tint", "paper"}, "on-warn": {"warn"}, "on-brand": {"brand"}, "card": {"bad", "good"},
		} {
			for _, ground := range grounds {
				if got := contrast(colours[text], colours[ground]); got < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f, at least 4.5 is wanted", scheme, text, ground, got)
				}
			}
		}
		if got := contrast(colours["edge"], colours["card"]); got < 3 {
			t.Errorf("%s: the edge of a field has a contrast of %.2f, at least 3 is wanted", scheme, got)
		}
	}
}

func page(t *testing.T, content string, body any) string {
	t.Helper()
	files := fstest.MapFS{"html/one.html": {Data: []byte(`{{define "content"}}` + content + `{{end}}`)}}
	set, err := pages.Parse("", pages.ForReader, files)
	if err != nil {
		t.Fatal(err)
	}
	html, err := set.Render("one", pages.Page{Title: "One", Site: "developers", Home: "/", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func TestEveryPageOfTheProgramCanBeParsed(t *testing.T) {
	for _, edge := range []string{"pages", "portal", "console"} {
		set, err := pages.Parse("", pages.ForReader, os.DirFS(filepath.Join("..", edge)))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := set.ParseAll(); err != nil || n == 0 {
			t.Errorf("%s: %d pages: %v", edge, n, err)
		}
	}
}

func TestAPageLoadsItsOwnAssetsAndNothingElse(t *testing.T) {
	html := page(t, "<h1>One</h1>", nil)
	links := regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(html, -1)
	all := 0
	for _, link := range links {
		name, isAsset := strings.CutPrefix(link[1], "/assets/")
		if !isAsset {
			if link[1] != "/" && link[1] != "#content" {
				t.Errorf("the page leads to %s", link[1])
			}
			continue
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, link[1], nil)
		r.Header.Set("Accept-Encoding", "gzip")
		if !pages.ServeAsset(w, r, name) || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: not served, or not packed", link[1])
		}
		all += w.Body.Len()
		unpacked, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(unpacked)
		if err != nil {
			t.Fatal(err)
		}
		w = httptest.NewRecorder()
		if pages.ServeAsset(w, httptest.NewRequest(http.MethodGet, link[1], nil), name); !bytes.Equal(w.Body.Bytes(), plain) {
			t.Errorf("%s: other bytes without gzip", link[1])
		}
	}
	if all == 0 || all > 15_000 {
		t.Errorf("the assets have %d bytes packed, at most 15,000 are wanted", all)
	}
	if w := httptest.NewRecorder(); pages.ServeAsset(w, httptest.NewRequest(http.MethodGet, "/assets/pages.css", nil), "pages.css") {
		t.Error("an asset is served under a name that does not change with it")
	}
	for _, inline := range []string{"<style", "style=", "onclick", "javascript:"} {
		if strings.Contains(html, inline) {
			t.Errorf("the page has %s", inline)
		}
	}
}

func TestAFieldIsTiedToItsHintAndItsError(t *testing.T) {
	html := page(t, `{{template "field" .}}`, pages.Field{ID: "name", Name: "name", Label: "Name", Hint: "as on the sign",
		Error: "a name has at least 1 character", Value: `"><b>`})
	for _, want := range []string{
		`<label for="name">`, `aria-describedby="name-hint name-error"`, `id="name-error"`, `aria-invalid="true"`,
		`value="&#34;&gt;&lt;b&gt;"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is not in %s", want, html)
		}
	}
	if html := page(t, `{{template "field" .}}`, pages.Field{ID: "p", Name: "password", Type: "password",
		Value: "secret words"}); strings.Contains(html, "secret words") {
		t.Error("a password that was typed is in the page")
	}
}

func TestAChartHasItsFiguresInATableToo(t *testing.T) {
	var bars []pages.Bar
	for i := range 12 {
		bars = append(bars, pages.Bar{Label: fmt.Sprintf("hour %d", i), Value: int64(i * 37)})
	}
	html := page(t, `{{template "chart" .}}`, pages.NewChart("Requests", "Hour", "Requests", bars))
	if n := strings.Count(html, `class="bar-fill"`); n != 12 {
		t.Errorf("%d bars", n)
	}
	for _, want := range []string{`<th scope="row">hour 11</th><td>407</td>`, `role="img"`, ">500<"} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is not in %s", want, html)
		}
	}
	// The tallest bar stays below the top line, and none has a negative height.
	for _, m := range regexp.MustCompile(` y="([-.0-9]+)" width="[.0-9]+" height="([-.0-9]+)"`).FindAllStringSubmatch(html, -1) {
		y, _ := strconv.ParseFloat(m[1], 64)
		height, _ := strconv.ParseFloat(m[2], 64)
		if y < 14 || height < 0 || math.Abs(y+height-160) > .11 {
			t.Errorf("a bar at %v with a height of %v", y, height)
		}
	}
	if empty := page(t, `{{template "chart" .}}`, pages.NewChart("Requests", "Hour", "Requests", nil)); strings.Contains(empty, "NaN") {
		t.Error("an empty chart is drawn with NaN")
	}
}

func TestALibraryIsTheOneThatItsProjectReleased(t *testing.T) {
	t.Parallel()
	html := page(t, `{{range .}}<a href="{{asset .}}"></a>{{end}}`,
		[]string{"maplibre-gl.mjs", "maplibre-gl-worker.mjs", "maplibre-gl.css", "maplibre-gl.LICENSE.txt"})
	names := regexp.MustCompile(`/assets/(maplibre[^"]+)`).FindAllStringSubmatch(html, -1)
	if len(names) != 4 {
		t.Fatal(html)
	}
	for i, name := range names {
		w := httptest.NewRecorder()
		if !pages.ServeAsset(w, httptest.NewRequest(http.MethodGet, "/", nil), name[1]) {
			t.Fatalf("%s is not served", name[1])
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(w.Body.Bytes()))
		if i < 3 && sum != pages.Libraries[strings.Replace(name[1], sum[:12]+".", "", 1)] {
			t.Errorf("%s has the checksum %s", name[1], sum)
		}
		if body := w.Body.String(); i != 2 && !strings.Contains(body, "MapLibre") || i == 0 && !strings.Contains(body, "/v6.17.0/LICENSE.txt") {
			t.Errorf("%s: %.200s", name[1], body)
		}
	}
}

func TestEveryPageShowsTheCompany(t *testing.T) {
	t.Parallel()
	company := brand.New(brand.Options{Name: "Kofi & Co", Logo: []byte("<svg/>"), Accent: "#ffcc00", SupportURL: "https://kofi.example/help",
		SupportEmail: "help@kofi.example"})
	get := func(b brand.Brand, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		pages.NotYet("", pages.Words{Name: "developers", To: "the portal"}, b).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	body := get(company, "/").Body.String()
	for _, part := range []string{"Kofi &amp; Co <span>developers</span>", "· Kofi &amp; Co developers</title>", `<img src="/assets/` + company.Logo.Name + `"`,
		`<link rel="stylesheet" href="/assets/` + company.Style.Name, `href="https://kofi.example/help"`, `href="mailto:help@kofi.example"`} {
		if !strings.Contains(body, part) {
			t.Errorf("no %s in\n%s", part, body)
		}
	}
	for _, name := range []string{company.Logo.Name, company.Style.Name} {
		if got := get(company, "/assets/"+name); got.Code != http.StatusOK || got.Header().Get("Content-Security-Policy") == pages.Policy {
			t.Errorf("%s: %d %v", name, got.Code, got.Header())
		}
	}
	if body := get(brand.Brand{}, "/").Body.String(); !strings.Contains(body, "Waybill <span>") || strings.Contains(body, `class="help"`) ||
		strings.Contains(body, "<img") {
		t.Errorf("without settings:\n%s", body)
	}
}
