package pages_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
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
