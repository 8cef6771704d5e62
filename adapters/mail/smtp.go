package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
	"golang.org/x/net/idna"

	"waybill/ports"
)

const (
	// stepTimeout is how long the server may be silent.
	stepTimeout = 10 * time.Second
	// checkTimeout is how long a check may take.
	checkTimeout = 8 * time.Second
)

var _ ports.Mailer = (*SMTPMailer)(nil)

// SMTPMailer sends through one server.
type SMTPMailer struct {
	host      string
	port      int
	implicit  bool // TLS from the first byte
	optional  bool // without TLS where the server has none
	local     bool // the server is on this machine
	user      string
	password  string
	from      netmail.Address
	idDomain  string
	tlsConfig *tls.Config
	step      time.Duration
	wrong     error // nothing can be sent
}

// NewSMTPMailer makes a mailer from an address such as smtp://user:password@host:587, and the
// sender, such as "Waybill <no-reply@example.com>". Both were checked with the settings;
// a fault that is left is the error of every Send.
func NewSMTPMailer(address, from string) *SMTPMailer {
	u, err := url.Parse(address)
	if err != nil {
		return &SMTPMailer{wrong: errors.New("the address of the mail server cannot be read")} // the cause has the password in it
	}
	sender, err := netmail.ParseAddress(from)
	if err != nil {
		return &SMTPMailer{wrong: fmt.Errorf("the sender %q is no e-mail address: %w", from, err)}
	}
	m := &SMTPMailer{
		host: u.Hostname(), port: 587, implicit: u.Scheme == "smtps", optional: u.Query().Get("starttls") == "optional",
		local: loopback(u.Hostname()), user: u.User.Username(), from: *sender, step: stepTimeout,
	}
	m.password, _ = u.User.Password()
	if m.from.Address, err = asciiAddress(sender.Address); err != nil {
		return &SMTPMailer{wrong: err}
	}
	_, m.idDomain, _ = strings.Cut(m.from.Address, "@")
	m.tlsConfig = &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}
	if m.implicit {
		m.port = 465
	}
	if u.Port() != "" {
		m.port, m.wrong = strconv.Atoi(u.Port())
	}
	return m
}

// asciiAddress returns an address with its domain in ASCII. A local part in other letters
// has no such form.
func asciiAddress(address string) (string, error) {
	at := strings.LastIndex(address, "@")
	if i := strings.IndexFunc(address[:at], notASCII); i >= 0 {
		return "", fmt.Errorf("the sender %s has characters outside ASCII before the @", address)
	}
	if strings.IndexFunc(address, notASCII) < 0 {
		return address, nil
	}
	domain, err := idna.Lookup.ToASCII(address[at+1:])
	if err != nil {
		return "", fmt.Errorf("the domain of the sender %s has no ASCII form: %w", address, err)
	}
	return address[:at+1] + domain, nil
}

func notASCII(r rune) bool { return r > unicode.MaxASCII }

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Send hands one mail to the server.
func (m *SMTPMailer) Send(ctx context.Context, message ports.MailMessage) error {
	ctx, cancel := context.WithTimeout(ctx, ports.MailTimeout)
	defer cancel()
	client, line, err := m.client()
	if err != nil {
		return err
	}
	defer line.close()
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return m.explain("no session with the mail server", err)
	}
	msg := m.message(message)
	err = client.SendWithSMTPClient(session, msg)
	if msg.IsDelivered() {
		err = nil // the failure came after the server had accepted it
		_ = client.CloseWithSMTPClient(session)
	}
	if refused(err) {
		return fmt.Errorf("%w: %w", ports.ErrMailRefused, err)
	}
	if err != nil {
		return m.explain("the mail was not taken", err)
	}
	return nil
}

// Check opens a session and signs in.
func (m *SMTPMailer) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client, line, err := m.client()
	if err != nil {
		return err
	}
	defer line.close()
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return m.explain("no session with the mail server", err)
	}
	return client.CloseWithSMTPClient(session)
}

func (m *SMTPMailer) explain(what string, err error) error {
	return fmt.Errorf("%s %s: %w", what, net.JoinHostPort(m.host, strconv.Itoa(m.port)), err)
}

// refused reports whether the server will never deliver the mail: it said so of the
// recipient or of the text, and gave no reason that may be changed, such as a policy or a
// full mailbox.
func refused(err error) bool {
	var failed *mail.SendError
	if !errors.As(err, &failed) {
		return false
	}
	status, code := failed.EnhancedStatusCode(), failed.ErrorCode()
	switch failed.Reason {
	case mail.ErrSMTPRcptTo:
		if strings.HasPrefix(status, "5.") {
			return strings.HasPrefix(status, "5.1.")
		}
		return status == "" && (code == 550 || code == 551 || code == 553)
	case mail.ErrSMTPDataClose: // the answer to the text of the mail
		if strings.HasPrefix(status, "5.") {
			return strings.HasPrefix(status, "5.1.") || strings.HasPrefix(status, "5.6.") || status == tooLarge
		}
		return status == "" && code >= 500 && code < 600
	}
	return false
}

// tooLarge is the enhanced status of a mail that is larger than the server takes.
const tooLarge = "5.3.4"

// client is a new one for each mail: it keeps state.
func (m *SMTPMailer) client() (*mail.Client, *line, error) {
	if m.wrong != nil {
		return nil, nil, m.wrong
	}
	l := &line{}
	options := []mail.Option{
		mail.WithPort(m.port), mail.WithTLSConfig(m.tlsConfig.Clone()), mail.WithTimeout(ports.MailTimeout), mail.WithHELO(m.idDomain),
		mail.WithoutNoop(), mail.WithTLSPolicy(m.policy()), mail.WithoutSMTPUTF8(),
		mail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			return m.dial(ctx, network, address, l)
		}),
	}
	if m.user != "" {
		options = append(options, mail.WithSMTPAuthCustom(&signIn{mailer: m}))
	}
	client, err := mail.NewClient(m.host, options...)
	return client, l, err
}

// signIn is the first mechanism of a list that the server offers.
type signIn struct {
	mailer *SMTPMailer
	smtp.Auth
}

// Start begins to sign in. Without TLS it takes only what does not show the password, unless
// the server is on this machine.
func (s *signIn) Start(server *smtp.ServerInfo) (mechanism string, first []byte, err error) {
	m := s.mailer
	secured := m.implicit || server.TLS
	plain := []string{"PLAIN", "LOGIN"}
	ways := []string{"SCRAM-SHA-256", "SCRAM-SHA-1", "CRAM-MD5"}
	switch {
	case secured:
		ways = append(plain, ways...)
	case m.local:
		ways = append(ways[:2], plain...)
	}
	for _, way := range ways {
		if !slices.ContainsFunc(server.Auth, func(offered string) bool { return strings.EqualFold(offered, way) }) {
			continue
		}
		switch way {
		case "PLAIN":
			s.Auth = smtp.PlainAuth("", m.user, m.password, m.host, true)
		case "LOGIN":
			s.Auth = smtp.LoginAuth(m.user, m.password, m.host, true)
		case "SCRAM-SHA-256":
			s.Auth = smtp.ScramSHA256Auth(m.user, m.password)
		case "SCRAM-SHA-1":
			s.Auth = smtp.ScramSHA1Auth(m.user, m.password)
		case "CRAM-MD5":
			s.Auth = smtp.CRAMMD5Auth(m.user, m.password)
		}
		return s.Auth.Start(server)
	}
	return "", nil, fmt.Errorf("the server offers to sign in by %s, and this needs one of %s",
		cmp.Or(strings.Join(server.Auth, ", "), "no mechanism"), strings.Join(ways, ", "))
}

func (m *SMTPMailer) policy() mail.TLSPolicy {
	if m.implicit || m.optional || m.local {
		return mail.TLSOpportunistic // implicit: the connection has TLS already
	}
	return mail.TLSMandatory
}

func (m *SMTPMailer) dial(ctx context.Context, network, address string, l *line) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: m.step}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	end, _ := ctx.Deadline()
	l.Conn, l.step, l.end = conn, m.step, end
	if !m.implicit {
		return l, nil
	}
	secured := tls.Client(l, m.tlsConfig.Clone())
	if err := secured.HandshakeContext(ctx); err != nil {
		l.close()
		return nil, err
	}
	return secured, nil
}

// line is a connection on which every read and write has a deadline, and all of them
// together one too. A deadline that its user sets is ignored.
type line struct {
	net.Conn
	step time.Duration
	end  time.Time
}

func (l *line) next() time.Time {
	next := time.Now().Add(l.step)
	if !l.end.IsZero() && l.end.Before(next) {
		return l.end
	}
	return next
}

func (l *line) Read(p []byte) (int, error) {
	if err := l.Conn.SetReadDeadline(l.next()); err != nil {
		return 0, err
	}
	return l.Conn.Read(p)
}

func (l *line) Write(p []byte) (int, error) {
	if err := l.Conn.SetWriteDeadline(l.next()); err != nil {
		return 0, err
	}
	return l.Conn.Write(p)
}

func (l *line) SetDeadline(time.Time) error      { return nil }
func (l *line) SetReadDeadline(time.Time) error  { return nil }
func (l *line) SetWriteDeadline(time.Time) error { return nil }

// close ends the connection, whatever state it is in.
func (l *line) close() {
	if l.Conn != nil {
		_ = l.Conn.Close()
	}
}

// message returns the mail in the form in which it goes over the wire. Names are quoted or
// encoded by net/mail, whatever is in them.
func (m *SMTPMailer) message(of ports.MailMessage) *mail.Msg {
	msg := mail.NewMsg()
	msg.FromMailAddress(&m.from)
	msg.AddToMailAddress(&netmail.Address{Name: oneLine(of.Name), Address: string(of.To)})
	msg.Subject(oneLine(of.Subject))
	msg.SetDate()
	msg.SetMessageIDWithValue(of.ID.Hex() + "@" + m.idDomain) // the same at each attempt
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Waybill-Mail", string(of.Kind))
	msg.SetBodyString(mail.TypeTextPlain, of.Text)
	msg.AddAlternativeString(mail.TypeTextHTML, of.HTML)
	return msg
}

// oneLine keeps a text from ending its header and beginning another one.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085'
	}), " ")
}
