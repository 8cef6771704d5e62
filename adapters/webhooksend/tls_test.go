package webhooksend

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
)

// authority signs certificates that the sender trusts.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = certificate(t, nil, func(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign })
	return a
}

// certificate returns a certificate for hooks.example.com. Without by it is self-signed.
func certificate(t *testing.T, by *authority, change func(*x509.Certificate)) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "hooks.example.com"},
		DNSNames:  []string{"hooks.example.com"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(template)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// secure runs a receiver over TLS, and closes connections after each response.
func secure(t *testing.T, config *tls.Config, cert *x509.Certificate, key *ecdsa.PrivateKey) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = w.Write([]byte(r.TLS.ServerName + " " + r.Proto))
	}))
	s.Config.ErrorLog = silentLog
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func TestOnlyAVerifiedReceiverIsSentTo(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	same := func(*x509.Certificate) {}
	for name, c := range map[string]struct {
		config *tls.Config
		by     *authority
		change func(*x509.Certificate)
		class  domain.ErrorClass
	}{
		"good":          {&tls.Config{}, ca, same, ""},
		"good, TLS 1.2": {&tls.Config{MaxVersion: tls.VersionTLS12}, ca, same, ""},
		"offers HTTP/2": {&tls.Config{NextProtos: []string{"h2", "http/1.1"}}, ca, same, ""},
		"TLS 1.1":       {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, ca, same, domain.ErrorTLS},
		"TLS 1.0":       {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, ca, same, domain.ErrorTLS},
		"expired":       {&tls.Config{}, ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }, domain.ErrorTLS},
		"not yet valid": {&tls.Config{}, ca, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }, domain.ErrorTLS},
		"another host":  {&tls.Config{}, ca, func(c *x509.Certificate) { c.DNSNames = []string{"other.example.com"} }, domain.ErrorTLS},
		"its parent":    {&tls.Config{}, ca, func(c *x509.Certificate) { c.DNSNames = []string{"example.com", "*.com"} }, domain.ErrorTLS},
		"its address": {&tls.Config{}, ca, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, []net.IP{{93, 184, 216, 34}} },
			domain.ErrorTLS},
		"signed by itself":  {&tls.Config{}, nil, same, domain.ErrorTLS},
		"another authority": {&tls.Config{}, newAuthority(t), same, domain.ErrorTLS},
		"for clients": {&tls.Config{}, ca, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			domain.ErrorTLS},
		"asks who we are": {&tls.Config{ClientAuth: tls.RequireAnyClientCert}, ca, same, domain.ErrorTLS},
		"asks, TLS 1.2":   {&tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, ca, same, domain.ErrorTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cert, key := certificate(t, c.by, c.change)
			s := sender(t, Options{RootCAs: roots, Resolver: resolver(t, fixed("93.184.216.34"))}, defaultLimits)
			s.divert(secure(t, c.config, cert, key), nil)
			for range 2 { // the second time there is a session to resume
				r := s.Send(t.Context(), message("https://hooks.example.com:8443/x"))
				if r.Error != c.class || c.class == "" && r.Excerpt != "hooks.example.com HTTP/1.1" {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestWhatSpeaksNoTLSIsNoReceiver(t *testing.T) {
	t.Parallel()
	for name, receiver := range map[string]func(net.Conn){
		"HTTP":    func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); hang(c) },
		"garbage": func(c net.Conn) { _, _ = c.Write([]byte(strings.Repeat("\x00\xff", 1000))); hang(c) },
		"records of zeros": func(c net.Conn) {
			for {
				if _, err := c.Write([]byte("\x16\x03\x03\x00\x00")); err != nil {
					return
				}
			}
		},
		"a hello without an end": func(c net.Conn) {
			_, err := c.Write([]byte("\x16\x03\x03\x40\x00\x02\xff\xff\xff"))
			for err == nil {
				_, err = c.Write(make([]byte, 4096))
			}
		},
	} {
		url := strings.Replace(listen(t, receiver), "http:", "https:", 1)
		if r := development(t).Send(t.Context(), message(url)); r.Error != domain.ErrorTLS || r.Duration > 5*grace {
			t.Errorf("%s: %+v", name, r)
		}
	}
	url := strings.Replace(listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1000)) }), "http:", "https:", 1)
	if r := development(t).Send(t.Context(), message(url)); r.Error != domain.ErrorReset {
		t.Errorf("hung up: %+v", r)
	}
}

func TestSessionsAreResumedAndConnectionsKept(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	cert, key := certificate(t, ca, func(*x509.Certificate) {})
	var resumed, conns, open atomic.Int64
	r := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
	}))
	r.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	r.StartTLS()
	defer r.Close()
	s := sender(t, Options{RootCAs: roots, Resolver: resolver(t, fixed("93.184.216.34"))}, limits{
		lookup: time.Second, connect: time.Second, handshake: time.Second, attempt: 5 * time.Second, idle: 2 * time.Second,
	})
	s.divert(r.URL, nil)
	connect := s.dialer.connect
	s.dialer.connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		conns.Add(1)
		return connect(ctx, to)
	}
	send := func() {
		t.Helper()
		if r := s.Send(t.Context(), message("https://hooks.example.com")); !r.Succeeded() {
			t.Fatalf("%+v", r)
		}
	}
	for range 20 {
		send()
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections", conns.Load())
	}
	until(t, "an idle connection stays open", func() bool { return open.Load() == 0 })
	send()
	if conns.Load() != 2 || resumed.Load() != 1 {
		t.Errorf("%d connections, %d resumed", conns.Load(), resumed.Load())
	}
}
