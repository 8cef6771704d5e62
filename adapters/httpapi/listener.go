package httpapi

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"waybill/adapters/web"
	"waybill/domain"
	"waybill/ports"
)

// envelopeListener makes the answers of net/http itself look like ours. For a
// request it cannot parse it writes plain text straight to the connection,
// before any handler runs; this is the only place to catch that.
type envelopeListener struct {
	net.Listener
	api *API
}

func (l envelopeListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &envelopeConn{Conn: conn, api: l.api}, nil
}

type envelopeConn struct {
	net.Conn
	api *API
}

// Write replaces an error answer that did not come through our pipeline.
func (c *envelopeConn) Write(p []byte) (int, error) {
	status, bare := bareStatus(p)
	if !bare {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(c.api.bareAnswer(status, c.RemoteAddr())); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite closes the sending side, as the connection below can.
func (c *envelopeConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

var (
	lineEnd    = []byte("\r\n")
	headersEnd = []byte("\r\n\r\n")
)

// bareStatus recognizes an error answer of net/http itself: all its headers
// are there, and no request ID is among them. A piece of one of our bodies may
// begin in the same words, since callers choose the texts in it; but JSON has
// no bare line breaks, and so no headers follow.
func bareStatus(p []byte) (status int, bare bool) {
	if len(p) < len("HTTP/1.1 400") || p[9] != '4' && p[9] != '5' {
		return 0, false
	}
	line, rest, _ := bytes.Cut(p, lineEnd)
	headers, _, whole := bytes.Cut(rest, headersEnd)
	if len(line) < len("HTTP/1.1 400") || !bytes.HasPrefix(line, []byte("HTTP/1.")) || !whole ||
		!bytes.Contains(headers, []byte("Connection: close")) || bytes.Contains(p, []byte("\r\nX-Request-ID: ")) {
		return 0, false
	}
	status, err := strconv.Atoi(string(line[9:12]))
	return status, err == nil
}

func (a *API) bareAnswer(status int, remote net.Addr) []byte {
	requestID := string(a.newRequestID())
	e := &domain.Error{Code: domain.CodeInvalidRequest, Message: "This is not an HTTP request we can read; the connection is closed. Speak " +
		"HTTP/1.1, and no TLS on this port."}
	switch status {
	// net/http answers 501 to a transfer encoding it does not speak. The client has
	// to change, so it is a 4xx: unknown callers must not move the counts of 5xx.
	case http.StatusNotImplemented:
		status = http.StatusBadRequest
		e.Message = "This Transfer-Encoding is not supported. Send Content-Length, or Transfer-Encoding: chunked."
	case http.StatusHTTPVersionNotSupported:
		status = http.StatusBadRequest
		e.Message = "This version of HTTP is not supported. Speak HTTP/1.1."
	case http.StatusExpectationFailed:
		e.Message = "This Expect header is not supported. Leave it out, or send Expect: 100-continue."
	case http.StatusRequestHeaderFieldsTooLarge:
		e.Message = "The request line and headers are larger than 16 KiB. Send fewer or shorter headers."
	case http.StatusInternalServerError:
		e = internal(requestID, true)
	}
	body := web.Failure(status, e, a.docURL(e.Code))
	allowance := a.bareAllowance(remote)
	a.Metrics.failed(e)
	var b strings.Builder
	b.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	b.WriteString("Content-Type: application/json; charset=utf-8\r\nConnection: close\r\n")
	b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	header := http.Header{}
	web.SetPrivate(header)
	_ = header.Write(&b)
	b.WriteString("X-Request-ID: " + requestID + "\r\n")
	b.WriteString("RateLimit-Limit: " + strconv.Itoa(allowance.Limit.Limit) + "\r\n")
	b.WriteString("RateLimit-Remaining: " + strconv.Itoa(max(allowance.Remaining, 0)) + "\r\n")
	b.WriteString("RateLimit-Reset: " + web.Seconds(allowance.Reset, 0) + "\r\n\r\n")
	return append([]byte(b.String()), body...)
}

func (a *API) bareAllowance(remote net.Addr) ports.Allowance {
	host, _, err := net.SplitHostPort(remote.String())
	if err != nil {
		host = "unknown"
	}
	allowance, err := a.Admission.Anonymous(context.Background(), host)
	if err != nil {
		return ports.Allowance{}
	}
	return allowance
}
