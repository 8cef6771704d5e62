package integrator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/cli/term"
	"waybill/test/stage"
)

// feed is a feed of numbered events whose cursor is how many were seen.
type feed struct {
	mu       sync.Mutex
	events   int
	away     bool
	calls    int
	unmoved  int // answered with 304
	hostile  bool
	failures []string
}

func (f *feed) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := r.URL.Query()
	switch {
	case f.away:
		return nil, syscall.ECONNREFUSED
	case strings.HasSuffix(r.URL.Path, "/api-key"):
		return reply(200, `{}`, "Date", time.Now().UTC().Format(http.TimeFormat)), nil
	}
	if f.calls++; f.calls > mostCalls {
		return refuse(401, "API_KEY_REVOKED"), nil // or it would go on for ever
	}
	if f.hostile {
		return plain(200, `{"success":true,"data":[],"meta":{"has_more":true,"resume_cursor":"`+fmt.Sprint(f.calls)+`"}}`), nil
	}
	if _, err := time.Parse(time.RFC3339Nano, q.Get("created_after")); err != nil {
		f.failures = append(f.failures, r.URL.RawQuery)
	}
	seen := 0
	_, _ = fmt.Sscan(q.Get("cursor"), &seen)
	to := min(f.events, seen+100)
	tag := fmt.Sprintf(`"%d-%d"`, seen, to)
	if r.Header.Get("If-None-Match") == tag {
		f.unmoved++
		return plain(304, "", "ETag", tag), nil
	}
	var page []string
	for n := seen + 1; n <= to; n++ {
		page = append(page, fmt.Sprintf(`{"n":%d}`, n))
	}
	return plain(200, fmt.Sprintf(`{"success":true,"data":[%s],"meta":{"has_more":%v,"resume_cursor":"%d"}}`, strings.Join(page, ","),
		to < f.events, to), "ETag", tag), nil
}

func tailing(t *testing.T, f *feed, lasting time.Duration) string {
	t.Helper()
	var stdout stage.Log
	p := playing(&term.Program{Stdout: &stdout, Stderr: io.Discard, AsJSON: true})
	ctx, stop := leaving(t, lasting)
	defer stop()
	if err := p.tailFeed(ctx, clientOf(f.RoundTrip), url.Values{}, 0); quietly(ctx, err) != nil {
		t.Fatal(err)
	}
	return stdout.String()
}

func TestTailMissesNothingInAnOutageAndPrintsNothingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{events: 250}
		go func() {
			for range 5 {
				time.Sleep(10 * time.Second)
				f.mu.Lock()
				f.away = !f.away
				f.events += 130
				f.mu.Unlock()
			}
			time.Sleep(5 * time.Minute) // longer than other commands insist
			f.mu.Lock()
			f.away = false
			f.mu.Unlock()
		}()
		shown := tailing(t, f, 7*time.Minute)
		want := ""
		for n := range 250 + 5*130 {
			want += fmt.Sprintf("{\"n\":%d}\n", n+1)
		}
		if shown != want || len(f.failures) > 0 {
			t.Errorf("%d lines, %v", strings.Count(shown, "\n"), f.failures)
		}
		if f.calls-f.unmoved > 20 {
			t.Errorf("%d calls of %d count", f.calls-f.unmoved, f.calls)
		}
	})
}

func TestTailIsNotDrivenByAFeedThatAlwaysHasMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{hostile: true}
		if shown := tailing(t, f, time.Minute); shown != "" || f.calls > 125 {
			t.Errorf("%d calls, %q", f.calls, shown)
		}
	})
}

func TestAnEventIsOneLineWhateverAServerSends(t *testing.T) {
	t.Parallel()
	var stdout stage.Log
	p := playing(&term.Program{Stdout: &stdout, Stderr: io.Discard, AsJSON: true})
	p.printEvent(json.RawMessage("{\n\"a\" : 1\r\n}"))
	p.printEvent(json.RawMessage(`{"a" : 1}`))
	p.AsJSON = false
	p.printEvent(json.RawMessage(`{"type":"\u001b[2J","timestamp":"\u0007","data":{"reason_code":"\n"}}`))
	if shown := stdout.String(); !strings.HasPrefix(shown, "{\"a\":1}\n{\"a\" : 1}\n") || strings.Count(shown, "\n") != 3 ||
		strings.ContainsAny(shown, "\x1b\a\r") {
		t.Errorf("%q", shown)
	}
}
