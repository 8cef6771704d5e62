package webhooksend

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"waybill/domain"
	"waybill/ports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick shortens the limits, so that tests of hostile receivers end soon. Measured times are
// compared with these.
var quick = limits{lookup: 400 * time.Millisecond, connect: 300 * time.Millisecond, handshake: 400 * time.Millisecond,
	attempt: 700 * time.Millisecond, idle: 300 * time.Millisecond}

// grace is the extra time of an attempt on a busy machine.
const grace = 20 * time.Second

func sender(t testing.TB, o Options, l limits) *Sender {
	t.Helper()
	s := newSender(o, l)
	t.Cleanup(s.Close)
	return s
}

// development returns a sender that may reach the loopback, with patient limits.
func development(t testing.TB) *Sender { return sender(t, Options{AllowPrivate: true}, patient) }

// patient is for receivers that respond: a busy machine causes no failure. Kept connections
// close soon, since receivers that hang wait for that.
var patient = limits{
	lookup: defaultLimits.lookup, connect: defaultLimits.connect, handshake: defaultLimits.handshake,
	attempt: defaultLimits.attempt, idle: quick.idle,
}

func message(url string) ports.WebhookMessage {
	return ports.WebhookMessage{URL: url, Body: []byte(`{"id":"evt_1"}`), Header: map[string]string{
		domain.HeaderWebhookID:        "evt_0190000000007000800000000000000c",
		domain.HeaderWebhookTimestamp: "1614265330",
		domain.HeaderWebhookSignature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		domain.HeaderWebhookAttempt:   "1",
	}}
}

// serve runs a receiver and returns its URL.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// silentLog is for servers whose errors are expected.
var silentLog = log.New(io.Discard, "", 0)

// canary is a receiver that must not be reached. It listens on all loopback addresses, of both
// IP versions if available.
type canary struct {
	hits atomic.Int64
	port string
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, c.port, _ = net.SplitHostPort(l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.hits.Add(1)
			conn.Close()
		}
	}()
	return c
}

func (c *canary) requireSilence(t *testing.T) {
	t.Helper()
	if n := c.hits.Load(); n != 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}

// resolver asks a name server of the test. answer returns the addresses of a name, for one type
// of record; nil: there is no such name.
func resolver(t *testing.T, answer func(name string, kind uint16) []netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.RecursionAvailable = true
		addresses := answer(strings.TrimSuffix(q.Question[0].Name, "."), q.Question[0].Qtype)
		if addresses == nil {
			m.Rcode = dns.RcodeNameError
		}
		for _, a := range addresses {
			head := dns.RR_Header{Name: q.Question[0].Name, Class: dns.ClassINET, Rrtype: q.Question[0].Qtype}
			if q.Question[0].Qtype == dns.TypeAAAA {
				m.Answer = append(m.Answer, &dns.AAAA{Hdr: head, AAAA: a.AsSlice()})
			} else {
				m.Answer = append(m.Answer, &dns.A{Hdr: head, A: a.AsSlice()})
			}
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { conn.Close() })
	address := conn.LocalAddr().String()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", address)
	}}
}

// fixed returns these addresses for every name, by the type of record.
func fixed(addresses ...string) func(string, uint16) []netip.Addr {
	return func(_ string, kind uint16) []netip.Addr {
		of := []netip.Addr{}
		for _, text := range addresses {
			if a := netip.MustParseAddr(text); a.Is4() == (kind == dns.TypeA) {
				of = append(of, a)
			}
		}
		return of
	}
}

// divert replaces the internet: it records each address that would be dialed, and connects to a
// receiver on the loopback.
func (s *Sender) divert(to string, dialed func(netip.AddrPort)) {
	s.dialer.connect = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		if dialed != nil {
			dialed(addr)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(strings.TrimPrefix(to, "http://"), "https://"))
	}
}
