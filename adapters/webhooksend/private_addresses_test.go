package webhooksend

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"waybill/domain"
)

// forbidden lists hosts, as a URL has them, that lead into a network. Some are no addresses to
// Go but are to other resolvers. These resolve here to what they mean there.
var forbidden = []string{
	// The loopback, in all spellings.
	"127.0.0.1", "127.0.0.1.", "127.1.2.3", "127.255.255.255", "127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001", "0x7F.1",
	"0177.0.0.1", "0177.0.0.01", "0x7f.0x0.0x0.0x1", "127.0.0.0x1", "00000177.1", "127.000.000.001", "127.0.0.1.nip.example",
	"localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1",
	"[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0001]", "[::1%25lo]", "[::1%251]",
	// IPv4 within IPv6.
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:127.0.0.1%25lo]",
	"[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::ffff:0.0.0.0]", "[::ffff:255.255.255.255]",
	"[::127.0.0.1]", "[::7f00:1]", "[::10.0.0.1]", "[::8.8.8.8]", "[::ffff:0:127.0.0.1]", "[::ffff:0:8.8.8.8]",
	"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::100.64.0.1]",
	"[64:ff9b::168.63.129.16]",
	"[64:ff9b:1::127.0.0.1]", "[64:ff9b:1::8.8.8.8]", "[64:ff9b:1:7f00:0:100::]", "[64:ff9b:0:0:1::8.8.8.8]",
	"[2002:7f00:1::]", "[2002:7f00:1::1]", "[2002:a00:1::1]", "[2002:a9fe:a9fe::1]", "[2002:808:808::1]",
	"[2001::7f00:1]", "[2001:0:808:808:0:0:80ff:fffe]", "[2001:0:7f00:1::]", "[2001:0:4136:e378:8000:63bf:f5ff:fffe]",
	"[2606:4700::5efe:127.0.0.1]", "[2606:4700::200:5efe:10.0.0.1]", "[2606:4700::5efe:a9fe:a9fe]", "[fe80::5efe:8.8.8.8]",
	// Private, link-local, shared.
	"10.0.0.1", "10.255.255.255", "012.0.0.1", "0xa.1", "167772161", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.257",
	"3232235521",
	"100.64.0.1", "100.127.255.255", "100.100.100.200", "169.254.0.1", "169.254.169.254", "2852039166", "0xa9fea9fe", "169.254.43518",
	"0251.0376.0251.0376",
	"[fc00::1]", "[fd00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[fdff:ffff::]", "[fe80::1]", "[fe80::1%25eth0]", "[febf::1]", "[fec0::1]",
	"[feff::1]",
	"168.63.129.16", "metadata.google.internal",
	// Everything else that is special.
	"0.0.0.0", "0", "0.0.0.1", "0.255.255.255", "[::]", "[0:0:0:0:0:0:0:0]", "192.0.0.1", "192.0.0.9", "192.0.0.170", "192.0.0.192",
	"192.0.2.1",
	"192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
	"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.254", "255.255.255.255", "4294967295",
	"[100::1]", "[100:0:0:1::1]", "[2001:1::1]", "[2001:2::1]", "[2001:3::1]", "[2001:4:112::1]", "[2001:10::1]", "[2001:20::1]",
	"[2001:30::1]",
	"[2001:db8::1]", "[2620:4f:8000::1]", "[3ffe::1]", "[3fff::1]", "[5f00::1]", "[4000::1]", "[1::1]", "[9999::1]", "[ff02::1]", "[ff0e::1]",
	"[ffff::]",
}

// meant returns the address that such a name means to those resolvers.
func meant(name string, kind uint16) []netip.Addr {
	to := "127.0.0.1"
	switch {
	case strings.HasPrefix(name, "0251") || strings.HasPrefix(name, "metadata") || name == "2852039166" || name == "0xa9fea9fe" ||
		name == "169.254.43518":
		to = "169.254.169.254"
	case name == "0":
		to = "0.0.0.0"
	case name == "4294967295":
		to = "255.255.255.255"
	case strings.HasPrefix(name, "192.168") || name == "3232235521":
		to = "192.168.1.1"
	case strings.HasPrefix(name, "012") || strings.HasPrefix(name, "0xa") || name == "167772161":
		to = "10.0.0.1"
	}
	return fixed(to)(name, kind)
}

func TestNoSpellingOfAForbiddenAddressIsReached(t *testing.T) {
	t.Parallel()
	if len(forbidden) < 80 {
		t.Errorf("only %d forms", len(forbidden))
	}
	c := newCanary(t)
	real := sender(t, Options{Resolver: resolver(t, meant)}, patient)
	// Every connection goes to the canary, whether its address is reachable from here or not.
	diverted := sender(t, Options{Resolver: resolver(t, meant)}, patient)
	diverted.divert("127.0.0.1:"+c.port, nil)
	for _, host := range forbidden {
		for _, s := range []*Sender{real, diverted} {
			for _, url := range []string{"http://" + host + ":" + c.port + "/", "https://" + host + ":" + c.port + "/x?y=z"} {
				r := s.Send(t.Context(), message(url))
				// Go's resolver knows that numbers are no name.
				number := strings.Trim(host, "0123456789.") == ""
				if r.Error != domain.ErrorBlockedIP && (!number || r.Error != domain.ErrorDNS) || r.StatusCode != 0 {
					t.Errorf("%s: %+v", url, r)
				}
			}
		}
	}
	c.requireSilence(t)
	if diverted.Send(t.Context(), message("http://8.8.8.8/")); c.hits.Load() == 0 {
		t.Error("the canary does not sing")
	}
}

func TestInDevelopmentOnlyLoopbackAndPrivateAddressesAreAllowedToo(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{}
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "127.255.255.255", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0001]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:10.0.0.1]",
		"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "[fc00::1]", "[fd00::1]", "[fdff:ffff::]",
	} {
		allowed[host] = true
	}
	for _, host := range forbidden {
		a, err := netip.ParseAddr(strings.ReplaceAll(strings.Trim(host, "[]"), "%25", "%"))
		if err != nil {
			continue // a name
		}
		if mayReach(a, true) != allowed[host] || mayReach(a, false) {
			t.Errorf("%s: %v in development, %v else", host, mayReach(a, true), mayReach(a, false))
		}
	}
}

func TestRangesAreRefusedUpToTheirEdges(t *testing.T) {
	t.Parallel()
	for _, r := range reserved {
		first := r.prefix.Masked().Addr()
		last := lastOf(r.prefix)
		if mayReach(first, false) || mayReach(last, false) {
			t.Errorf("%v: an edge is allowed", r.prefix)
		}
	}
	for _, public := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255",
		"192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
		"198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
		"2001:200::1", "2001:db7:ffff::", "2001:db9::", "2003::1", "2606:4700::1111", "2620:4f:8001::1", "2a00:1450:4001:800::200e", "3ffd::",
		"3fff:1000::",
		"64:ff9b::8.8.8.8", "2606:4700::5efe:8.8.8.8", "2606:4700::200:5efe:808:808", "2606:4700::100:5efe:7f00:1", "::ffff:8.8.8.8",
	} {
		if a := netip.MustParseAddr(public); !mayReach(a, false) || !mayReach(a, true) {
			t.Errorf("%s is refused", public)
		}
	}
	if mayReach(netip.Addr{}, true) || mayReach(netip.MustParseAddr("2606:4700::1%eth0"), true) {
		t.Error("no address, or a scoped one, is allowed")
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestANameThatChangesItsMindLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	const tries, public = 1000, "93.184.216.34"
	c := newCanary(t)
	good := strings.TrimPrefix(serve(t, answers(200, "ok")), "http://")
	private := []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00:ec2::254", "64:ff9b::7f00:1", "0.0.0.0"}

	var mu sync.Mutex
	asked := map[string]int{} // how often a name was; each look-up asks for A and AAAA
	var number atomic.Int64
	names := resolver(t, func(name string, kind uint16) []netip.Addr {
		first, rest, _ := strings.Cut(name, ".")
		mu.Lock()
		asked[name]++
		round := (asked[name] + 1) / 2
		mu.Unlock()
		bad := private[len(first)%len(private)]
		switch {
		case rest == "mixed.example":
			return fixed(public, bad, "1.1.1.1", "2606:4700::1111")(name, kind)
		case round > 1:
			return fixed(bad)(name, kind)
		}
		return fixed(public)(name, kind)
	})
	s := sender(t, Options{Resolver: names}, defaultLimits)
	s.keeping.DisableKeepAlives = true // each Send dials
	var dialed, reached atomic.Int64
	s.divert(good, func(to netip.AddrPort) {
		dialed.Add(1)
		if to.Addr() != netip.MustParseAddr(public) {
			reached.Add(1)
			t.Errorf("connected to %v", to)
		}
	})

	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for {
				i := int(number.Add(1))
				if i > tries {
					return
				}
				label := strings.Repeat("x", 1+i%len(private)) + "-" + strconv.Itoa(i)
				switch i % 3 {
				case 0: // checked, then changed
					url := "http://" + label + ".checked.example:" + c.port
					err := s.Resolvable(t.Context(), url)
					r := s.Send(t.Context(), message(url))
					if r.Error != domain.ErrorBlockedIP {
						t.Errorf("%s: %v, %+v", url, err, r)
					}
				case 1: // good once
					url := "http://" + label + ".changing.example:" + c.port
					s.Send(t.Context(), message(url))
					if r := s.Send(t.Context(), message(url)); r.Error != domain.ErrorBlockedIP {
						t.Errorf("%s: %+v", url, r)
					}
				default:
					url := "http://" + label + ".mixed.example:" + c.port
					if r := s.Send(t.Context(), message(url)); r.Error != domain.ErrorBlockedIP {
						t.Errorf("%s: %+v", url, r)
					}
				}
			}
		})
	}
	wait.Wait()
	c.requireSilence(t)
	if dialed.Load() < 100 || reached.Load() > 0 {
		t.Errorf("%d connections, %d of them to a forbidden address", dialed.Load(), reached.Load())
	}
}

func TestOneLookUpServesCheckAndConnection(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := sender(t, Options{Resolver: resolver(t, func(name string, kind uint16) []netip.Addr {
		asked.Add(1)
		if name != "hooks.example.com" {
			t.Errorf("asked for %s: a search list was used", name)
		}
		return fixed("93.184.216.34", "2606:4700::1111")(name, kind)
	})}, defaultLimits)
	var mu sync.Mutex
	var to []string
	s.divert(serve(t, answers(200, "")), func(a netip.AddrPort) {
		mu.Lock()
		defer mu.Unlock()
		to = append(to, a.String())
	})
	for range 20 {
		if r := s.Send(t.Context(), message("http://hooks.example.com:8080/x")); !r.Succeeded() {
			t.Fatalf("%+v", r)
		}
	}
	// One A, one AAAA, one connection that is kept.
	if asked.Load() != 2 || len(to) != 1 || !slices.Contains([]string{"93.184.216.34:8080", "[2606:4700::1111]:8080"}, to[0]) {
		t.Errorf("%d questions, connected to %v", asked.Load(), to)
	}
}

func TestTheNextAddressIsTriedWhereOneRefuses(t *testing.T) {
	t.Parallel()
	good := serve(t, answers(200, ""))
	s := sender(t, Options{Resolver: resolver(t, fixed("93.184.216.34", "93.184.216.35", "93.184.216.36", "93.184.216.37"))}, patient)
	var tried atomic.Int64
	connect := s.dialer.connect
	s.divert(good, nil)
	working := s.dialer.connect
	s.dialer.connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		if tried.Add(1) < 3 {
			return connect(ctx, netip.MustParseAddrPort("127.0.0.1:1"))
		}
		return working(ctx, to)
	}
	if r := s.Send(t.Context(), message("http://hooks.example.com/")); !r.Succeeded() || tried.Load() != 3 {
		t.Errorf("%+v after %d", r, tried.Load())
	}
	s.dialer.connect = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		tried.Add(1)
		return connect(ctx, netip.MustParseAddrPort("127.0.0.1:1"))
	}
	tried.Store(0)
	if r := s.Send(t.Context(), message("http://other.example.com/")); r.Error != domain.ErrorRefused || tried.Load() != mostAddresses {
		t.Errorf("%+v after %d", r, tried.Load())
	}
}
