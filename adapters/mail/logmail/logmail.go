// Package logmail writes mails to the log, where no mail server is set. In development
// their text is there, with the link that lets in; elsewhere a log is no place for it,
// and links come from screens and commands.
package logmail

import (
	"context"
	"log/slog"

	"waybill/ports"
)

var _ ports.Mailer = (*Mailer)(nil)

// Mailer is ports.Mailer.
type Mailer struct {
	log   *slog.Logger
	whole bool
}

// New makes a mailer; whole ones show the text.
func New(log *slog.Logger, whole bool) *Mailer { return &Mailer{log: log, whole: whole} }

// Send writes a line.
func (m *Mailer) Send(ctx context.Context, message ports.MailMessage) error {
	fields := []any{"mail", message.ID, "kind", message.Kind}
	if m.whole {
		fields = append(fields, "mail_to", message.To, "mail_subject", message.Subject, "mail_text", message.Text)
	}
	m.log.InfoContext(ctx, "mail to nowhere: WAYBILL_SMTP_URL is empty", fields...)
	return nil
}

// Check is nil.
func (m *Mailer) Check(context.Context) error { return nil }
