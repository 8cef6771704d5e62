package webhooksend

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"waybill/domain"
	"waybill/ports"
)

// target is where a URL leads.
type target struct {
	tls  bool
	host string
	port uint16
	head []byte // of each request: its first line and the headers that all have
}

// hostKey is the key of attempts under way and of kept connections: owners share neither.
type hostKey struct {
	tls   bool
	host  string
	port  uint16
	owner string
}

func (t *target) key(owner string) hostKey { return hostKey{t.tls, t.host, t.port, owner} }

// parseTarget is nil where nothing can be sent to the address.
func parseTarget(address string) *target {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !printable(u.Host) {
		return nil
	}
	t := &target{tls: u.Scheme == "https", host: strings.ToLower(u.Hostname()), port: 80}
	if t.tls {
		t.port = 443
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil
		}
		t.port = uint16(port)
	}
	t.head = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: Waybill-Webhooks/1.0\r\nContent-Type: application/json\r\n",
		escape(u.RequestURI()), strings.TrimSuffix(u.Host, ":"))
	return t
}

// printable reports whether all are ASCII characters that show. Other alphabets
// come as xn--: some of their digits and dots would count as ASCII ones later.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// escape mends what net/url lets through in a query, such as spaces.
func escape(uri string) string {
	if printable(uri) {
		return uri
	}
	var out strings.Builder
	for _, c := range []byte(uri) {
		if c > ' ' && c <= '~' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// requests are buffers for whole requests: each goes out in one write.
var requests = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// canonical are the names of headers that go out often.
var canonical = map[string]string{
	domain.HeaderWebhookID:        http.CanonicalHeaderKey(domain.HeaderWebhookID),
	domain.HeaderWebhookTimestamp: http.CanonicalHeaderKey(domain.HeaderWebhookTimestamp),
	domain.HeaderWebhookSignature: http.CanonicalHeaderKey(domain.HeaderWebhookSignature),
	domain.HeaderWebhookAttempt:   http.CanonicalHeaderKey(domain.HeaderWebhookAttempt),
}

// request appends the message as it goes over the wire.
func (t *target) request(to []byte, m ports.WebhookMessage) ([]byte, error) {
	to = append(to, t.head...)
	for name, value := range m.Header {
		key, ok := canonical[name]
		if !ok {
			key = http.CanonicalHeaderKey(name)
		}
		switch {
		case ours(key):
			continue
		case !isToken(key) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return nil, fmt.Errorf("the header %q cannot be sent", name)
		}
		to = append(to, key...)
		to = append(to, ": "...)
		to = append(to, value...)
		to = append(to, "\r\n"...)
	}
	to = append(to, "Content-Length: "...)
	to = strconv.AppendInt(to, int64(len(m.Body)), 10)
	to = append(to, "\r\n\r\n"...)
	return append(to, m.Body...), nil
}

// ours reports whether a header is what every request has, or says how it is
// carried: not the message's to say.
func ours(key string) bool {
	switch key {
	case "Host", "User-Agent", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Trailer", "Upgrade":
		return true
	}
	return false
}

func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// mostTargets is how many targets are remembered.
const mostTargets = 1024

// targets remembers what URLs lead to: parsing one takes longer than the rest.
type targets struct {
	mu    sync.RWMutex
	byURL map[string]*target
}

// find is nil where nothing can be sent to the address.
func (t *targets) find(address string) *target {
	t.mu.RLock()
	to := t.byURL[address]
	t.mu.RUnlock()
	if to != nil {
		return to
	}
	if to = parseTarget(address); to == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byURL == nil || len(t.byURL) >= mostTargets {
		t.byURL = make(map[string]*target) // rare enough not to pick what to drop
	}
	t.byURL[address] = to
	return to
}
