package pages_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/adapters/pages"
	"waybill/domain"
	"waybill/test/stage"
)

// Postgres refuses a text that is none with an error, which is neither a defect of ours nor an outage.
func TestNoPageSeesAnAddressThatIsNoTextAndAPanicIsAPage(t *testing.T) {
	t.Parallel()
	world := stage.New(t)
	s := pages.New(pages.Options{Site: domain.Console, BaseURL: "http://localhost", Pages: &fstest.MapFS{},
		Words: pages.Words{Name: "test", To: "the test"}, Log: slog.New(slog.DiscardHandler), Clock: world.Clock, Identifiers: world.IDs,
		Frame: func(*pages.Call) (pages.Page, error) { return pages.Page{}, nil }, People: pages.People{Path: "/staff"},
		Routes: []pages.Route{{Method: http.MethodGet, Path: "/echo", Handle: func(c *pages.Call) error {
			for name, values := range c.Request.URL.Query() {
				c.String(http.StatusOK, "%q=%q", name, values)
			}
			return nil
		}}, {Method: http.MethodGet, Path: "/panic", Handle: func(*pages.Call) error { panic("a fault") }}},
	})
	for query, want := range map[string]string{
		"q=live": `"q"=["live"]`, "q=%C3%A4%20%2B&q=": `"q"=["ä +" ""]`,
		"q=%00": `"q"=["` + "\ufffd" + `"]`, "q=a%ffb&q=c": `"q"=["a` + "\ufffd" + `b" "c"]`, "%ff=1": `"` + "\ufffd" + `"=["1"]`,
	} {
		got := httptest.NewRecorder()
		s.Handler().ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/echo?"+query, http.NoBody))
		if got.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", query, got.Code, got.Body, want)
		}
	}
	got := httptest.NewRecorder()
	s.Handler().ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/panic", http.NoBody))
	if got.Code != http.StatusInternalServerError || !strings.Contains(got.Body.String(), "Something failed on our side") {
		t.Errorf("a panic: %d %s", got.Code, got.Body)
	}
}

func TestHeadIsAnsweredLikeGetWithoutABody(t *testing.T) {
	t.Parallel()
	world := stage.New(t)
	var s *pages.Site
	s = pages.New(pages.Options{Site: domain.Console, BaseURL: "http://localhost", Prefix: "/console",
		Pages: &fstest.MapFS{"html/long.html": {Data: []byte(`{{define "content"}}` + strings.Repeat("Long. ", 500) + `{{end}}`)}},
		Words: pages.Words{Name: "test", To: "the test"}, Log: slog.New(slog.DiscardHandler), Clock: world.Clock, Identifiers: world.IDs,
		Frame: func(*pages.Call) (pages.Page, error) { return pages.Page{}, nil }, People: pages.People{Path: "/staff"},
		Routes: []pages.Route{{Method: http.MethodGet, Path: "/long", Handle: func(c *pages.Call) error {
			return s.ShowPlain(c, http.StatusOK, "long", "Long", nil)
		}}},
	})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	answer := func(method, path, encoding string) (status, header, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		res.Header.Del("Date")
		res.Header.Del("X-Request-Id")
		if res.StatusCode == http.StatusFound {
			res.Header.Del("Content-Length") // http.Redirect writes a body for GET alone
		}
		return res.Status, fmt.Sprint(res.Header), string(text)
	}
	_, _, page := answer(http.MethodGet, "/console/long", "identity")
	asset := regexp.MustCompile(`/console/assets/pages[^"]+\.css`).FindString(page)
	for _, path := range []string{"/console/long", asset, "/console/assets/none.css", "/console"} {
		for _, encoding := range []string{"gzip", "identity"} {
			status, header, _ := answer(http.MethodGet, path, encoding)
			if s, h, body := answer(http.MethodHead, path, encoding); s != status || h != header || body != "" {
				t.Errorf("HEAD of %s (%s): %s %s %q\nGET: %s %s", path, encoding, s, h, body, status, header)
			}
		}
	}
}
