package mail

import (
	"context"
	"log/slog"
	"strings"

	"waybill/ports"
)

var _ ports.Mailer = (*LogMailer)(nil)

// LogMailer is a ports.Mailer that writes emails to the log.
type LogMailer struct {
	log   *slog.Logger
	shown bool
}

// NewLogMailer returns a mailer. shown adds recipient, subject and link to each line.
func NewLogMailer(log *slog.Logger, shown bool) *LogMailer { return &LogMailer{log: log, shown: shown} }

// Send writes one line.
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

// linkIn returns the link of an email, which has its own line. It is empty if there is none.
func linkIn(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") {
			return line
		}
	}
	return ""
}

// Check always succeeds.
func (m *LogMailer) Check(context.Context) error { return nil }
