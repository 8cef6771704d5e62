package mail

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/emersion/go-sasl"
	server "github.com/emersion/go-smtp"

	"waybill/domain"
	"waybill/ports"
)

// backend is a mail server that keeps what it takes.
type backend struct {
	mu       sync.Mutex
	taken    []string
	password string // that came in; empty: none did
	rcpt     error
	data     error
	offers   []string // mechanisms beside PLAIN, all of them refused
	greeted  string
	from     string
	to       []string
}

func (b *backend) NewSession(c *server.Conn) (server.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.greeted = c.Hostname()
	return &session{b}, nil
}

type session struct{ *backend }

func (s *session) AuthMechanisms() []string { return append(slices.Clone(s.offers), sasl.Plain) }
func (s *session) Auth(mechanism string) (sasl.Server, error) {
	if mechanism != sasl.Plain {
		return nil, server.ErrAuthFailed
	}
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.password = password; user != "ama" {
			return server.ErrAuthFailed
		}
		return nil
	}), nil
}
func (s *session) Mail(from string, _ *server.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = from
	return nil
}
func (s *session) Rcpt(to string, _ *server.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = append(s.to, to)
	return s.rcpt
}
func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data != nil {
		return s.data
	}
	s.taken = append(s.taken, string(text))
	return err
}
func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (b *backend) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken
}

// certificate is one for this machine, and a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// serve runs a mail server; implicit: TLS from the first byte; without a certificate it
// has no TLS at all.
func serve(t *testing.T, b *backend, cert *tls.Certificate, implicit bool) string {
	t.Helper()
	s := server.NewServer(b)
	s.Domain, s.AllowInsecureAuth = "mail.test", true
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if cert != nil {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
		if implicit {
			l = tls.NewListener(l, s.TLSConfig)
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-ended })
	return l.Addr().String()
}

func mailer(t *testing.T, url string, trusted *x509.CertPool) *SMTPMailer {
	t.Helper()
	m := NewSMTPMailer(url, "Waybill <no-reply@example.com>")
	if m.wrong != nil {
		t.Fatal(m.wrong)
	}
	m.tlsConfig.RootCAs, m.step = trusted, time.Second
	return m
}

func letter() ports.MailMessage {
	return ports.MailMessage{
		ID: domain.MakeID(domain.PrefixMail, [16]byte{1}), Kind: domain.MailSignInLink, To: "kofi@example.com",
		Name: "Kofi\r\nBcc: eve@example.com", Subject: "Osu\r\nBcc: eve@example.com", Text: "plain", HTML: "<p>rich</p>",
	}
}

func TestAMailGoesOutOverTLSWithAPassword(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t)
	for scheme, implicit := range map[string]bool{"smtp": false, "smtps": true} {
		b := &backend{}
		m := mailer(t, scheme+"://ama:secret@"+serve(t, b, &cert, implicit), pool)
		m.local = false // as if it were far away
		if err := errors.Join(m.Check(t.Context()), m.Send(t.Context(), letter())); err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		all := b.all()
		if len(all) != 1 || b.password != "secret" {
			t.Fatalf("%s: %d mails came, with the password %q", scheme, len(all), b.password)
		}
		head, body, _ := strings.Cut(all[0], "\r\n\r\n")
		for _, want := range []string{"Message-ID: <01000000000000000000000000000000@example.com>", "Auto-Submitted: auto-generated",
			"multipart/alternative"} {
			if !strings.Contains(head, want) {
				t.Errorf("%s: the head lacks %q\n%s", scheme, want, head)
			}
		}
		for line := range strings.SplitSeq(head, "\r\n") {
			if strings.HasPrefix(strings.ToLower(line), "bcc") {
				t.Errorf("%s: a name became a header: %q", scheme, line)
			}
		}
		if !strings.Contains(body, "plain") || !strings.Contains(body, "rich") {
			t.Errorf("%s: %s", scheme, body)
		}
	}
}

func TestNothingIsSentWithoutTLSToAnotherMachine(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t)
	for name, c := range map[string]struct {
		url     string
		cert    *tls.Certificate
		trusted *x509.CertPool
	}{
		"no STARTTLS":                                   {"smtp://%", nil, pool},
		"no STARTTLS, with a password":                  {"smtp://ama:secret@%", nil, pool},
		"STARTTLS is optional, but a password is there": {"smtp://ama:secret@%?starttls=optional", nil, pool},
		"an unknown certificate":                        {"smtp://ama:secret@%", &cert, x509.NewCertPool()},
	} {
		b := &backend{}
		m := mailer(t, strings.Replace(c.url, "%", serve(t, b, c.cert, false), 1), c.trusted)
		m.local = false
		if err := m.Send(t.Context(), letter()); err == nil || errors.Is(err, ports.ErrMailRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if len(b.all()) != 0 || b.password != "" {
			t.Errorf("%s: %d mails came, and the password %q", name, len(b.all()), b.password)
		}
	}
	b := &backend{}
	m := mailer(t, "smtp://"+serve(t, b, nil, false)+"?starttls=optional", pool)
	m.local = false
	if err := m.Send(t.Context(), letter()); err != nil || len(b.all()) != 1 {
		t.Errorf("a relay without TLS that is allowed: %v", err)
	}
}

func TestOnlyARecipientThatIsRefusedForGoodIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer *server.SMTPError
		good   bool // for good
	}{
		"unknown":        {&server.SMTPError{Code: 550, EnhancedCode: server.EnhancedCode{5, 1, 1}, Message: "unknown"}, true},
		"a policy":       {&server.SMTPError{Code: 550, EnhancedCode: server.EnhancedCode{5, 7, 1}, Message: "relay access denied"}, false},
		"a full mailbox": {&server.SMTPError{Code: 452, EnhancedCode: server.EnhancedCode{4, 2, 2}, Message: "full"}, false},
		"greylisting":    {&server.SMTPError{Code: 451, EnhancedCode: server.EnhancedCode{4, 7, 1}, Message: "later"}, false},
	} {
		m := mailer(t, "smtp://"+serve(t, &backend{rcpt: c.answer}, nil, false), nil)
		if err := m.Send(t.Context(), letter()); err == nil || errors.Is(err, ports.ErrMailRefused) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATextThatIsRefusedForGoodIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer *server.SMTPError
		good   bool // for good
	}{
		"no reason":  {&server.SMTPError{Code: 554, EnhancedCode: server.NoEnhancedCode, Message: "no"}, true},
		"content":    {&server.SMTPError{Code: 550, EnhancedCode: server.EnhancedCode{5, 6, 0}, Message: "malformed"}, true},
		"too large":  {&server.SMTPError{Code: 552, EnhancedCode: server.EnhancedCode{5, 3, 4}, Message: "too large"}, true},
		"a policy":   {&server.SMTPError{Code: 554, EnhancedCode: server.EnhancedCode{5, 7, 1}, Message: "policy"}, false},
		"a bad time": {&server.SMTPError{Code: 451, EnhancedCode: server.EnhancedCode{4, 3, 0}, Message: "later"}, false},
	} {
		m := mailer(t, "smtp://"+serve(t, &backend{data: c.answer}, nil, false), nil)
		if err := m.Send(t.Context(), letter()); err == nil || errors.Is(err, ports.ErrMailRefused) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnyNameCanBeSentAndReachesItsAddressAlone(t *testing.T) {
	t.Parallel()
	b := &backend{}
	m := mailer(t, "smtp://"+serve(t, b, nil, false), nil)
	for i, name := range []string{
		"Ama Mensah\\", `Kofi "KO" Mensah`, `a\"`, `\`, `"`, "Mensah, Ama", `x" <eve@example.com>, "y`, "Ama <eve@example.com>", "eve@example.com",
		"(comment", "Ama; eve@example.com:", "=?utf-8?q?a?= <eve@example.com>", "Ama\r\nBcc: eve@example.com", "Ama\x00\x7f", "Kwabena Ɔsei 📦",
		strings.Repeat("Ɔ", 128), strings.Repeat("a b", 42), "<>", "", "\xff\xfe",
	} {
		of := letter()
		of.Name = name
		if err := m.Send(t.Context(), of); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		msg, err := netmail.ReadMessage(strings.NewReader(b.all()[len(b.all())-1]))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		to, err := msg.Header.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Address != string(of.To) || msg.Header.Get("Bcc") != "" || len(b.to) != i+1 || b.to[i] != string(of.To) {
			t.Errorf("%q: To is %v (%v), the server got %v", name, to, err, b.to)
		}
		if odd := !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n\x00"); err == nil && !odd && to[0].Name != name {
			t.Errorf("the name %q arrives as %q", name, to[0].Name)
		}
	}
}

func TestAMechanismThatIsOfferedAndRefusedIsNotUsedUnderTLS(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t)
	for _, url := range []string{"smtp://ama:secret@%", "smtp://ama:secret@%?starttls=optional"} {
		b := &backend{offers: []string{"GSSAPI", "NTLM"}}
		m := mailer(t, strings.Replace(url, "%", serve(t, b, &cert, false), 1), pool)
		m.local = false
		if err := m.Check(t.Context()); err != nil || b.password != "secret" {
			t.Errorf("%s: %v, with the password %q", url, err, b.password)
		}
	}
	b := &backend{offers: []string{"SCRAM-SHA-256", "NTLM", "CRAM-MD5"}}
	m := mailer(t, "smtp://ama:secret@"+serve(t, b, &cert, false), pool)
	m.local = false
	if err := m.Check(t.Context()); err != nil || b.password != "secret" {
		t.Errorf("PLAIN beside others: %v, with the password %q", err, b.password)
	}
}

func TestASenderInADomainOfOtherLettersIsWrittenInASCII(t *testing.T) {
	t.Parallel()
	b := &backend{}
	m := NewSMTPMailer("smtp://"+serve(t, b, nil, false), "Wäybill <no-reply@Bücher.example>")
	of := letter()
	of.To = "kofi@xn--bcher-kva.example"
	if err := m.Send(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	msg, err := netmail.ReadMessage(strings.NewReader(b.all()[0]))
	if err != nil {
		t.Fatal(err)
	}
	const ascii = "xn--bcher-kva.example"
	from, err := msg.Header.AddressList("From")
	if err != nil || from[0].Name != "Wäybill" || from[0].Address != "no-reply@"+ascii || b.from != "no-reply@"+ascii || b.greeted != ascii {
		t.Errorf("From is %v (%v), MAIL FROM %q, EHLO %q", from, err, b.from, b.greeted)
	}
	if id := msg.Header.Get("Message-ID"); !strings.HasSuffix(id, "@"+ascii+">") || b.to[0] != "kofi@"+ascii {
		t.Errorf("Message-ID is %q, RCPT TO %v", id, b.to)
	}
	for _, from := range []string{"bücher@example.com", "no-reply@xn--ü.example"} {
		if err := NewSMTPMailer("smtp://127.0.0.1:1", from).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "the sender") {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// serveLines answers each connection with what say does.
func serveLines(t *testing.T, say func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); say(c) }()
		}
	}()
	return l.Addr().String()
}

func TestAServerThatIsSilentSlowOrGoneHoldsNoSender(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(net.Conn){
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"slow": func(c net.Conn) { // a byte at a time, for ever
			for {
				if _, err := c.Write([]byte("2")); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		},
		"gone at once": func(net.Conn) {},
	} {
		m := mailer(t, "smtp://"+serveLines(t, say), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		begun := time.Now()
		err := m.Send(ctx, letter())
		cancel()
		if err == nil || time.Since(begun) > 15*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(begun))
		}
	}
	m := mailer(t, "smtp://127.0.0.1:1", nil)
	if err := m.Send(t.Context(), letter()); err == nil {
		t.Error("a mail went to a port where nothing listens")
	}
}
