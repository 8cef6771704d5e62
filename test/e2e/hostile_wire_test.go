package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wire is bytes for a connection of their own, with placeholders in them.
type wire struct {
	name  string
	bytes string
	// wants are the answers in turn, as judge takes them; cut is no answer and
	// the end of the connection.
	wants []string
	// half closes our side at once, so that the server waits for nothing more.
	half bool
}

const cut = "cut"

func answers(wants ...string) []string { return wants }

// open is the beginning of a request that is in order.
func open(line string) string {
	return line + " HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\nX-Forwarded-For: {from}\r\n"
}

// get is a whole request for a path, with further header lines.
func get(path string, lines ...string) string {
	return open("GET "+path) + headerLines(lines) + "\r\n"
}

// post is a whole request with a body.
func post(path, body string, lines ...string) string {
	return open("POST "+path) + headerLines(lines) + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

func headerLines(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	return b.String()
}

// reply is one answer read off a connection.
type reply struct {
	res  *http.Response
	body []byte
}

// fire sends each request of a table on a connection of its own.
func (g *siege) fire(t *testing.T, table []wire) {
	t.Helper()
	for _, w := range table {
		g.exchange(t, w)
	}
	g.healthy(t)
}

// exchange sends a request and judges everything that comes back until the
// server has nothing more to say.
func (g *siege) exchange(t *testing.T, w wire) {
	t.Helper()
	conn := g.dial(t)
	defer conn.Close()
	text := g.fill(w.bytes)
	go func() {
		// The server may refuse and hang up before it has read it all.
		_, _ = io.WriteString(conn, text)
		if w.half {
			_ = conn.CloseWrite()
		}
	}()
	method, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), " ")
	got, err := readReplies(conn, method, len(w.wants))
	g.judgeReplies(t, w, method, text, got, err)
}

func (g *siege) judgeReplies(t *testing.T, w wire, method, text string, got []reply, err error) {
	t.Helper()
	if len(got) == 0 && w.wants[0] == cut {
		g.count.add(func(c *tally) { c.names[w.name] = true; c.cut++ })
		return
	}
	if len(got) != len(w.wants) {
		t.Errorf("%s: %d answers, want %d (%v)", w.name, len(got), len(w.wants), err)
	}
	for i, r := range got {
		want := "4xx"
		if i < len(w.wants) {
			want = w.wants[i]
		}
		g.judge(t, w.name, want, method, r.res, r.body)
	}
	if len(got) == 1 && !unreadable(got[0].res) {
		if fault := echoFault(text, got[0].res); fault != "" {
			t.Errorf("%s: %s", w.name, fault)
		}
	}
}

// echoFault holds the request ID that came back against the one that was sent.
func echoFault(text string, res *http.Response) string {
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		return ""
	}
	sent, back := req.Header.Values("X-Request-ID"), res.Header.Get("X-Request-ID")
	switch valid := len(sent) == 1 && requestIDForm.MatchString(sent[0]); {
	case valid && back != sent[0] && res.StatusCode != http.StatusRequestHeaderFieldsTooLarge &&
		res.StatusCode != http.StatusExpectationFailed:
		return fmt.Sprintf("X-Request-ID %.200q came back as %q", sent[0], back)
	case !valid && !strings.HasPrefix(back, "req_"):
		return fmt.Sprintf("X-Request-ID %.200q came back as %q", sent, back)
	}
	return ""
}

func (g *siege) dial(t testing.TB) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", g.name["{host}"])
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// readReplies reads the answers of a connection. When all that are expected
// are there it closes our side and reads on, so that one too many shows.
func readReplies(conn *net.TCPConn, method string, most int) ([]reply, error) {
	var got []reply
	in := bufio.NewReader(conn)
	for {
		if _, err := in.Peek(1); err != nil {
			return got, err // the end, or a reset
		}
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return got, err
		}
		if res.StatusCode == http.StatusContinue {
			continue
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return got, fmt.Errorf("body of a %d: %w", res.StatusCode, err)
		}
		if got = append(got, reply{res, body}); len(got) == most {
			if err := conn.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
				return got, err
			}
		}
	}
}
