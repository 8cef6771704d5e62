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
	"/none", "/7K3M-Q9XT-2WH", "/7k3m-q9xt-2whb", "/7K3M-Q9XT-2WHI", "/7K3MQ9XT2WHB", "/", "", "/a/b", "/stream", "/assets", "/assets/",
	"/assets/track.css", "/%00", "/%2e%2e", "/7K3M-Q9XT-2WHB/", "/7K3M-Q9XT-2WHB/other", "/none/stream", "/7K3M-Q9XT-2WHB%2Fstream",
	"/" + strings.Repeat("A", 4000), "/%FF%FE",
}

func TestWhatIsMalformedLooksLikeWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	unknown := s.ask(t, http.MethodGet, "/"+string(sample.Reference()), "192.0.2.1")
	if unknown.StatusCode != http.StatusNotFound {
		t.Fatalf("unknown: %d", unknown.StatusCode)
	}
	for _, path := range append(notReferences, "/"+string(sample.Reference())+"/stream") {
		looks, takes := s.storage.looks.Load(), s.limiter.counted()
		got := s.ask(t, http.MethodGet, path, "192.0.2.2")
		if got.StatusCode != http.StatusNotFound || got.body != unknown.body {
			t.Errorf("%q: %d\n%s", path, got.StatusCode, cmp.Diff(unknown.body, got.body))
		}
		unknown.Header.Del("Date")
		got.Header.Del("Date")
		if diff := cmp.Diff(unknown.Header, got.Header); diff != "" {
			t.Errorf("%q: headers (-unknown +got):\n%s", path, diff)
		}
		if looks, takes = s.storage.looks.Load()-looks, s.limiter.counted()-takes; looks != 1 || takes != 1 {
			t.Errorf("%q: looked up %d times, counted %d times", path, looks, takes)
		}
		s.limiter.forget()
	}
}

func TestBehindTheLimitWhatIsMalformedLooksLikeWhatDoesNotExistToo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.limiter.spend("192.0.2.1")
	unknown := s.ask(t, http.MethodGet, "/"+string(sample.Reference()), "192.0.2.1")
	for _, path := range append(notReferences, "/"+string(sample.Reference())+"/stream") {
		looks, questions := s.storage.looks.Load(), s.storage.questions.Load()
		got := s.ask(t, http.MethodGet, path, "192.0.2.1")
		if got.StatusCode != http.StatusTooManyRequests || got.body != unknown.body {
			t.Errorf("%q: %d\n%s", path, got.StatusCode, cmp.Diff(unknown.body, got.body))
		}
		unknown.Header.Del("Date")
		got.Header.Del("Date")
		if diff := cmp.Diff(unknown.Header, got.Header); diff != "" {
			t.Errorf("%q: headers (-unknown +got):\n%s", path, diff)
		}
		if s.storage.looks.Load() != looks || s.storage.questions.Load() != questions+1 {
			t.Errorf("%q: looked up %d times by itself, %d times with others", path, s.storage.looks.Load()-looks,
				s.storage.questions.Load()-questions)
		}
	}
}

func TestGuessingIsStoppedAndNoPageThatExistsIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const guesser, another = "192.0.2.1", "192.0.2.2"
	open, other := s.book(t, domain.Live), s.book(t, domain.Live)
	hit := func(d *domain.Delivery, address string) int {
		return s.ask(t, http.MethodGet, "/"+string(d.Reference), address).StatusCode
	}
	for range 30 { // hits do not count
		if got := hit(open, guesser); got != http.StatusOK {
			t.Fatalf("a hit: %d", got)
		}
	}
	for i := range 100 {
		if got := s.ask(t, http.MethodGet, "/"+string(sample.Reference()), guesser); got.StatusCode != http.StatusNotFound {
			t.Fatalf("miss %d: %d", i+1, got.StatusCode)
		}
	}
	looks := s.storage.looks.Load()
	for _, path := range []string{"/" + string(sample.Reference()), "/none", "/" + string(sample.Reference()) + "/stream"} {
		got := s.ask(t, http.MethodGet, path, guesser)
		if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "91" ||
			!strings.Contains(got.body, "Please try again in a minute") {
			t.Errorf("%s: %d, Retry-After %q\n%s", path, got.StatusCode, got.Header.Get("Retry-After"), got.body)
		}
	}
	if n := s.storage.looks.Load() - looks; n != 0 {
		t.Errorf("%d of the guesses that were refused were looked up by themselves", n)
	}
	if got := hit(other, guesser); got != http.StatusOK {
		t.Errorf("a page behind the same address that was never opened: %d", got)
	}
	if got := hit(open, guesser); got != http.StatusOK {
		t.Errorf("what is open behind the same address: %d", got)
	}
	if got := hit(other, another); got != http.StatusOK {
		t.Errorf("another address: %d", got)
	}
	want := map[string]float64{"found": 33, "missing": 100, "limited": 3, "error": 0}
	if diff := cmp.Diff(want, s.pagesCounted(t)); diff != "" {
		t.Errorf("waybill_tracking_pages_total (-want +got):\n%s", diff)
	}
}

func TestAnEscapedSlashIsNoPathOfADelivery(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	for _, path := range []string{"/" + string(d.Reference) + "%2fstream", "/" + string(d.Reference) + "%2Fstream",
		"/" + string(d.Reference) + "%2f"} {
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

func TestALimiterThatFailsRefusesNoRequest(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.limiter.fails = errors.New("no answer")
	if got := s.get(t, s.book(t, domain.Live).Reference).StatusCode; got != http.StatusOK {
		t.Errorf("%d", got)
	}
	for range 30 {
		if got := s.ask(t, http.MethodGet, "/none", "192.0.2.1").StatusCode; got != http.StatusNotFound {
			t.Fatalf("%d", got)
		}
	}
}

func TestAStorageThatFailsIsToldAndLoggedWithoutTheReference(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	s.storage.fails.Store(new(errors.New("no answer of the database")))
	for range 30 { // and none of it counts
		got := s.get(t, d.Reference)
		if got.StatusCode != http.StatusServiceUnavailable || !strings.Contains(got.body, "We cannot look right now") ||
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
