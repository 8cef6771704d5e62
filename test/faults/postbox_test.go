package faults

import (
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	smtp "github.com/emersion/go-smtp"
)

// takesFor is how long a postbox is busy with a mail, as real ones are: with many mails
// one worker is still at it when the next one looks.
const takesFor = 150 * time.Millisecond

// postbox is a mail server that keeps what it takes. It can be gone for a while.
type postbox struct {
	address string

	mu    sync.Mutex
	mails []posted
	end   func() // nil: it is gone
}

// posted is a mail that was taken.
type posted struct {
	to      string // by the envelope
	kind    string
	id      string
	subject string
	text    string
	html    string
}

// newPostbox is gone until it opens.
func newPostbox(t *testing.T) *postbox {
	t.Helper()
	b := &postbox{address: freeAddress(t)}
	t.Cleanup(b.close)
	return b
}

// open takes mails from now on.
func (b *postbox) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &delivering{t: t, box: b}, nil }))
	server.Domain = "mail.test"
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = server.Serve(l) // until it is closed
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = func() {
		_ = server.Close()
		<-over
	}
}

// close makes the address refuse connections from now on.
func (b *postbox) close() {
	b.mu.Lock()
	end := b.end
	b.end = nil
	b.mu.Unlock()
	if end != nil {
		end()
	}
}

// all is the mails of a kind for an address.
func (b *postbox) all(to, kind string) (found []posted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.mails {
		if m.to == to && m.kind == kind {
			found = append(found, m)
		}
	}
	return found
}

// list is what was taken, as recipients with kinds, in order.
func (b *postbox) list() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.mails {
		all = append(all, m.to+" "+m.kind)
	}
	slices.Sort(all)
	return all
}

// delivering is one session.
type delivering struct {
	t   *testing.T
	box *postbox
	to  []string
}

func (d *delivering) Mail(string, *smtp.MailOptions) error { return nil }
func (d *delivering) Rcpt(to string, _ *smtp.RcptOptions) error {
	d.to = append(d.to, to)
	return nil
}
func (d *delivering) Reset()        { d.to = nil }
func (d *delivering) Logout() error { return nil }

func (d *delivering) Data(r io.Reader) error {
	m, err := readMail(r)
	if err != nil || len(d.to) != 1 {
		d.t.Errorf("a mail to %v cannot be read: %v", d.to, err)
		return nil
	}
	if addressed, err := netmail.ParseAddress(m.to); err != nil || addressed.Address != d.to[0] || addressed.Name == "" {
		d.t.Errorf("a mail is addressed to %q and handed over for %s", m.to, d.to[0])
	}
	m.to = d.to[0]
	time.Sleep(takesFor)
	d.box.mu.Lock()
	defer d.box.mu.Unlock()
	d.box.mails = append(d.box.mails, m)
	return nil
}

func readMail(r io.Reader) (m posted, err error) {
	read, err := netmail.ReadMessage(r)
	if err != nil {
		return m, err
	}
	h := read.Header
	m = posted{to: h.Get("To"), kind: h.Get("X-Waybill-Mail"), id: h.Get("Message-Id")}
	if m.subject, err = new(mime.WordDecoder).DecodeHeader(h.Get("Subject")); err != nil {
		return m, err
	}
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return m, err
	}
	parts := multipart.NewReader(read.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		body := io.Reader(part)
		if part.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			body = quotedprintable.NewReader(part)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			return m, err
		}
		switch kind, _, _ := strings.Cut(part.Header.Get("Content-Type"), ";"); kind {
		case "text/plain":
			m.text = string(text)
		case "text/html":
			m.html = string(text)
		}
	}
}
