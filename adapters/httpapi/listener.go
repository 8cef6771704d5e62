package httpapi

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

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

var bareAnswer = []byte("HTTP/1.1 ")

// Write replaces an error answer that did not come through our pipeline,
// which is what an answer without a request ID is.
func (c *envelopeConn) Write(p []byte) (int, error) {
	if len(p) < 13 || !bytes.HasPrefix(p, bareAnswer) || p[9] != '4' && p[9] != '5' || bytes.Contains(p, []byte("\r\nX-Request-ID: ")) {
		return c.Conn.Write(p)
	}
	status, err := strconv.Atoi(string(p[9:12]))
	if err != nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(c.api.bareAnswer(status, c.RemoteAddr())); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (a *API) bareAnswer(status int, remote net.Addr) []byte {
	e := &domain.Error{Code: domain.CodeInvalidRequest, Message: "This is not an HTTP request we can read; the connection is closed."}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		e.Message = "The request line and headers are larger than 16 KiB."
	case http.StatusInternalServerError:
		e = &domain.Error{Code: domain.CodeInternal, Message: "Something failed on our side."}
	}
	body := errorJSON(status, e)
	allowance := a.bareAllowance(remote)
	a.Metrics.failed(e)
	var b strings.Builder
	b.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	b.WriteString("Content-Type: application/json; charset=utf-8\r\nConnection: close\r\n")
	b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	b.WriteString("X-Request-ID: " + string(a.Identifiers.ID("req_")) + "\r\n")
	b.WriteString("RateLimit-Limit: " + strconv.Itoa(allowance.Limit.Limit) + "\r\n")
	b.WriteString("RateLimit-Remaining: " + strconv.Itoa(max(allowance.Remaining, 0)) + "\r\n")
	b.WriteString("RateLimit-Reset: " + seconds(allowance.Reset, 0) + "\r\n\r\n")
	return append([]byte(b.String()), body...)
}

func (a *API) bareAllowance(remote net.Addr) ports.Allowance {
	host, _, err := net.SplitHostPort(remote.String())
	if err != nil {
		host = "unknown"
	}
	allowance, err := a.Admission.Stranger(context.Background(), host)
	if err != nil {
		return ports.Allowance{}
	}
	return allowance
}
