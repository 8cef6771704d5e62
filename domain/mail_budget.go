package domain

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// CodeTooManyMails refuses a person who has had too many mails sent.
const CodeTooManyMails = "TOO_MANY_MAILS"

// MailBudget names mails that are counted together, so that people cannot flood a mailbox. Each
// business has its own budgets. Invitations over budget are refused; notices over budget are joined
// into one mail an hour. A mail without a budget is not limited here, since no signed-in person
// causes it. An invitation that anybody requests again has a budget: it would not be sent without
// the business, which chose the address.
type MailBudget string

// The budgets. Live and sandbox have separate ones, so that sandbox keys cannot hide a live one.
const (
	BudgetInvitations      MailBudget = "invitations"       // also links; sent by people of a business
	BudgetStaffInvitations MailBudget = "staff_invitations" // sent by staff, for one business
	BudgetAskedInvitations MailBudget = "invitations_asked" // requested again by anybody; separate, so that nobody uses up the budget of the business
	BudgetAccount          MailBudget = "account"           // notices to a person about the own account
	BudgetLiveKeys         MailBudget = "keys_live"
	BudgetSandboxKeys      MailBudget = "keys_sandbox"
	BudgetLiveEndpoints    MailBudget = "endpoints_live"
	BudgetSandboxEndpoints MailBudget = "endpoints_sandbox"
)

// The limits of the budgets.
const (
	MailsAnHourToOne    = 5  // from one business to one mailbox
	InvitationsAnHour   = 20 // from one business
	MailsADayOfBusiness = 50 // from one business
	AskedADayToOne      = 2  // invitations to one business, requested again by anybody for one mailbox
)

// keyBudget returns the budget of notices about keys of an environment.
func keyBudget(e Environment) MailBudget {
	if e == Live {
		return BudgetLiveKeys
	}
	return BudgetSandboxKeys
}

func endpointBudget(e Environment) MailBudget {
	if e == Live {
		return BudgetLiveEndpoints
	}
	return BudgetSandboxEndpoints
}

// InvitationBudget returns the budget of the invitations and links of an actor. Tokens and commands
// have none: they are programs and operators of the delivery company.
func InvitationBudget(by AuditActor) MailBudget {
	switch {
	case !by.IsPerson():
		return ""
	case by.BusinessID == "":
		return BudgetStaffInvitations
	}
	return BudgetInvitations
}

// Refuses reports whether mails over the budget are refused, and not joined.
func (b MailBudget) Refuses() bool {
	return b == BudgetInvitations || b == BudgetStaffInvitations || b == BudgetAskedInvitations
}

// CountedMail is a mail that counts against a budget.
type CountedMail struct {
	Kind     MailKind
	Budget   MailBudget
	PersonID ID
	Email    Email // of the person
	At       time.Time
}

// CountedSince returns the time since which mails count for a notice.
func (n Notice) CountedSince() time.Time {
	if n.Budget == BudgetAccount {
		return n.At.Add(-time.Hour)
	}
	return n.At.Add(-day)
}

// WithinBudget returns TOO_MANY_MAILS for an invitation, or a link, to an address where too many
// were sent. past are the mails of the business since CountedSince, oldest first. It accepts every
// notice; see Joins.
func (n Notice) WithinBudget(to Email, past []CountedMail) error {
	if !n.Budget.Refuses() {
		return nil
	}
	var asked, toOne, all []time.Time
	for _, m := range past {
		if m.Budget != n.Budget {
			continue
		}
		if all = append(all, m.At); m.Email.Mailbox() != to.Mailbox() {
			continue
		}
		if toOne = append(toOne, m.At); n.Budget == BudgetAskedInvitations {
			asked = append(asked, m.At)
		}
	}
	for _, bound := range []struct {
		sent   []time.Time
		most   int
		window time.Duration
		text   string
	}{
		{all, MailsADayOfBusiness, day, "emails of invitations and links in 24 hours"},
		{all, InvitationsAnHour, time.Hour, "emails of invitations and links in one hour"},
		{toOne, MailsAnHourToOne, time.Hour, "emails to " + string(to) + " in one hour"},
		{asked, AskedADayToOne, day, "emails that repeat the invitation of " + string(to) + " in 24 hours"},
	} {
		if len(bound.sent) < bound.most {
			continue
		}
		// The next one is allowed when the oldest of the last few leaves the window.
		wait := bound.sent[len(bound.sent)-bound.most].Add(bound.window).Sub(n.At)
		if wait > 0 {
			return &Error{Kind: KindLimited, Code: CodeTooManyMails, RetryAfter: wait,
				Message: fmt.Sprintf("There were %d %s, which is the most there may be. Try again in %s.", bound.most, bound.text, inMinutes(wait))}
		}
	}
	return nil
}

func inMinutes(d time.Duration) string {
	if minutes := int(math.Ceil(d.Minutes())); minutes <= 1 {
		return "a minute"
	} else if minutes <= 90 {
		return fmt.Sprintf("%d minutes", minutes)
	}
	return fmt.Sprintf("%d hours", int(math.Ceil(d.Hours())))
}

// Mailbox returns the address without the part after a plus sign: ama+1@ and ama+2@ arrive in one
// mailbox. At Gmail, which has two names, dots make no difference either.
func (e Email) Mailbox() string {
	local, host, _ := strings.Cut(string(e), "@")
	local, _, _ = strings.Cut(local, "+")
	if host == "gmail.com" || host == "googlemail.com" {
		local, host = strings.ReplaceAll(local, ".", ""), "gmail.com"
	}
	return local + "@" + host
}

// Joins reports whether a notice to a person is over its budget, so that it goes into the hourly
// summary. past are the mails of the business since CountedSince. The first notice in an hour of a
// kind about the own account always gets its own mail. Otherwise a thief of a session could hide a
// new password behind passkeys.
func (n Notice) Joins(person ID, past []CountedMail) bool {
	if n.Budget == "" || n.Budget.Refuses() {
		return false
	}
	toOne, sameKind, all := 0, 0, 0
	for _, m := range past {
		if m.Budget != BudgetAskedInvitations { // nobody of the business has sent these
			all++
		}
		if m.Budget != n.Budget || m.PersonID != person || !m.At.After(n.At.Add(-time.Hour)) {
			continue
		}
		if toOne++; m.Kind == n.Kind {
			sameKind++
		}
	}
	if n.Budget == BudgetAccount {
		return toOne >= MailsAnHourToOne && sameKind > 0
	}
	return toOne >= MailsAnHourToOne || all >= MailsADayOfBusiness
}

// summaries maps budgets to the mails that join their notices.
var summaries = map[MailBudget]MailKind{
	BudgetAccount: MailAccountChanges, BudgetLiveKeys: MailKeyChanges, BudgetSandboxKeys: MailKeyChanges,
	BudgetLiveEndpoints: MailEndpointChanges, BudgetSandboxEndpoints: MailEndpointChanges,
}

// summaryDelay is how long after its hour a summary is sent, for transactions that end late.
const summaryDelay = time.Minute

// SummaryTo returns the mail that joins the notices of a person, of one hour by the clock. It is
// sent when the hour is over. Another notice of that hour goes into the same mail.
func SummaryTo(n Notice, person ID) Mail {
	from := n.At.UTC().Truncate(time.Hour)
	until := from.Add(time.Hour)
	kind := summaries[n.Budget]
	m := MailTo(Notice{
		Kind: kind, Cause: digestID(PrefixMail, string(kind), string(n.BusinessID), FormatTime(from)), BusinessID: n.BusinessID, At: until,
		Facts: map[string]string{FactSince: FormatTime(from)},
	}, person)
	m.DueAt = until.Add(summaryDelay)
	return m
}

// JoinedTo returns the record of a notice in a summary, so that it is reported once.
func JoinedTo(n Notice, person ID) Mail {
	m := MailTo(n, person)
	m.State, m.SettledAt, m.Budget, m.LastError = MailDropped, &n.At, "", "told in the summary of the hour"
	return m
}
