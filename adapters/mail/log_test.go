package mail_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"waybill/adapters/mail"
	"waybill/domain"
	"waybill/ports"
)

func TestOnlyADeveloperReadsSubjectAndLinkInTheLog(t *testing.T) {
	t.Parallel()
	const link = "https://portal.example.com/enter/secret"
	message := ports.MailMessage{ID: "mail_1", Kind: domain.MailInvitation, To: "ama@example.com", Subject: "Come into the portal",
		Text: "Hello Ama,\n\nyou are invited.\n\nOpen it:\n" + link + "\n\n--\nWaybill"}
	for _, shown := range []bool{true, false} {
		var out bytes.Buffer
		if err := mail.NewLogMailer(slog.New(slog.NewTextHandler(&out, nil)), shown).Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		line := out.String()
		for _, part := range []string{"mail_link=" + link + "\n", `mail_subject="` + message.Subject + `"`, "mail_to=ama@example.com"} {
			if strings.Contains(line, part) != shown {
				t.Errorf("shown %v: %q is there %v in %s", shown, part, !shown, line)
			}
		}
		if strings.Contains(line, `\n`) || strings.Contains(line, "secret") != shown || strings.Count(line, "\n") != 1 {
			t.Errorf("shown %v: %s", shown, line)
		}
	}
}
