package docsite

import (
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// mailRow describes one kind of mail.
type mailRow struct{ Kind, When, To, Tried string }

// mailCauses explains what causes each kind of mail.
var mailCauses = map[domain.MailKind]string{
	domain.MailInvitation: "A person is invited: by an owner, by an operator, or by a command.",
	domain.MailSignInLink: "A link is asked for on the sign-in page, or made for a person who has an account.",
	domain.MailNewDevice:  "A person signs in from a browser that is not known, and has used another one before.",

	domain.MailPasskeyAdded:       "A passkey is added to an account.",
	domain.MailPasskeyRemoved:     "A passkey is removed from an account.",
	domain.MailPasswordSet:        "An account gets its first password.",
	domain.MailPasswordChanged:    "A password is changed.",
	domain.MailIdentityConnected:  "An account at the identity provider is connected.",
	domain.MailCredentialsRemoved: "A person leaves the staff by the rules of the identity provider, and had a password or passkeys.",
	domain.MailAccountChanges:     "A person has had " + strconv.Itoa(domain.MailsAnHourToOne) + " of the mails above in an hour. It joins further ones.",

	domain.MailKeyCreated: "An API key is created.",
	domain.MailKeyRotated: "An API key is rotated.",
	domain.MailKeyRevoked: "An API key is revoked.",
	domain.MailKeyExpires: "An API key expires within " + duration(domain.TellExpiry) + ", and was made for longer than that.",

	domain.MailKeyChanges: "A person has had " + strconv.Itoa(domain.MailsAnHourToOne) + " of the mails above in an hour, or the business " +
		strconv.Itoa(domain.MailsADayOfBusiness) + " in a day. It joins further ones.",

	domain.MailEndpointFailing: "A webhook endpoint has failed for " + duration(domain.WarnAfter) +
		" and will be disabled unless it answers.",
	domain.MailEndpointDisabled:  "A webhook endpoint is disabled because of its answers.",
	domain.MailEndpointRecovered: "An endpoint that was failing answers again, or a disabled one is enabled. At most once an hour.",
	domain.MailEndpointChanges: "A person has had " + strconv.Itoa(domain.MailsAnHourToOne) + " of the mails above in an hour, or the business " +
		strconv.Itoa(domain.MailsADayOfBusiness) + " in a day. It joins further ones.",
}

func mailRows() []mailRow {
	rows := make([]mailRow, 0, len(domain.MailKinds()))
	for _, kind := range domain.MailKinds() {
		row := mailRow{Kind: string(kind), When: mailCauses[kind], To: "the person", Tried: duration(kind.Lifetime())}
		var roles []string
		for _, role := range kind.Roles() {
			roles = append(roles, string(role)+"s")
		}
		if len(roles) > 0 {
			row.To = strings.Join(roles, " and ") + " of the business"
		}
		rows = append(rows, row)
	}
	return rows
}

// mailWaits lists the pauses between attempts to send a mail.
func mailWaits() string {
	var waits []string
	at := time.Unix(0, 0)
	m := domain.Mail{ExpiresAt: at.Add(1000 * time.Hour)}
	for last := time.Duration(0); ; {
		m.Attempts++
		next, _ := m.NextAttempt(at)
		wait := next.Sub(at)
		if wait == last {
			return strings.Join(waits[:len(waits)-1], ", ") + ", and then every " + waits[len(waits)-1]
		}
		waits, last = append(waits, duration(wait)), wait
	}
}
