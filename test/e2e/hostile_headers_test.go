package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const badKey = "401 INVALID_API_KEY"

// unsigned is the beginning of a request without the key.
func unsigned(line string) string {
	return line + " HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: {from}\r\n"
}

// hostileAuthorization are values of the Authorization header; nil: none.
var hostileAuthorization = []struct {
	name  string
	lines []string
	want  string
}{
	{"none", nil, badKey},
	{"empty", []string{""}, badKey},
	{"Bearer and no key", []string{"Bearer"}, badKey},
	{"Bearer and a space", []string{"Bearer "}, badKey},
	{"no scheme", []string{"{key}"}, badKey},
	{"lower-case bearer", []string{"bearer {key}"}, badKey},
	{"capital BEARER", []string{"BEARER {key}"}, badKey},
	{"two spaces", []string{"Bearer  {key}"}, badKey},
	{"a tab", []string{"Bearer\t{key}"}, badKey},
	{"a no-break space", []string{"Bearer\u00a0{key}"}, badKey},
	{"a key in quotes", []string{`Bearer "{key}"`}, badKey},
	{"two keys", []string{"Bearer {key} {key}"}, badKey},
	{"two keys and a comma", []string{"Bearer {key}, Bearer {key}"}, badKey},
	{"twice", []string{"Bearer {key}", "Bearer {key}"}, badKey},
	{"twice, once empty", []string{"", "Bearer {key}"}, badKey},
	{"twice, once another", []string{"Bearer {key}", "Basic YTpi"}, badKey},
	{"Basic", []string{"Basic YWRtaW46YWRtaW4="}, badKey},
	{"Digest", []string{`Digest username="a", realm="b"`}, badKey},
	{"the key of a colon", []string{"Bearer: {key}"}, badKey},
	{"a key and a letter", []string{"Bearer {key}x"}, badKey},
	{"a key and a NUL escape", []string{"Bearer {key}%00"}, badKey},
	{"a key in capitals", []string{"Bearer SVC_LIVE_KEY_A"}, badKey},
	{"a prefix alone", []string{"Bearer svc_live_key_"}, badKey},
	{"an unknown prefix", []string{"Bearer svc_prod_key_abc"}, badKey},
	{"a token of JSON", []string{"Bearer eyJhbGciOiJub25lIn0.e30."}, badKey},
	{"a statement", []string{"Bearer ' OR 1=1--"}, badKey},
	{"10 KB", []string{"Bearer " + strings.Repeat("k", 10_000)}, badKey},
	{"Latin-1", []string{"Bearer \xe9\xe8"}, badKey},
	{"UTF-8", []string{"Bearer 🔑"}, badKey},
	{"a control character", []string{"Bearer {key}\x01"}, invalidRequest},
	{"a NUL", []string{"Bearer {key}\x00"}, invalidRequest},
	{"a key of the other environment", []string{"Bearer {other_key}"}, "401 ENVIRONMENT_MISMATCH"},
	{"a key after white space", []string{" \t Bearer {key}"}, "200"},
	{"a folded header", []string{"Bearer\r\n {key}"}, "200|4xx"},
}

// hostileIdempotencyKeys are values of that header.
var hostileIdempotencyKeys = []struct {
	name  string
	lines []string
	want  string
}{
	{"none", nil, "400 IDEMPOTENCY_KEY_REQUIRED"},
	{"empty", []string{""}, "400 IDEMPOTENCY_KEY_REQUIRED"},
	{"white space", []string{" \t "}, "400 IDEMPOTENCY_KEY_REQUIRED"},
	{"seven characters", []string{"1234567"}, wrongValue},
	{"256 characters", []string{strings.Repeat("k", 256)}, wrongValue},
	{"10 KB", []string{strings.Repeat("k", 10_000)}, wrongValue},
	{"UTF-8", []string{"schlüssel-123"}, wrongValue},
	{"Latin-1", []string{"schl\xfcssel-123"}, wrongValue},
	{"emoji", []string{"🔑🔑🔑🔑🔑🔑🔑🔑"}, wrongValue},
	{"a tab inside", []string{"key\twith-tab"}, wrongValue},
	{"twice, equal", []string{"{idem}", "{idem}"}, wrongValue},
	{"twice, different", []string{"{idem}", "another-key"}, wrongValue},
	{"twice, once empty", []string{"", "{idem}"}, wrongValue},
	{"a control character", []string{"key-\x02-12345"}, invalidRequest},
	{"a delete", []string{"key-\x7f-12345"}, invalidRequest},
	{"a NUL", []string{"key-\x00-12345"}, invalidRequest},
	{"a bare carriage return", []string{"key-\r-12345"}, invalidRequest},
	{"a statement", []string{"'; DROP TABLE idempotency_keys; --{idem}"}, "2xx"},
	{"255 characters", []string{"{idem}" + strings.Repeat("~", 255-len("idem-0123456789abcdef"))}, "2xx"},
	{"quotes and backslashes", []string{`"\'\"%00%s{idem}`}, "2xx"},
	{"a line break in escapes", []string{"%0d%0aX-Evil:1 {idem}"}, "2xx"},
}

// hostileRequestIDs are values of that header; none of them is a reason to
// refuse the request.
var hostileRequestIDs = [][]string{
	{""}, {" "}, {strings.Repeat("r", 129)}, {strings.Repeat("r", 128)}, {strings.Repeat("r", 10_000)}, {"a b"}, {"a/b"},
	{"a,b"}, {"a\tb"}, {"<script>"}, {"%0d%0aX-Evil:1"}, {"é"}, {"\xff"}, {"one", "two"}, {"same", "same"}, {"good", ""}, {"a.b_c:d-1"},
	{"${jndi:ldap://x}"}, {`{"level":"ERROR"}`}, {"'--"}, {"req_..:--__"}, {":"},
}

// hostileForcedErrors are values of X-Sandbox-Error that name no error which
// can be had: the sandbox refuses them, and live does not look.
var hostileForcedErrors = [][]string{
	{""}, {" "}, {"nonsense"}, {"quote_unavailable"}, {"QUOTE_UNAVAILABLE,RATE_LIMIT_EXCEEDED"}, {"QUOTE_UNAVAILABLE", "RATE_LIMIT_EXCEEDED"},
	{"IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_IN_PROGRESS"}, {"", "QUOTE_UNAVAILABLE"}, {"NOT_FOUND"}, {"INVALID_API_KEY"}, {"500"}, {"*"},
	{"none"},
	{`"QUOTE_UNAVAILABLE"`}, {"QUOTE_UNAVAILABLE;q=1"}, {"QUOTE UNAVAILABLE"}, {"%51UOTE_UNAVAILABLE"}, {"<script>"}, {"%0d%0aX-Evil:1"},
	{"é"}, {"\xff"},
	{strings.Repeat("QUOTE_UNAVAILABLE", 600)}, {"${jndi:ldap://x}"}, {"'--"},
}

// hostileHeaders are lines beside the ones that GET /api-key needs.
var hostileHeaders = []struct {
	name, lines, want string
}{
	{"1,000 short headers", strings.Repeat("X-A: 1\r\n", 1_000), "200"},
	{"1,000 long headers", strings.Repeat("X-Filler: "+strings.Repeat("f", 40)+"\r\n", 1_000), "431"},
	{"1,000 different headers", manyHeaders(1_000), "200|431"},
	{"a header of 16 KiB and 8 bytes", "X-Filler: " + strings.Repeat("f", 16<<10) + "\r\n", "200|431"},
	{"a header of 32 KiB", "X-Filler: " + strings.Repeat("f", 32<<10) + "\r\n", "431"},
	{"a header of 1 MiB", "X-Filler: " + strings.Repeat("f", 1<<20) + "\r\n", "431"},
	{"a header name of 32 KiB", strings.Repeat("X", 32<<10) + ": 1\r\n", "431"},
	{"a header name of 10 KiB", strings.Repeat("X", 10<<10) + ": 1\r\n", "200"},
	{"a header name with a space", "X Bad: 1\r\n", invalidRequest},
	{"a space before the colon", "X-Bad : 1\r\n", invalidRequest},
	{"a header name with parentheses", "X-(Bad): 1\r\n", invalidRequest},
	{"a header name in UTF-8", "X-Bäd: 1\r\n", invalidRequest},
	{"a header name with a NUL", "X-\x00: 1\r\n", invalidRequest},
	{"no header name", ": 1\r\n", invalidRequest},
	{"no colon", "X-Bad\r\n", invalidRequest},
	{"a value with a NUL", "X-Bad: a\x00b\r\n", invalidRequest},
	{"a value with a bell", "X-Bad: a\ab\r\n", invalidRequest},
	{"a value with a bare carriage return", "X-Bad: a\rX-Evil: 1\r\n", invalidRequest},
	{"a folded value", "X-Bad: a\r\n b\r\n", "200|4xx"},
	{"a folded first header name", "X-Bad\r\n : a\r\n", invalidRequest},
	{"line feeds alone", "X-A: 1\nX-B: 2\n", "200|4xx"},
	{"a value of obsolete text", "X-Bad: \xff\xfe\r\n", "200"},
	{"client addresses that are none", "X-Forwarded-For: not an address\r\n", "200"},
	{"client addresses in a row", "X-Forwarded-For: " + strings.Repeat("1.2.3.4, ", 1_000) + "1.2.3.4\r\n", "200"},
	{"a client address with a zone", "X-Forwarded-For: fe80::1%eth0\r\n", "200"},
	{"a client address with a statement", "X-Forwarded-For: 1.2.3.4'; --\r\n", "200"},
	{"an address of a proxy", "X-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1;host=evil.example\r\n", "200"},
	{"another method on top", "X-HTTP-Method-Override: DELETE\r\nX-Method-Override: PUT\r\n", "200"},
	{"another address on top", "X-Original-URL: /v1/recipients\r\nX-Rewrite-URL: /metrics\r\n", "200"},
	{"another host on top", "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: javascript\r\n", "200"},
	{"a web socket", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
		"AAAAAAAAAAAAAAAAAAAAAA==\r\n", "200"},
	{"an upgrade to HTTP/2", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", "200"},
	{"hop-by-hop authorization", "Connection: close, Authorization\r\n", "200"},
	{"a connection of nonsense", "Connection: \x22\x22,,,;\r\n", "200"},
	{"a range", "Range: bytes=0-0,1-1,2-2\r\nIf-Range: x\r\n", "200"},
	{"a wish for XML", "Accept: application/xml\r\nAccept-Encoding: gzip;q=0\r\nAccept-Charset: utf-16\r\n", "200"},
	{"an origin", "Origin: https://evil.example\r\nCookie: session=1\r\n", "200"},
	{"a tag of nonsense", "If-None-Match: \"\x22, W/, ,,,\r\nIf-Match: x\r\nIf-Modified-Since: never\r\n", "200"},
	{"a trailer", "Trailer: Authorization\r\n", "200"},
	{"an expectation with no body", "Expect: 100-continue\r\n", "200"},
	{"an unknown expectation", "Expect: nonsense\r\n", "417"},
	{"two expectations", "Expect: 100-continue, nonsense\r\n", "200|417"},
	{"an empty expectation", "Expect:\r\n", "200"},
	{"a host twice", "Host: evil.example\r\n", invalidRequest},
}

func manyHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-%d: %d\r\n", i, i)
	}
	return b.String()
}

// hostileTypes are headers that tell what a body is.
var hostileTypes = []struct{ lines, want string }{
	{"", "200"},
	{"Content-Type: application/json\r\n", "200"},
	{"Content-Type: Application/JSON; Charset=\"UTF-8\"\r\n", "200"},
	{"Content-Encoding: identity\r\n", "200"},
	{"Content-Type:\r\n", "415"},
	{"Content-Type: text/plain\r\n", "415"},
	{"Content-Type: text/json\r\n", "415"},
	{"Content-Type: */*\r\n", "415"},
	{"Content-Type: json\r\n", "415"},
	{"Content-Type: application/x-www-form-urlencoded\r\n", "415"},
	{"Content-Type: multipart/form-data; boundary=x\r\n", "415"},
	{"Content-Type: application/xml\r\n", "415"},
	{"Content-Type: application/vnd.api+json\r\n", "415"},
	{"Content-Type: application/json-patch+json\r\n", "415"},
	{"Content-Type: application/jsonx\r\n", "415"},
	{"Content-Type: application/json, text/plain\r\n", "415"},
	{"Content-Type: text/plain; application/json\r\n", "415"},
	{"Content-Type: application/json; charset=utf-16\r\n", "415"},
	{"Content-Type: application/json; charset=latin1\r\n", "415"},
	{"Content-Type: application/json; charset\r\n", "415"},
	{"Content-Type: application/json; charset=utf-8; charset=utf-16\r\n", "415"},
	{"Content-Type: application/json;;;;;\r\n", "200|415"},
	{"Content-Type: application/json\xff\r\n", "415"},
	{"Content-Type: " + strings.Repeat("a", 10_000) + "\r\n", "415"},
	{"Content-Type: application/json\r\nContent-Type: application/json\r\n", "415"},
	{"Content-Type: application/json\r\nContent-Type: text/plain\r\n", "415"},
	{"Content-Encoding: gzip\r\n", "415"},
	{"Content-Encoding: GZIP\r\n", "415"},
	{"Content-Encoding: br, gzip\r\n", "415"},
	{"Content-Encoding: nonsense\r\n", "415"},
	{"Content-Encoding: identity, gzip\r\n", "415"},
	{"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", "415"},
	{"Content-Encoding:\r\nContent-Encoding: gzip\r\n", "415"},
}

// headers sends each of those in a request that is otherwise in order.
func (g *siege) headers(t *testing.T) {
	var table []wire
	for _, c := range hostileAuthorization {
		table = append(table, wire{name: "Authorization: " + c.name, wants: answers(c.want),
			bytes: unsigned("GET /v1/api-key") + repeated("Authorization", c.lines) + "\r\n"})
	}
	for _, c := range hostileIdempotencyKeys {
		body := `{"phone_number":"+233241234567"}`
		table = append(table, wire{name: "Idempotency-Key: " + c.name, wants: answers(c.want),
			bytes: open("POST /v1/recipients") + repeated("Idempotency-Key", c.lines) + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body),
				body)})
	}
	for _, lines := range hostileRequestIDs {
		table = append(table, wire{name: "X-Request-ID: " + brief(strings.Join(lines, " and ")), wants: answers("200"),
			bytes: open("GET /v1/api-key") + repeated("X-Request-ID", lines) + "\r\n"})
	}
	for _, lines := range hostileForcedErrors {
		want := map[string]string{live: "200", sandbox: wrongValue}[g.env]
		table = append(table, wire{name: "X-Sandbox-Error: " + brief(strings.Join(lines, " and ")), wants: answers(want),
			bytes: open("GET /v1/api-key") + repeated("X-Sandbox-Error", lines) + "\r\n"})
	}
	for _, c := range hostileHeaders {
		table = append(table, wire{name: "header: " + c.name, wants: answers(c.want), bytes: open("GET /v1/api-key") + c.lines + "\r\n"})
	}
	for _, c := range hostileTypes {
		trip := string(render(aTrip()))
		table = append(table, wire{name: "type: " + brief(c.lines), wants: answers(c.want),
			bytes: open("POST /v1/quotes") + c.lines + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(trip), trip)})
	}
	g.fire(t, table)
}

func repeated(name string, values []string) string {
	var b strings.Builder
	for _, value := range values {
		b.WriteString(name + ": " + value + "\r\n")
	}
	return b.String()
}
