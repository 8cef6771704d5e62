// Package logmail writes mails to the log, where no mail server is set. In development
// their subject is there and the link that lets in, ready to be opened; elsewhere a log is
// no place for these, and links come from screens and commands.
package logmail

import (
	"context"
	"log/slog"
	"strings"

	"waybill/ports"
)

var _ ports.Mailer = (*Mailer)(nil)

// Mailer is ports.Mailer.
type Mailer struct {
	log   *slog.Logger
	shown bool
}

// New makes a mailer; a shown mail is there with its recipient, subject and link.
func New(log *slog.Logger, shown bool) *Mailer { return &Mailer{log: log, shown: shown} }

// Send writes a line.
func (m *Mailer) Send(ctx context.Context, message ports.MailMessage) error {
	fields := []any{"mail", message.ID, "kind", message.Kind}
	if m.shown {
		fields = append(fields, "mail_to", message.To, "mail_subject", message.Subject)
		if link := linkIn(message.Text); link != "" {
			fields = append(fields, "mail_link", link)
		}
	}
	m.log.InfoContext(ctx, "mail kept in this log: WAYBILL_SMTP_URL is empty", fields...)
	return nil
}

// linkIn is the link of a mail, which has a line of its own; empty: there is none.
func linkIn(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") {
			return line
		}
	}
	return ""
}

// Check is nil.
func (m *Mailer) Check(context.Context) error { return nil }
