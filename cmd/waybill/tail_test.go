package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
)

func TestTailPrintsThePayloadsOfTheFeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	before := inDir[triggered](t, dir, "trigger", "manual").Delivery.ID

	all := start(t, nil, "tail", "events", "--since", "1h", "--json", "--data-dir", dir)
	fresh := start(t, nil, "tail", "events", "--data-dir", dir, "--type", "delivery.failed")
	of := start(t, nil, "tail", "events", "--data-dir", dir, "--delivery", before, "--since", "1d")
	eventually(t, "what was before is told", func() bool { return all.stdout.String() != "" && of.stdout.String() != "" })
	eventually(t, "it follows", func() bool { return strings.HasPrefix(fresh.stderr.String(), "Following events from ") })
	v := inDir[triggered](t, dir, "trigger", "failed_at_pickup", "--step-seconds", "1", "--wait")
	eventually(t, "all is told", func() bool {
		return strings.Count(all.stdout.String(), "\n") == 4 && strings.Count(fresh.stdout.String(), "\n") == 1
	})
	code, answer := rawCall(t, vars["WAYBILL_SANDBOX_URL"]+"/events", vars["WAYBILL_TEST_KEY"])
	var page struct{ Data []json.RawMessage }
	if err := json.Unmarshal(answer, &page); err != nil || code != http.StatusOK {
		t.Fatalf("%d, %v", code, err)
	}
	want := ""
	for _, e := range page.Data {
		want += string(e) + "\n"
	}
	if all.stdout.String() != want {
		t.Errorf("%s\nwant\n%s", all.stdout.String(), want)
	}
	if line := fresh.stdout.String(); !strings.HasSuffix(line, "  delivery.failed       "+v.Delivery.ID+"   3  pickup_unavailable\n") {
		t.Errorf("%q", line)
	}
	if line := of.stdout.String(); !strings.HasSuffix(line, "  delivery.created      "+before+"   1\n") || strings.Count(line, "\n") != 1 {
		t.Errorf("%q", line)
	}
	for _, r := range []*running{all, fresh, of} {
		if r.terminate(t); strings.Count(r.stderr.String(), "\n") != 1 {
			t.Errorf("%s", r.stderr.String())
		}
	}
}

// rawCall is a GET with its answer to the byte.
func rawCall(t *testing.T, address, key string) (int, []byte) {
	t.Helper()
	c := newAPIClient(address, "")
	c.key = key
	var body []byte
	c.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			body = drained(t, res)
		}
		return res, err
	})
	answer, err := c.attempt(t.Context(), get(""))
	if err != nil {
		t.Fatal(err)
	}
	return answer.status, body
}

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
		return plain(200, `{"success":true,"data":[],"meta":{"has_more":true,"next_cursor":"`+fmt.Sprint(f.calls)+`"}}`), nil
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
	return plain(200, fmt.Sprintf(`{"success":true,"data":[%s],"meta":{"has_more":%v,"next_cursor":"%d"}}`, strings.Join(page, ","), to < f.events, to), "ETag", tag), nil
}

func tailing(t *testing.T, f *feed, lasting time.Duration) string {
	t.Helper()
	var stdout output
	p := &program{stdout: &stdout, stderr: io.Discard, asJSON: true}
	ctx, stop := context.WithTimeout(t.Context(), lasting)
	defer stop()
	if err := p.followFeed(ctx, clientOf(f.RoundTrip), url.Values{}, 0); quietly(ctx, err) != nil {
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
	var stdout output
	p := &program{stdout: &stdout, stderr: io.Discard, asJSON: true}
	p.printEvent(json.RawMessage("{\n\"a\" : 1\r\n}"))
	p.printEvent(json.RawMessage(`{"a" : 1}`))
	p.asJSON = false
	p.printEvent(json.RawMessage(`{"type":"\u001b[2J","timestamp":"\u0007","data":{"reason_code":"\n"}}`))
	if shown := stdout.String(); !strings.HasPrefix(shown, "{\"a\":1}\n{\"a\" : 1}\n") || strings.Count(shown, "\n") != 3 || strings.ContainsAny(shown, "\x1b\a\r") {
		t.Errorf("%q", shown)
	}
}

func TestTailPrintsEachAttemptOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	var calls atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer receiver.Close()
	register := func(address string) string {
		code, answer := call(t, http.MethodPost, vars["WAYBILL_SANDBOX_URL"]+"/webhook-endpoints", vars["WAYBILL_TEST_KEY"], `{"url":"`+address+`"}`)
		if code != http.StatusCreated {
			t.Fatalf("%d: %v", code, answer)
		}
		return answer["data"].(object)["id"].(string)
	}
	r := start(t, nil, "tail", "attempts", "--data-dir", dir)
	eventually(t, "it looks", func() bool { return strings.Contains(r.stderr.String(), "There is no webhook endpoint yet") })
	endpoint := register(receiver.URL)
	only := start(t, nil, "tail", "attempts", "--data-dir", dir, "--endpoint", endpoint, "--json")
	eventually(t, "it follows", func() bool { return strings.Contains(only.stderr.String(), "Following attempts; ") })
	delivery := inDir[triggered](t, dir, "trigger", "manual").Delivery.ID
	eventually(t, "both attempts are told", func() bool {
		return strings.Count(r.stdout.String(), "\n") == 2 && strings.Count(only.stdout.String(), "\n") == 2
	})
	lines := strings.Split(r.stdout.String(), "\n")
	if want := "  delivery.created           " + delivery + "  " + endpoint + "  503 Service Unavailable, "; !strings.Contains(lines[0], want) || !strings.Contains(lines[0], ", attempt 1, next at ") {
		t.Errorf("%s, want %s", lines[0], want)
	}
	if !strings.Contains(lines[1], "  200 OK, ") || !strings.HasSuffix(lines[1], ", attempt 2") {
		t.Errorf("%s", lines[1])
	}
	var second attemptRecord
	if err := json.Unmarshal([]byte(strings.Split(only.stdout.String(), "\n")[1]), &second); err != nil || second.EndpointID != endpoint || second.DeliveryID != delivery || !strings.Contains(string(second.Attempt), `"attempt":2`) {
		t.Errorf("%v, %+v", err, second)
	}
	only.terminate(t)
	r.terminate(t)
	if strings.Count(r.stdout.String(), "\n") != 2 {
		t.Errorf("%s", r.stdout.String())
	}
}

func TestTailTellsWhatItTakes(t *testing.T) {
	t.Parallel()
	live := domain.MakeAPIKey(domain.Live, [32]byte{})
	for name, c := range map[string]struct {
		environ, args []string
		code          int
		want          string
	}{
		"nothing":      {nil, nil, exitUsage, "error: waybill tail needs one of: attempts, events\n"},
		"no such type": {nil, []string{"events", "--type", "delivery.booked"}, exitUsage, `error: "delivery.booked" is no type in the feed. There are delivery.created, `},
		"no delivery":  {nil, []string{"events", "--delivery", "x"}, exitUsage, `error: "x" is no ID of a delivery`},
		"no time":      {nil, []string{"events", "--since", "yesterday"}, exitUsage, `error: --since is "yesterday"; it is a number and a unit, such as 90s, 2h or 30d`},
		"too long ago": {nil, []string{"events", "--since", "31d"}, exitUsage, `error: --since is "31d"; events are kept for 30 days: --since 30d is the longest`},
		"no endpoint":  {nil, []string{"attempts", "--endpoint", "x"}, exitUsage, `error: "x" is no ID of a webhook endpoint`},
		"a live key":   {[]string{testKeyEnv + "=" + live}, []string{"events", "--url", "http://127.0.0.1:1/v1"}, exitFailure, "error: that is a live key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if o := command(t, c.environ, append([]string{"tail"}, c.args...)...); o.code != c.code || !strings.HasPrefix(o.stderr, c.want) {
				t.Errorf("exit code %d\n%s", o.code, o.stderr)
			}
		})
	}
}

// drained is the body of an answer, which can be read again.
func drained(t *testing.T, res *http.Response) []byte {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	return body
}
