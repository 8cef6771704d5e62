package main

import (
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"waybill/adapters/cli/doctor"
)

// visited is a mail server that checks the password, and counts mails.
type visited struct {
	smtp.Session
	mails *atomic.Int32
}

func (visited) AuthMechanisms() []string { return []string{sasl.Plain} }
func (visited) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, password string) error {
		if password != "hunter22" {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (v visited) Mail(string, *smtp.MailOptions) error {
	v.mails.Add(1)
	return nil
}
func (visited) Reset()        {}
func (visited) Logout() error { return nil }

func TestTheDoctorTriesTheMailServerAndSendsNothing(t *testing.T) {
	t.Parallel()
	var mails atomic.Int32
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return visited{mails: &mails}, nil }))
	server.AllowInsecureAuth = true
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = server.Serve(l) // until it is closed
	}()
	at, dir := l.Addr().String(), filepath.Join(t.TempDir(), "new")
	const from = "WAYBILL_MAIL_FROM=no-reply@example.com"
	found(t, examined(t, dir), doctor.VerdictOK, "mail", "no mail server", "WAYBILL_SMTP_URL")
	found(t, examined(t, dir, from, "WAYBILL_SMTP_URL=smtp://ama:hunter22@"+at), doctor.VerdictOK, "mail", at, "would take mails")
	found(t, examined(t, dir, from, "WAYBILL_SMTP_URL=smtp://ama:hunter222@"+at), doctor.VerdictFail, "mail", at, "would take no mail",
		"until then mails wait")
	if n := mails.Load(); n != 0 {
		t.Errorf("%d mails were begun", n)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	<-over
	found(t, examined(t, dir, from, "WAYBILL_SMTP_URL=smtp://ama:hunter22@"+at), doctor.VerdictFail, "mail", at, "connection refused",
		"start the mail server")
	found(t, examined(t, dir, "WAYBILL_SMTP_URL=smtp://ama:hunter22@"+at), doctor.VerdictFail, "settings", "WAYBILL_MAIL_FROM is not")
}
