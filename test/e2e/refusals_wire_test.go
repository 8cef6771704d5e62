package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// Clients of many libraries send all of a request before they read the answer.
func TestARefusalReachesAClientThatSendsMegabytesFirst(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		const times = 60
		c := s.caller(t, sandbox)
		at, err := url.Parse(s.base(sandbox))
		if err != nil {
			t.Fatal(err)
		}
		body := bytes.Repeat([]byte(" "), 7<<20)
		for name, refusal := range map[string]struct {
			line, headers string
			status        int
		}{
			"413": {"POST /v1/quotes HTTP/1.1", "Authorization: Bearer " + c.key + "\r\nConnection: close\r\n", 413},
			"413 of a bulk": {"POST /v1/deliveries/bulk HTTP/1.1", "Authorization: Bearer " + c.key +
				"\r\nIdempotency-Key: megabytes\r\nConnection: close\r\n", 413},
			"404":                    {"POST /v1/nowhere HTTP/1.1", "Connection: close\r\n", 404},
			"405":                    {"PUT /v1/quotes HTTP/1.1", "Connection: close\r\n", 405},
			"a page of another site": {"POST /docs/ HTTP/1.1", "Connection: close\r\n", 405},
		} {
			t.Run(name, func(t *testing.T) {
				for i := range times {
					sent := body[:(2+i%6)<<20]
					head := fmt.Sprintf("%s\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n", refusal.line, at.Host, refusal.headers, len(sent))
					if status, err := sendFirst(at.Host, head, sent); err != nil || status != refusal.status {
						t.Fatalf("%d of %d, %d MiB: status %d, %v; want %d", i+1, times, len(sent)>>20, status, err, refusal.status)
					}
				}
			})
		}
	})
}

// sendFirst sends a request to its end, and only then reads the answer.
func sendFirst(address, head string, body []byte) (int, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(conn, head); err != nil {
		return 0, err
	}
	if _, err := conn.Write(body); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}
