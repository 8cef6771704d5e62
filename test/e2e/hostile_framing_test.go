package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// quoteBody is a body for POST /v1/quotes that is in order.
var quoteBody = string(render(aTrip()))

// trip is a request for a quote with the given lines in place of
// Content-Length.
func trip(lines, body string) string { return open("POST /v1/quotes") + lines + "\r\n" + body }

func chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

const (
	chunked = "Transfer-Encoding: chunked\r\n"
	last    = "0\r\n\r\n"
	smuggle = "GET /v1/deliveries/dlv_smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n"
)

func length(n int) string { return "Content-Length: " + strconv.Itoa(n) + "\r\n" }

// hostileFraming blurs where a request ends, which version it is of, and what
// it asks to be done.
var hostileFraming = []wire{
	{name: "both framings, a whole body", bytes: trip(chunked+length(len(quoteBody)), chunk(quoteBody)+last), wants: answers("200|4xx")},
	{name: "both framings, a request behind the last chunk", bytes: trip(chunked+length(len(chunk(quoteBody)+last+smuggle)),
		chunk(quoteBody)+last+smuggle), wants: answers("200|4xx", "4xx")},
	{name: "both framings, a length too short", bytes: trip(length(3)+chunked, chunk(quoteBody)+last), wants: answers("200|4xx")},
	{name: "an encoding that is none", bytes: trip("Transfer-Encoding: nonsense\r\n", chunk(quoteBody)+last), wants: answers("400")},
	{name: "identity", bytes: trip("Transfer-Encoding: identity\r\n"+length(len(quoteBody)), quoteBody), wants: answers("400")},
	{name: "gzip and chunked", bytes: trip("Transfer-Encoding: gzip, chunked\r\n", chunk(quoteBody)+last), wants: answers("400")},
	{name: "chunked twice in a line", bytes: trip("Transfer-Encoding: chunked, chunked\r\n", chunk(quoteBody)+last), wants: answers("400")},
	{name: "chunked in two lines", bytes: trip(chunked+chunked, chunk(quoteBody)+last), wants: answers("400")},
	{name: "chunked and identity", bytes: trip(chunked+"Transfer-Encoding: identity\r\n", chunk(quoteBody)+last), wants: answers("400")},
	{name: "chunked in capitals", bytes: trip("Transfer-Encoding: CHUNKED\r\n", chunk(quoteBody)+last), wants: answers("200")},
	{name: "chunked behind a vertical tab", bytes: trip("Transfer-Encoding: \vchunked\r\n", chunk(quoteBody)+last), wants: answers("400")},
	{name: "chunked with a space before the colon", bytes: trip("Transfer-Encoding : chunked\r\n", chunk(quoteBody)+last),
		wants: answers("400")},
	{name: "chunked, folded", bytes: trip("Transfer-Encoding:\r\n chunked\r\n", chunk(quoteBody)+last), wants: answers("200|4xx")},
	{name: "an empty encoding", bytes: trip("Transfer-Encoding:\r\n", chunk(quoteBody)+last), wants: answers("400")},
	{name: "chunked in HTTP/1.0", bytes: "POST /v1/quotes HTTP/1.0\r\nAuthorization: Bearer {key}\r\n" + chunked + "\r\n" + chunk(quoteBody) +
		last, wants: answers("200|4xx")},

	{name: "a chunk size of words", bytes: trip(chunked, "zz\r\n{}\r\n0\r\n\r\n"), wants: answers("400")},
	{name: "a chunk size below zero", bytes: trip(chunked, "-1\r\n{}\r\n0\r\n\r\n"), wants: answers("400")},
	{name: "a chunk size with a sign", bytes: trip(chunked, "+2\r\n{}\r\n0\r\n\r\n"), wants: answers("400")},
	{name: "a chunk size with a prefix", bytes: trip(chunked, "0x2\r\n{}\r\n0\r\n\r\n"), wants: answers("400")},
	{name: "a chunk size beyond 64 bits", bytes: trip(chunked, "FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"), wants: answers("400")},
	{name: "a chunk size of 2^63", bytes: trip(chunked, "8000000000000000\r\n{}\r\n0\r\n\r\n"), wants: answers("400"), half: true},
	{name: "an empty chunk size", bytes: trip(chunked, "\r\n{}\r\n0\r\n\r\n"), wants: answers("400")},
	{name: "a chunk longer than told", bytes: trip(chunked, "1\r\n{}\r\n0\r\n\r\n"), wants: answers("400")},
	{name: "a chunk shorter than told", bytes: trip(chunked, "ff\r\n{}\r\n0\r\n\r\n"), wants: answers("400"), half: true},
	{name: "chunks with extensions", bytes: trip(chunked, fmt.Sprintf("%x;a=b;\"c\"\r\n%s\r\n0;d\r\n\r\n", len(quoteBody), quoteBody)),
		wants: answers("200")},
	{name: "a chunk extension of 8 KB",
		bytes: trip(chunked, fmt.Sprintf("%x;%s\r\n%s\r\n0\r\n\r\n", len(quoteBody), strings.Repeat("e", 8<<10), quoteBody)),
		wants: answers("4xx")},
	{name: "chunks of line feeds alone", bytes: trip(chunked, fmt.Sprintf("%x\n%s\n0\n\n", len(quoteBody), quoteBody)),
		wants: answers("200|4xx")},
	{name: "2,000 chunks of a byte", bytes: trip(chunked, strings.Repeat("1\r\n \r\n", 2_000)+chunk(quoteBody)+last),
		wants: answers("200|4xx")},
	{name: "2,000 chunks with extensions", bytes: trip(chunked, strings.Repeat("1;"+strings.Repeat("e", 40)+"\r\n \r\n", 2_000)+last),
		wants: answers("4xx")},
	{name: "a forbidden trailer", bytes: trip(chunked, chunk(quoteBody)+"0\r\nAuthorization: Bearer x\r\nContent-Length: 5\r\n\r\n"),
		wants: answers("200|4xx")},
	{name: "a trailer of nonsense", bytes: trip(chunked, chunk(quoteBody)+"0\r\nno colon\r\n\r\n"), wants: answers("200|4xx")},
	{name: "a last chunk that never ends", bytes: trip(chunked, chunk(quoteBody)+"0\r\n"), wants: answers("200|4xx"), half: true},
	{name: "no last chunk", bytes: trip(chunked, chunk(quoteBody)), wants: answers("400"), half: true},

	{name: "two lengths that differ", bytes: trip(length(2)+length(len(quoteBody)), quoteBody), wants: answers("400")},
	{name: "two lengths that agree", bytes: trip(length(len(quoteBody))+length(len(quoteBody)), quoteBody), wants: answers("200|4xx")},
	{name: "lengths in a list", bytes: trip(fmt.Sprintf("Content-Length: %d, %[1]d\r\n", len(quoteBody)), quoteBody),
		wants: answers("200|4xx")},
	{name: "a length below zero", bytes: trip("Content-Length: -1\r\n", quoteBody), wants: answers("400")},
	{name: "a length with a sign", bytes: trip("Content-Length: +5\r\n", quoteBody), wants: answers("400")},
	{name: "a length of words", bytes: trip("Content-Length: many\r\n", quoteBody), wants: answers("400")},
	{name: "a length with an exponent", bytes: trip("Content-Length: 1e2\r\n", quoteBody), wants: answers("400")},
	{name: "a hexadecimal length", bytes: trip("Content-Length: 0x10\r\n", quoteBody), wants: answers("400")},
	{name: "a length with a fraction", bytes: trip("Content-Length: 2.0\r\n", quoteBody), wants: answers("400")},
	{name: "a length with a space inside", bytes: trip("Content-Length: 1 0\r\n", quoteBody), wants: answers("400")},
	{name: "a length beyond 64 bits", bytes: trip("Content-Length: 99999999999999999999\r\n", quoteBody), wants: answers("400")},
	{name: "no length", bytes: trip("", quoteBody), wants: answers("400", "400"), half: true},

	{name: "HTTP/1.0", bytes: "GET /v1/api-key HTTP/1.0\r\nAuthorization: Bearer {key}\r\n\r\n", wants: answers("200")},
	{name: "HTTP/1.0 that wants to stay", bytes: "GET /v1/api-key HTTP/1.0\r\nConnection: keep-alive\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("200")},
	{name: "HTTP/1.0 with an expectation", bytes: "POST /v1/quotes HTTP/1.0\r\nExpect: 100-continue\r\nAuthorization: Bearer {key}\r\n" +
		length(len(quoteBody)) + "\r\n" + quoteBody, wants: answers("200|4xx")},
	{name: "HTTP/1.0 with an unknown expectation",
		bytes: "GET /v1/api-key HTTP/1.0\r\nExpect: nonsense\r\nAuthorization: Bearer {key}\r\n\r\n", wants: answers("417")},
	{name: "HTTP/1.0 and nothing there", bytes: "GET /nothing HTTP/1.0\r\n\r\n", wants: answers("404")},
	{name: "HTTP/0.9", bytes: "GET /v1/api-key\r\n", wants: answers("400"), half: true},
	{name: "HTTP/2.0", bytes: "GET /v1/api-key HTTP/2.0\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "HTTP/3.0", bytes: "GET /v1/api-key HTTP/3.0\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "HTTP/9.9", bytes: "GET /v1/api-key HTTP/9.9\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "HTTP/1.9", bytes: "GET /v1/api-key HTTP/1.9\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n", wants: answers("200|4xx")},
	{name: "HTTP/11", bytes: "GET /v1/api-key HTTP/11\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "HTTP/1.10", bytes: "GET /v1/api-key HTTP/1.10\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "HTTP/-1.1", bytes: "GET /v1/api-key HTTP/-1.1\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "a lower-case version", bytes: "GET /v1/api-key http/1.1\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "the version of another protocol", bytes: "OPTIONS rtsp://{host} RTSP/1.0\r\n\r\n", wants: answers("400")},
	{name: "the preface of HTTP/2", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", wants: answers("4xx"),
		half: true},
	{name: "no version and no target", bytes: "GET\r\n\r\n", wants: answers("400")},
	{name: "four words", bytes: "GET /v1/api-key HTTP/1.1 HTTP/1.1\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "two spaces", bytes: "GET  /v1/api-key HTTP/1.1\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "tabs for spaces", bytes: "GET\t/v1/api-key\tHTTP/1.1\r\nHost: {host}\r\n\r\n", wants: answers("400")},
	{name: "a request in a response", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", wants: answers("400")},
	{name: "blank lines first", bytes: "\r\n\r\n" + get("/v1/api-key"), wants: answers("200|4xx")},
	{name: "blank lines only", bytes: "\r\n\r\n\r\n\r\n", wants: answers("400"), half: true},

	{name: "no host", bytes: "GET /v1/api-key HTTP/1.1\r\nAuthorization: Bearer {key}\r\n\r\n", wants: answers("400")},
	{name: "an empty host", bytes: "GET /v1/api-key HTTP/1.1\r\nHost:\r\nAuthorization: Bearer {key}\r\n\r\n", wants: answers("200|400")},
	{name: "a host of its own", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("200|4xx")},
	{name: "a host with a space", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: a b\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("400")},
	{name: "a host with a path", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: a/b\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("200|4xx")},
	{name: "a host with a statement", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: '--\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("200|4xx")},
	{name: "a host with a port of words", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: a:b:c\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("200|4xx")},
	{name: "a host with a NUL", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: a\x00b\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("400")},
	{name: "a host of 10 KB", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: " + strings.Repeat("h", 10_000) +
		"\r\nAuthorization: Bearer {key}\r\n\r\n", wants: answers("200|4xx")},
	{name: "a host in UTF-8", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: wäybill\r\nAuthorization: Bearer {key}\r\n\r\n",
		wants: answers("200|4xx")},

	{name: "TRACE", bytes: open("TRACE /v1/api-key") + "\r\n", wants: answers("405 METHOD_NOT_ALLOWED")},
	{name: "TRACE of nothing", bytes: open("TRACE /") + "\r\n", wants: answers("404")},
	{name: "OPTIONS", bytes: open("OPTIONS /v1/deliveries") + "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
		wants: answers("405")},
	{name: "OPTIONS of everything", bytes: open("OPTIONS *") + "\r\n", wants: answers("404|405")},
	{name: "GET of everything", bytes: open("GET *") + "\r\n", wants: answers("4xx")},
	{name: "HEAD", bytes: open("HEAD /v1/api-key") + "\r\n", wants: answers("405")},
	{name: "CONNECT", bytes: "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", wants: answers("4xx")},
	{name: "CONNECT to a path", bytes: open("CONNECT /v1/api-key") + "\r\n", wants: answers("4xx")},
	{name: "PUT", bytes: open("PUT /v1/deliveries/{dlv}") + length(2) + "\r\n{}", wants: answers("405")},
	{name: "DELETE", bytes: open("DELETE /v1/deliveries/{dlv}") + "\r\n", wants: answers("405")},
	{name: "PATCH", bytes: open("PATCH /v1/deliveries/{dlv}") + length(2) + "\r\n{}", wants: answers("405")},
	{name: "BREW", bytes: open("BREW /v1/deliveries") + "\r\n", wants: answers("405")},
	{name: "a lower-case method", bytes: open("get /v1/api-key") + "\r\n", wants: answers("405")},
	{name: "a method in mixed case", bytes: open("Post /v1/deliveries") + length(2) + "\r\n{}", wants: answers("405")},
	{name: "a method of 5 KB", bytes: open(strings.Repeat("M", 5_000)+" /v1/api-key") + "\r\n", wants: answers("405")},
	{name: "a method of 64 KB", bytes: open(strings.Repeat("M", 64<<10)+" /v1/api-key") + "\r\n", wants: answers("431|400")},
	{name: "a method with a slash", bytes: open("GE/T /v1/api-key") + "\r\n", wants: answers("400")},
	{name: "a method in UTF-8", bytes: open("GÉT /v1/api-key") + "\r\n", wants: answers("400")},
	{name: "a method with a NUL", bytes: open("GET\x00 /v1/api-key") + "\r\n", wants: answers("400")},
	{name: "no method", bytes: open(" /v1/api-key") + "\r\n", wants: answers("400")},

	{name: "a handshake of TLS", bytes: "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + strings.Repeat("\x5a", 32) +
		"\x00\x00\x04\x13\x01\x13\x02\x01\x00\x00\x74\x00\x00\x00\x0e\x00\x0c\x00\x00\x09localhost", wants: answers("400"), half: true},
	{name: "a handshake of SSL 2", bytes: "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10\n", wants: answers("400"), half: true},
	{name: "a greeting of SSH", bytes: "SSH-2.0-OpenSSH_9.9\r\n", wants: answers("400"), half: true},
	{name: "a greeting of SMTP", bytes: "EHLO evil.example\r\nMAIL FROM:<a@b>\r\n", wants: answers("400"), half: true},
	{name: "a command of Redis", bytes: "*1\r\n$8\r\nFLUSHALL\r\n", wants: answers("400"), half: true},
	{name: "a start of Postgres", bytes: "\x00\x00\x00\x08\x04\xd2\x16\x2f\n", wants: answers("400"), half: true},
	{name: "a header of a proxy", bytes: "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + get("/v1/api-key"), wants: answers("400")},
	{name: "1 KB of zeros", bytes: strings.Repeat("\x00", 1<<10), wants: answers("400"), half: true},
	{name: "64 KB of zeros", bytes: strings.Repeat("\x00", 64<<10), wants: answers("431|400"), half: true},
	{name: "64 KB of one letter", bytes: strings.Repeat("A", 64<<10), wants: answers("431|400"), half: true},
	{name: "every byte there is", bytes: everyByte() + "\r\n\r\n", wants: answers("400")},
}

func everyByte() string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(255 - i)
	}
	return string(all)
}

func (g *siege) framing(t *testing.T) { g.fire(t, hostileFraming) }
