package webhooksend

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waybill/domain"
	"waybill/ports"
)

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// Receivers depend on the bytes on the wire: nothing else is in them.
func TestTheRequestIsOnePostWithTheseHeaders(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer := make([]byte, 8192)
		n, _ := conn.Read(buffer) // headers and body come in one write
		got <- string(buffer[:n])
		_, _ = conn.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
	}()
	m := message("http://" + l.Addr().String() + "/a%20b/c?d=e e&f=ü")
	m.Header["x-other"] = "a"
	m.Header["content-type"], m.Header["Transfer-Encoding"] = "text/plain", "chunked" // the message cannot set these
	before := time.Now()
	r := development(t).Send(t.Context(), m)
	if !r.Succeeded() || r.StatusCode != 204 || r.Excerpt != "" || r.Duration <= 0 || r.Duration > 10*time.Second ||
		r.StartedAt.Before(before.Truncate(time.Millisecond)) || r.StartedAt != domain.Millis(r.StartedAt) || r.StartedAt.After(time.Now()) {
		t.Errorf("%+v", r)
	}
	head, body, _ := strings.Cut(<-got, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:]) // headers have no order
	want := []string{
		"POST /a%20b/c?d=e%20e&f=%C3%BC HTTP/1.1", "Content-Length: 14", "Content-Type: application/json", "Host: " + l.Addr().String(),
		"User-Agent: Waybill-Webhooks/1.0", "Webhook-Id: evt_0190000000007000800000000000000c",
		"Webhook-Signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "Webhook-Timestamp: 1614265330", "X-Other: a",
		"X-Webhook-Attempt: 1",
		`{"id":"evt_1"}`,
	}
	if diff := cmp.Diff(want, append(lines, body)); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyBodyIsSentAsOne(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
			w.WriteHeader(400)
		}
	})
	if r := development(t).Send(t.Context(), ports.WebhookMessage{URL: url}); !r.Succeeded() {
		t.Errorf("%+v", r)
	}
}

func TestTheStatusDecides(t *testing.T) {
	t.Parallel()
	s := development(t)
	for status, class := range map[int]domain.ErrorClass{
		200: "", 201: "", 202: "", 203: "", 204: "", 205: "", 206: "", 299: "",
		300: "redirect", 301: "redirect", 302: "redirect", 303: "redirect", 304: "redirect", 307: "redirect", 308: "redirect", 399: "redirect",
		400: "http_4xx", 401: "http_4xx", 404: "http_4xx", 408: "http_4xx", 410: "http_4xx", 429: "http_4xx", 499: "http_4xx",
		500: "http_5xx", 502: "http_5xx", 503: "http_5xx", 599: "http_5xx",
	} {
		body := "because"
		if status == 204 || status == 304 {
			body = ""
		}
		r := s.Send(t.Context(), message(serve(t, answers(status, body))))
		if r.StatusCode != status || r.Error != class || r.Excerpt != body || r.Succeeded() != (class == "") {
			t.Errorf("%d: %+v", status, r)
		}
	}
}

func TestRetryAfterIsReadWithinBounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "007": 7 * time.Second,
		"172800": maxRetryAfter, "172801": maxRetryAfter, "99999999999999999999999999": maxRetryAfter,
		"-1": 0, "+1": 0, "1.5": 0, "1e3": 0, "0x10": 0, "1 2": 0, "soon": 0, "٣": 0, "120s": 0,
		"Sat, 21 Nov 2026 10:01:00 GMT": time.Minute, "Saturday, 21-Nov-26 10:01:00 GMT": time.Minute, "Sat Nov 21 10:01:00 2026": time.Minute,
		"Sat, 21 Nov 2026 09:59:59 GMT": 0, "Fri, 31 Dec 9999 23:59:59 GMT": maxRetryAfter, "Sat, 21 Nov": 0,
		"2026-11-21T10:01:00Z": 0, "Mon, 01 Jan 0001 00:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	s := development(t)
	for status, want := range map[int]time.Duration{200: 0, 429: 90 * time.Second, 503: 90 * time.Second} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(status)
		})
		if r := s.Send(t.Context(), message(url)); r.RetryAfter != want {
			t.Errorf("%d: %v", status, r.RetryAfter)
		}
	}
}

func TestTheExcerptIsCleanText(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"": "", "ok": "ok", " ok \r\n": "ok", "\x00": "", "\xff\xfe": "\uFFFD",
		"a\nb\t\tc\r\n\r\nd":                      "a b c d",
		"a\x00b\x1b[31mc\x7fd":                    "a b [31mc d",
		"é ü 漢字 🙂":                                "é ü 漢字 🙂",
		"a\xffb\xff\xff\xffc":                     "a\uFFFDb\uFFFDc",
		"\u202egnp.exe\u200b\ufeff\u2028x\u00a0y": "gnp.exe x y",
		"\ufeff{\"ok\":true}":                     `{"ok":true}`,
		"\ufffd":                                  "\ufffd",
		"\n \u00a0 ":                              "",
		strings.Repeat("a", 1024):                 strings.Repeat("a", 1024),
		strings.Repeat("a", 1025):                 strings.Repeat("a", 1024),
		strings.Repeat("a", 1023) + "é":           strings.Repeat("a", 1023), // no half character
		strings.Repeat("a", 1022) + "é" + "b":     strings.Repeat("a", 1022) + "é",
		strings.Repeat("a", 1023) + "\xff":        strings.Repeat("a", 1023), // a mark has three bytes
		strings.Repeat("é", 600):                  strings.Repeat("é", 512),
		strings.Repeat("a\xff", 600):              strings.Repeat("a\uFFFD", 256),
	} {
		if got := excerpt([]byte(body)); got != want {
			t.Errorf("%.40q: %.60q, want %.60q", body, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		got := excerpt(rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "body"))
		if len(got) > domain.MaxExcerpt || !utf8.ValidString(got) || strings.TrimSpace(got) != got ||
			strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q", got)
		}
	})
}

func TestNothingIsDecompressedAndNoCookieKept(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if len(r.Cookies()) > 0 || r.Header.Get("Accept-Encoding") != "" {
			w.WriteHeader(400)
		}
		w.Header().Set("Content-Encoding", "gzip")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		z := gzip.NewWriter(w)
		_, _ = z.Write(bytes.Repeat([]byte("bomb"), 1<<20))
		z.Close()
	})
	s := development(t)
	for range 3 {
		if r := s.Send(t.Context(), message(url)); !r.Succeeded() || strings.Contains(r.Excerpt, "bomb") || !utf8.ValidString(r.Excerpt) {
			t.Errorf("%+v", r)
		}
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	c := newCanary(t)
	s := development(t)
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		for _, to := range []string{"http://127.0.0.1:" + c.port, "http://169.254.169.254/latest", "//127.0.0.1:" + c.port, "/again",
			"https://[::1]:" + c.port, "file:///etc/passwd"} {
			hits := 0
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				hits++
				w.Header()["Location"] = []string{to}
				w.Header().Set("Refresh", "0; url="+to)
				w.WriteHeader(status)
			})
			if r := s.Send(t.Context(), message(url)); r.Error != domain.ErrorRedirect || r.StatusCode != status || hits != 1 {
				t.Errorf("%d to %q: %+v, %d requests", status, to, r, hits)
			}
		}
	}
	c.requireSilence(t)
}

func TestOnlyHTTPIsSpoken(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "ftp://127.0.0.1", "file:///etc/passwd", "unix:/run/x.sock", "127.0.0.1", "//127.0.0.1", "http:",
		"http://", "http://:80", "http://%zz", "http://127.0.0.1:99999/", "http://127.0.0.1:x/"} {
		if r := development(t).Send(t.Context(), message(url)); r.Error != domain.ErrorBlockedIP || r.StartedAt.IsZero() {
			t.Errorf("%q: %+v", url, r)
		}
	}
	// An invalid header is not sent either.
	for name, value := range map[string]string{"webhook-id": "evt\r\nX-Evil: 1", "x y": "1", "": "1", "a:b": "1", "x": "\x00"} {
		m := message("http://127.0.0.1:1")
		m.Header[name] = value
		if r := development(t).Send(t.Context(), m); r.Error != domain.ErrorReset {
			t.Errorf("%q: %q: %+v", name, value, r)
		}
	}
}

func TestNoProxyIsTakenFromTheEnvironment(t *testing.T) {
	c := newCanary(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+c.port)
	}
	s := sender(t, Options{Resolver: resolver(t, fixed("93.184.216.34"))}, patient)
	s.divert(serve(t, answers(200, "")), nil)
	if r := s.Send(t.Context(), message("http://hooks.example.com")); !r.Succeeded() {
		t.Errorf("%+v", r)
	}
	c.requireSilence(t)
}

// A receiver whose keep-alive is shorter than the sender's loses no webhook.
func TestAKeptConnectionThatWasClosedCostsNothing(t *testing.T) {
	t.Parallel()
	url := listen(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		if req, err := http.ReadRequest(in); err == nil {
			_, _ = in.Discard(int(req.ContentLength))
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) // and closes, unannounced
		}
	})
	s := development(t)
	for i := range 200 {
		if r := s.Send(t.Context(), message(url)); !r.Succeeded() {
			t.Fatalf("webhook %d: %+v", i, r)
		}
	}
}

func TestAReceiverThatReadsAndHangsUpGetsAMessageTwiceAtMost(t *testing.T) {
	t.Parallel()
	const kept = 20
	var all sync.WaitGroup
	all.Add(kept)
	var requests atomic.Int64
	url := serve(t, func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) > kept {
			panic(http.ErrAbortHandler)
		}
		all.Done()
		all.Wait() // so that each has a connection of its own
	})
	s := sender(t, Options{AllowPrivate: true}, defaultLimits)
	var sends sync.WaitGroup
	for range kept {
		sends.Go(func() {
			if r := s.Send(t.Context(), message(url)); !r.Succeeded() {
				t.Errorf("%+v", r)
			}
		})
	}
	sends.Wait()
	if r := s.Send(t.Context(), message(url)); r.Error != domain.ErrorReset || requests.Load() > kept+2 {
		t.Errorf("%+v; it got %d messages", r, requests.Load()-kept)
	}
}
