package mail

import (
	"context"
	"log/slog"
	"strings"

	"waybill/ports"
)

var _ ports.Mailer = (*LogMailer)(nil)

// LogMailer is ports.LogMailer.
type LogMailer struct {
	log   *slog.Logger
	shown bool
}

// NewLogMailer makes a mailer; a shown mail is there with its recipient, subject and link.
func NewLogMailer(log *slog.Logger, shown bool) *LogMailer { return &LogMailer{log: log, shown: shown} }

// Send writes a line.
func (m *LogMailer) Send(ctx context.Context, message ports.MailMessage) error {
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
func (m *LogMailer) Check(context.Context) error { return nil }
