// Package smtp sends mails through an SMTP server.
//
// smtps:// is TLS from the first byte; smtp:// is STARTTLS, without which nothing is
// sent: mails carry links that let people in. Two exceptions: a server on this machine,
// and one whose address ends in ?starttls=optional, such as a relay in a private
// network. A password goes to neither of them in the clear unless the server is on this
// machine. Certificates are checked against those of the system.
//
// Each mail has a connection of its own: there are few, and a connection that died
// without a word in the meantime would cost more than a handshake. Every step has a
// deadline and all of them together have one too, so that neither a server that says
// nothing nor one that says a byte at a time holds a sender.
package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"waybill/ports"
)

const (
	// stepTimeout is how long the server may be silent.
	stepTimeout = 10 * time.Second
	// checkTimeout is how long a check may take.
	checkTimeout = 8 * time.Second
)

var _ ports.Mailer = (*Mailer)(nil)

// Mailer sends through one server.
type Mailer struct {
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

// New makes a mailer from an address such as smtp://user:password@host:587, and the
// sender, such as "Waybill <no-reply@example.com>". Both were checked with the settings;
// a fault that is left is the error of every Send.
func New(address, from string) *Mailer {
	u, err := url.Parse(address)
	if err != nil {
		return &Mailer{wrong: errors.New("the address of the mail server cannot be read")} // the cause has the password in it
	}
	sender, err := netmail.ParseAddress(from)
	if err != nil {
		return &Mailer{wrong: fmt.Errorf("the sender %q is no e-mail address: %w", from, err)}
	}
	m := &Mailer{
		host: u.Hostname(), port: 587, implicit: u.Scheme == "smtps", optional: u.Query().Get("starttls") == "optional",
		local: loopback(u.Hostname()), user: u.User.Username(), from: *sender, step: stepTimeout,
	}
	m.password, _ = u.User.Password()
	_, m.idDomain, _ = strings.Cut(sender.Address, "@")
	m.tlsConfig = &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}
	if m.implicit {
		m.port = 465
	}
	if u.Port() != "" {
		m.port, m.wrong = strconv.Atoi(u.Port())
	}
	return m
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Send hands one mail to the server.
func (m *Mailer) Send(ctx context.Context, message ports.MailMessage) error {
	ctx, cancel := context.WithTimeout(ctx, ports.MailTimeout)
	defer cancel()
	client, line, err := m.client()
	if err != nil {
		return err
	}
	defer line.close()
	msg, err := m.message(message)
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return m.explain("no session with the mail server", err)
	}
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
func (m *Mailer) Check(ctx context.Context) error {
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

func (m *Mailer) explain(what string, err error) error {
	return fmt.Errorf("%s %s: %w", what, net.JoinHostPort(m.host, strconv.Itoa(m.port)), err)
}

// refused reports whether the server will never deliver the mail: it said so of the
// recipient, and gave no reason that may be changed, such as a policy or a full mailbox.
func refused(err error) bool {
	var failed *mail.SendError
	if !errors.As(err, &failed) || failed.Reason != mail.ErrSMTPRcptTo {
		return false
	}
	switch status := failed.EnhancedStatusCode(); {
	case strings.HasPrefix(status, "5."):
		return strings.HasPrefix(status, "5.1.")
	default:
		return status == "" && (failed.ErrorCode() == 550 || failed.ErrorCode() == 551 || failed.ErrorCode() == 553)
	}
}

// client is a new one for each mail: it keeps state.
func (m *Mailer) client() (*mail.Client, *line, error) {
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
		options = append(options, mail.WithUsername(m.user), mail.WithPassword(m.password))
		if m.local {
			options = append(options, mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlainNoEnc,
				mail.SMTPAuthLoginNoEnc))
		} else {
			// Without TLS it takes only what does not show the password, or nothing.
			options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover))
		}
	}
	client, err := mail.NewClient(m.host, options...)
	return client, l, err
}

func (m *Mailer) policy() mail.TLSPolicy {
	if m.implicit || m.optional || m.local {
		return mail.TLSOpportunistic // implicit: the connection has TLS already
	}
	return mail.TLSMandatory
}

func (m *Mailer) dial(ctx context.Context, network, address string, l *line) (net.Conn, error) {
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

// message is the mail in the form in which it goes over the wire.
func (m *Mailer) message(of ports.MailMessage) (*mail.Msg, error) {
	msg := mail.NewMsg()
	if err := msg.FromFormat(m.from.Name, m.from.Address); err != nil {
		return nil, fmt.Errorf("the sender: %w", err)
	}
	if err := msg.AddToFormat(oneLine(of.Name), string(of.To)); err != nil {
		return nil, fmt.Errorf("the recipient: %w", err)
	}
	msg.Subject(oneLine(of.Subject))
	msg.SetDate()
	msg.SetMessageIDWithValue(of.ID.Hex() + "@" + m.idDomain) // the same at each attempt
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Waybill-Mail", string(of.Kind))
	msg.SetBodyString(mail.TypeTextPlain, of.Text)
	msg.AddAlternativeString(mail.TypeTextHTML, of.HTML)
	return msg, nil
}

// oneLine keeps a text from ending its header and beginning another one.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085'
	}), " ")
}
