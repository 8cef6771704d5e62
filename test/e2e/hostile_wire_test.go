package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
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
	return open("GET "+path) + strings.Join(lines, "") + "\r\n"
}

// post is a whole request with a body.
func post(path, body string, lines ...string) string {
	return open("POST "+path) + strings.Join(lines, "") + length(len(body)) + "\r\n" + body
}

// trip is a request for a quote with the given lines in place of
// Content-Length.
func trip(lines, body string) string { return open("POST /v1/quotes") + lines + "\r\n" + body }

// bulkBody is a request to book many; bulkOf has the text as its items.
func bulkBody(body string) string {
	return post("/v1/deliveries/bulk", body, "Idempotency-Key: {idem}\r\n")
}
func bulkOf(items string) string       { return bulkBody(`{"deliveries":[` + items + `]}`) }
func chunk(data string) string         { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }
func length(n int) string              { return "Content-Length: " + strconv.Itoa(n) + "\r\n" }
func padded(text string, n int) string { return text + strings.Repeat(" ", n-len(text)) }

const (
	chunked = "Transfer-Encoding: chunked\r\n"
	last    = "0\r\n\r\n"
	smuggle = "GET /v1/deliveries/dlv_smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n"

	mostBody, mostBulk = 64 << 10, 1 << 20
)

// quoteBody is a body for POST /v1/quotes that is in order.
var quoteBody = string(render(aTrip()))

// hostileWires are bytes that a client of net/http would not send.
var hostileWires = []wire{
	{name: "two framings and a request behind the last chunk", bytes: trip(chunked+length(len(chunk(quoteBody)+last+smuggle)),
		chunk(quoteBody)+last+smuggle), wants: answers("200|4xx", "4xx")},
	{name: "two lengths that differ", bytes: trip(length(2)+length(len(quoteBody)), quoteBody), wants: answers("400")},
	{name: "a length short by one", bytes: trip(length(len(quoteBody)-1), quoteBody), wants: answers(invalidRequest), half: true},
	{name: "a length of zero before a body", bytes: trip(length(0), quoteBody), wants: answers(invalidRequest, invalidRequest), half: true},
	{name: "half a body", bytes: trip(length(len(quoteBody)), quoteBody[:len(quoteBody)/2]), wants: answers("400"), half: true},
	{name: "a chunk shorter than told", bytes: trip(chunked, "ff\r\n{}\r\n0\r\n\r\n"), wants: answers("400"), half: true},
	{name: "a body in a GET", bytes: open("GET /v1/api-key") + length(len(quoteBody)) + "\r\n" + quoteBody, wants: answers(invalidRequest)},
	{name: "2,000 chunks of a byte", bytes: trip(chunked, strings.Repeat("1\r\n \r\n", 2_000)+chunk(quoteBody)+last),
		wants: answers("200|4xx")},

	{name: "a chunk of 64 KiB", bytes: trip(chunked, chunk(padded(quoteBody, mostBody))+last), wants: answers("200")},
	{name: "a chunk of 64 KiB and a byte", bytes: trip(chunked, chunk(padded(quoteBody, mostBody+1))+last), wants: answers(tooLarge)},
	{name: "chunks of 4 MiB", bytes: trip(chunked, strings.Repeat(chunk(strings.Repeat(" ", 64<<10)), 64)+last), wants: answers(tooLarge)},
	{name: "a length of a terabyte", bytes: trip("Content-Length: 1099511627776\r\n", ""), wants: answers(tooLarge)},
	{name: "a large body for nobody", bytes: post("/v1/nothing", strings.Repeat(" ", 1<<20)), wants: answers("404")},
	{name: "a large body that is waited for", bytes: trip("Expect: 100-continue\r\n"+length(1<<20), ""), wants: answers(tooLarge)},
	{name: "an unknown expectation of a body", bytes: trip("Expect: a-miracle\r\n"+length(len(quoteBody)), quoteBody), wants: answers("417")},
	{name: "a bulk of half a million numbers", bytes: bulkOf(many("0")), wants: answers(wrongValue)},
	{name: "a bulk of a million brackets", bytes: bulkBody(strings.Repeat("[", mostBulk)), wants: answers(invalidRequest)},
	{name: "a bulk of 200,000 equal names", bytes: bulkOf("{" + many(`"a":1`) + "}"), wants: answers(invalidRequest)},
	{name: "a bulk of one long number", bytes: bulkOf(strings.Repeat("7", mostBulk-100)), wants: answers(wrongItems)},
	{name: "a bulk without an end", bytes: open("POST /v1/deliveries/bulk") + "Idempotency-Key: {idem}\r\n" + length(mostBulk) + "\r\n" +
		`{"deliveries":[`, wants: answers(invalidRequest), half: true},

	{name: "a header of 32 KiB", bytes: get("/v1/api-key", "X-Filler: "+strings.Repeat("f", 32<<10)+"\r\n"), wants: answers("431")},
	{name: "another method on top", bytes: get("/v1/api-key", "X-HTTP-Method-Override: DELETE\r\n"), wants: answers("200")},
	{name: "another address on top", bytes: get("/v1/api-key", "X-Original-URL: /v1/recipients\r\n"), wants: answers("200")},
	{name: "another host on top", bytes: get("/v1/api-key", "X-Forwarded-Host: evil.example\r\n"), wants: answers("200")},
	{name: "client addresses that are none", bytes: get("/v1/api-key", "X-Forwarded-For: 1.2.3.4'; --\r\n"), wants: answers("200")},

	{name: "a path upwards", bytes: get("/v1/recipients/../deliveries"), wants: answers(nowhere)},
	{name: "a path upwards, escaped", bytes: get("/v1/recipients/%2e%2e/deliveries"), wants: answers(nowhere)},
	{name: "an escaped slash", bytes: get("/v1/deliveries/{dlv}%2fevents"), wants: answers(nowhere)},
	{name: "an escaped NUL", bytes: get("/v1/deliveries/{dlv}%00"), wants: answers(nowhere)},
	{name: "a letter that is escaped", bytes: get("/v1/deliveries/%64lv_" + "{hex}"), wants: answers("200")},
	{name: "a path of another host", bytes: get("http://evil.example/v1/api-key"), wants: answers("200|4xx")},
	{name: "a path of 32 KiB", bytes: get("/" + strings.Repeat("a", 32<<10)), wants: answers("431")},
	{name: "what is not below /v1", bytes: get("/") + get("/v2/deliveries") + open("OPTIONS *") + "\r\n", wants: answers(nowhere, nowhere, "404|405")},
	{name: "what operators see", bytes: get("/metrics") + get("/debug/pprof/") + get("/readyz"), wants: answers(nowhere, nowhere, nowhere)},

	{name: "20 requests at once", bytes: strings.Repeat(get("/v1/api-key"), 20), wants: slices.Repeat([]string{"200"}, 20)},
	{name: "good and bad requests in turn", bytes: get("/v1/api-key") + get("/v1/nothing") + post("/v1/quotes", "{") + get("/v1/api-key"),
		wants: answers("200", "404", invalidRequest, "200")},
	{name: "one create twice at once", bytes: strings.Repeat(post("/v1/recipients", `{"phone_number":"+233241234567"}`,
		"Idempotency-Key: twice-at-once\r\n"), 2), wants: answers("2xx", "2xx")},
	{name: "a create and half a goodbye", bytes: post("/v1/deliveries", soundOrder, "Idempotency-Key: {idem}\r\n"), wants: answers("201"),
		half: true},
	{name: "a connection for nothing", bytes: "", wants: answers(cut), half: true},
}

// many is a list of equal items that fills a bulk.
func many(item string) string { return strings.Repeat(item+",", (mostBulk-100)/(len(item)+1)) + item }

// wires sends each of them on a connection of its own, and hangs up on others without
// reading, which leaves no one to answer.
func (g *siege) wires(t *testing.T) {
	for _, w := range hostileWires {
		g.exchange(t, w)
	}
	for _, bytes := range []string{
		get("/v1/deliveries"), post("/v1/deliveries", soundOrder, "Idempotency-Key: {idem}\r\n"), trip(length(1<<20), "{"), "GET /", "",
	} {
		for _, linger := range []int{-1, 0} { // an orderly end, and a reset
			conn := g.dial(t)
			if err := conn.SetLinger(linger); err != nil {
				t.Error(err)
			}
			if _, err := conn.Write([]byte(g.fill(bytes))); err != nil {
				t.Error(err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	g.healthy(t)
}

// reply is one answer read off a connection.
type reply struct {
	res  *http.Response
	body []byte
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
