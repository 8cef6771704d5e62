package httpapi

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// oneID returns the same ID each time.
type oneID struct{ ports.Identifiers }

func (oneID) ID(p domain.Prefix) domain.ID { return domain.ID(p) + "drawn" }

// sited serves an API that has only the site at /docs.
func sited(t *testing.T, site http.HandlerFunc) (*API, string) {
	t.Helper()
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := New(UseCases{Identifiers: oneID{}}, Options{CursorKeys: [][32]byte{{1}},
		Environment: domain.Sandbox, Log: slog.New(slog.DiscardHandler), Beside: []Site{{Prefix: "/docs", Handler: site}},
	})
	go func() { _ = a.Serve(listener) }()
	t.Cleanup(func() { _ = a.server.Close() })
	return a, "http://" + listener.Addr().String()
}

func fetch(t *testing.T, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestASiteHasItsPathsAndNoOthers(t *testing.T) {
	t.Parallel()
	a, url := sited(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Error(w, "the site's "+r.URL.Path, http.StatusNotFound)
	})
	for _, path := range []string{"/docs", "/docs/", "/docs/a/b"} {
		response := fetch(t, url+path)
		body, _ := io.ReadAll(response.Body)
		// An error response of the site is passed on unchanged: no envelope replaces it.
		if string(body) != "the site's "+path+"\n" || response.Header.Get("X-Request-ID") != "req_drawn" {
			t.Errorf("%s: %q with headers %v", path, body, response.Header)
		}
	}
	calls := 0
	both := a.withSites(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	for _, path := range []string{"/", "/v1/docs", "/docsother"} {
		both.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	if calls != 3 {
		t.Errorf("%d of 3 calls came to the API", calls)
	}
}

func TestAStreamOfASiteEndsWhenTheListenerCloses(t *testing.T) {
	t.Parallel()
	a, url := sited(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	stream := bufio.NewReader(fetch(t, url+"/docs").Body)
	if line, err := stream.ReadString('\n'); line != "begun\n" || err != nil {
		t.Fatalf("read %q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		t.Errorf("the listener was not free of the stream: %v", err)
	}
}

func TestABrowserIsLedToTheDocsAndAProgramIsNot(t *testing.T) {
	t.Parallel()
	for _, home := range []bool{true, false} {
		a := &API{Options: Options{Beside: []Site{{Prefix: "/track", Handler: http.NotFoundHandler()},
			{Prefix: "/docs", Handler: http.NotFoundHandler(), Home: home}}}}
		handler := a.withSites(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
		for _, c := range []struct {
			method, path, accept string
			led                  bool
		}{
			{"GET", "/", "text/html,application/xhtml+xml,*/*;q=0.8", home}, {"HEAD", "/", "text/html", home},
			{"GET", "/", "*/*", false}, {"GET", "/", "application/json", false}, {"GET", "/", "", false},
			{"POST", "/", "text/html", false}, {"GET", "/v1", "text/html", false}, {"GET", "//", "text/html", false},
		} {
			r := httptest.NewRequest(c.method, "http://api.example.com"+c.path, nil)
			r.Header.Set("Accept", c.accept)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			want, to := http.StatusNotFound, ""
			if c.led {
				want, to = http.StatusFound, "docs"
			}
			if w.Code != want || w.Header().Get("Location") != to {
				t.Errorf("home %v: %+v: %d to %q", home, c, w.Code, w.Header().Get("Location"))
			}
		}
		if message := a.nothingAt("/v1/nothing").Message; strings.Contains(message, "/docs explains it") != home {
			t.Errorf("home %v: %s", home, message)
		}
	}
}
