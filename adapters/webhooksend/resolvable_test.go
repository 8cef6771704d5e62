package webhooksend

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestResolvableSaysWhyWithoutNamingAnAddress(t *testing.T) {
	t.Parallel()
	names := resolver(t, func(name string, kind uint16) []netip.Addr {
		switch name {
		case "public.example":
			return fixed("93.184.216.34", "2606:4700::1111")(name, kind)
		case "private.example":
			return fixed("10.1.2.3")(name, kind)
		case "mixed.example":
			return fixed("93.184.216.34", "fd00::1")(name, kind)
		case "metadata.example":
			return fixed("169.254.169.254")(name, kind)
		case "empty.example":
			return []netip.Addr{}
		}
		return nil
	})
	const reserved, unknown, none = "private or reserved. " + domain.ListenInstead, "does not resolve", "not an absolute address"
	for _, c := range []struct{ url, strict, development string }{
		{"https://public.example/x", "", ""},
		{"http://public.example:8080", "", ""},
		{"https://private.example", reserved, ""},
		{"https://mixed.example", reserved, ""},
		{"https://metadata.example", reserved, reserved},
		{"https://empty.example", unknown, unknown},
		{"https://nowhere.example", unknown, unknown},
		{"https://10.1.2.3", reserved, ""},
		{"https://[::ffff:10.1.2.3]", reserved, ""},
		{"http://127.0.0.1:3000", reserved, ""},
		{"https://8.8.8.8", "", ""},
		{"ftp://public.example", none, none},
		{"public.example", none, none},
		{"https://", none, none},
		{"https://%zz", none, none},
		{"", none, none},
	} {
		for want, s := range map[*string]*Sender{
			&c.strict:      sender(t, Options{Resolver: names}, patient),
			&c.development: sender(t, Options{Resolver: names, AllowPrivate: true}, patient),
		} {
			err := s.Resolvable(t.Context(), c.url)
			if *want == "" {
				if err != nil {
					t.Errorf("%s: %v", c.url, err)
				}
				continue
			}
			var e *domain.Error
			if !errors.As(err, &e) || e.Code != domain.CodeWebhookURLNotAllowed || !strings.Contains(e.Message, *want) {
				t.Errorf("%s: %v, want %q", c.url, err, *want)
				continue
			}
			for _, secret := range []string{"10.1", "fd00", "169.254", "127.0.0.1:"} {
				if strings.Contains(e.Message, secret) || strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v names an address", c.url, err)
				}
			}
		}
	}
}

// silent returns a resolver whose name server never responds.
func silent(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func TestANameServerThatIsSilentHoldsUpNoOtherLookUp(t *testing.T) {
	t.Parallel()
	s := sender(t, Options{Resolver: silent(t)}, quick)
	began := time.Now()
	err := s.Resolvable(t.Context(), "https://hooks.example.com")
	if took := time.Since(began); !domain.HasCode(err, domain.CodeWebhookURLNotAllowed) || took > quick.lookup+grace/2 {
		t.Errorf("%v after %v", err, took)
	}
	if r := s.Send(t.Context(), message("https://hooks.example.com")); r.Error != domain.ErrorDNS || r.Duration > quick.lookup+grace/2 {
		t.Errorf("%+v", r)
	}
}
