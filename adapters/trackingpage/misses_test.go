package trackingpage_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waybill/domain"
	"waybill/test/sample"
)

// notReferences lists invalid references of many kinds. None finds a delivery.
var notReferences = []string{
	"/none", "/7K3M-Q9XT-2WH", "/7k3m-q9xt-2whb", "/7K3M-Q9XT-2WHI", "/7K3MQ9XT2WHB", "/a/b", "/stream", "/assets", "/assets/",
	"/assets/track.css", "/%00", "/%2e%2e", "/7K3M-Q9XT-2WHB/other", "/none/stream", "/7K3M-Q9XT-2WHB%2Fstream",
	"/" + strings.Repeat("A", 4000), "/%FF%FE",
}

// wantLikeUnknown asks for what is no delivery, and for what is malformed, and wants one answer. It
// tells how often each was looked up by itself and with others, and counted.
func (s *scene) wantLikeUnknown(t *testing.T, status int, counted func(path string, looks, questions, takes int)) {
	t.Helper()
	unknown := s.ask(t, http.MethodGet, "/"+string(sample.Reference()), "192.0.2.1")
	unknown.Header.Del("Date")
	for _, path := range append(notReferences, "/"+string(sample.Reference())+"/stream") {
		looks, questions, takes := s.storage.looks.Load(), s.storage.questions.Load(), s.limiter.counted()
		got := s.ask(t, http.MethodGet, path, "192.0.2.1")
		if got.StatusCode != status || got.body != unknown.body {
			t.Errorf("%q: %d\n%s", path, got.StatusCode, cmp.Diff(unknown.body, got.body))
		}
		got.Header.Del("Date")
		if diff := cmp.Diff(unknown.Header, got.Header); diff != "" {
			t.Errorf("%q: headers (-unknown +got):\n%s", path, diff)
		}
		counted(path, int(s.storage.looks.Load()-looks), int(s.storage.questions.Load()-questions), s.limiter.counted()-takes)
	}
}

func TestWhatIsMalformedLooksLikeWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.wantLikeUnknown(t, http.StatusNotFound, func(path string, looks, _, takes int) {
		if looks != 1 || takes != 1 {
			t.Errorf("%q: looked up %d times, counted %d times", path, looks, takes)
		}
		s.limiter.forget()
	})
}

func TestBehindTheLimitWhatIsMalformedLooksLikeWhatDoesNotExistToo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.limiter.spend("192.0.2.1")
	s.wantLikeUnknown(t, http.StatusTooManyRequests, func(path string, looks, questions, _ int) {
		if looks != 0 || questions != 1 {
			t.Errorf("%q: looked up %d times by itself, %d times with others", path, looks, questions)
		}
	})
}

func TestAGuessThatIsRefusedIsToldWhenToComeBackAndPagesThatExistOpen(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const guesser = "192.0.2.1"
	d := s.book(t, domain.Live)
	s.ask(t, http.MethodGet, "/none", guesser)
	s.limiter.spend(guesser)
	for _, path := range []string{"/" + string(sample.Reference()), "/none", "/" + string(sample.Reference()) + "/stream"} {
		got := s.ask(t, http.MethodGet, path, guesser)
		if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "91" ||
			!strings.Contains(got.body, "Please try again in a minute") {
			t.Errorf("%s: %d, Retry-After %q\n%s", path, got.StatusCode, got.Header.Get("Retry-After"), got.body)
		}
	}
	if got := s.ask(t, http.MethodGet, "/"+string(d.Reference), guesser).StatusCode; got != http.StatusOK {
		t.Errorf("a page behind the same address: %d", got)
	}
	want := map[string]float64{"found": 1, "missing": 1, "limited": 3, "error": 0}
	if diff := cmp.Diff(want, s.pagesCounted(t)); diff != "" {
		t.Errorf("waybill_tracking_pages_total (-want +got):\n%s", diff)
	}
}

func TestAnEscapedSlashIsNoPathOfADelivery(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	for _, path := range []string{"/" + string(d.Reference) + "%2fstream", "/" + string(d.Reference) + "%2Fstream"} {
		if got := s.ask(t, http.MethodGet, path, "192.0.2.1"); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.Header.Get("Content-Type"))
		}
	}
	if got := s.ask(t, http.MethodGet, "/"+strings.Replace(string(d.Reference), "-", "%2d", 1), "192.0.2.1"); got.StatusCode != http.StatusOK {
		t.Errorf("another character that is escaped: %d", got.StatusCode)
	}
}

func TestANetworkOfIPv6IsOneAddress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 100 {
		s.ask(t, http.MethodGet, "/none", "2001:db8:1:2"+string("0123456789abcdef"[i%16])+string("0123456789abcdef"[i/16])+"::1")
	}
	if got := s.ask(t, http.MethodGet, "/none", "2001:db8:1:2ff:ffff::1").StatusCode; got != http.StatusTooManyRequests {
		t.Errorf("the same network: %d", got)
	}
	if got := s.ask(t, http.MethodGet, "/none", "2001:db8:1:300::1").StatusCode; got != http.StatusNotFound {
		t.Errorf("another network: %d", got)
	}
}

func TestAStorageThatFailsIsToldAndLoggedWithoutTheReference(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	s.storage.fails.Store(new(errors.New("no answer of the database")))
	for range 30 { // and none of it counts
		got := s.get(t, d.Reference)
		if got.StatusCode != http.StatusServiceUnavailable || !strings.Contains(got.body, "Tracking is not available right now") ||
			got.Header.Get("Retry-After") == "" {
			t.Fatalf("%d, %v\n%s", got.StatusCode, got.Header, got.body)
		}
	}
	log := s.log.String()
	if !strings.Contains(log, "no answer of the database") || strings.Contains(log, string(d.Reference)) ||
		strings.Contains(log, "203.0.113.9") {
		t.Errorf("logged:\n%s", log)
	}
}
