package brand

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEveryAccentCanBeReadOnEverySurface(t *testing.T) {
	t.Parallel()
	for _, accent := range []string{"#000000", "#ffffff", "#ffcc00", "#0b5d80", "#ff0000", "#00ff00", "#0000ff", "#808080", "#c2185b"} {
		for name, on := range map[string]struct {
			accent   colour
			surfaces []colour
		}{"light": {onLight(parse(accent)), lightSurfaces}, "dark": {onDark(parse(accent)), darkSurfaces}} {
			for _, s := range append(on.surfaces, tintOf(on.accent, on.surfaces)) {
				if ratio := contrast(on.accent, s); ratio < 4.5 {
					t.Errorf("%s becomes %s on %s pages: %.2f on %s", accent, on.accent, name, ratio, s)
				}
			}
		}
	}
	if got := onLight(parse("#0b5d80")); got.String() != "#0b5d80" {
		t.Errorf("a legible colour became %s", got)
	}
}

// The surfaces are those of the stylesheet.
func TestTheSurfacesAreThoseOfTheTokens(t *testing.T) {
	t.Parallel()
	tokens, err := os.ReadFile("../pages/assets/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range []string{"paper", "raised", "card"} {
		for _, found := range regexp.MustCompile(`--`+name+`: (#\w{6});`).FindAllStringSubmatch(string(tokens), -1) {
			got = append(got, found[1])
		}
	}
	want := ""
	for i := range lightSurfaces {
		want += lightSurfaces[i].String() + " " + darkSurfaces[i].String() + " "
	}
	if strings.Join(got, " ")+" " != want {
		t.Errorf("tokens.css has %s, and this package %s", got, want)
	}
}

func TestALogoIsServedSoThatItRunsNothing(t *testing.T) {
	t.Parallel()
	b := New(Options{Name: "Kofi", Logo: []byte("<svg/>"), Accent: "#ffcc00"})
	w := httptest.NewRecorder()
	if !b.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), b.Logo.Name) {
		t.Fatal("there is no logo")
	}
	policy := w.Header().Get("Content-Security-Policy")
	if w.Body.String() != "<svg/>" || w.Header().Get("Content-Type") != "image/svg+xml" || w.Header().Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "sandbox") || strings.Contains(policy, "script-src") {
		t.Errorf("%v", w.Header())
	}
	if b.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), "logo.svg") || (Brand{}).Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), "") {
		t.Error("a file that does not exist was served")
	}
	if (Brand{}).Name() != "Waybill" || (Brand{}).Button() != "#0b4f6c" {
		t.Error("without settings the brand is another one")
	}
}
