package domain_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"waybill/domain"
)

var mailNoon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// sentMails returns n mails of a budget, a minute apart, the last one lastAgo before mailNoon.
func sentMails(n int, b domain.MailBudget, email domain.Email, lastAgo time.Duration) (past []domain.CountedMail) {
	for i := range n {
		past = append(past, domain.CountedMail{Budget: b, Email: email, At: mailNoon.Add(-lastAgo - time.Duration(n-1-i)*time.Minute)})
	}
	return past
}

func TestAddressesOfOneMailbox(t *testing.T) {
	t.Parallel()
	for email, want := range map[domain.Email]string{
		"ama@example.com": "ama@example.com", "ama+1@example.com": "ama@example.com", "a.ma@example.com": "a.ma@example.com",
		"a.m.a@gmail.com": "ama@gmail.com", "am.a+1@googlemail.com": "ama@gmail.com",
	} {
		if got := email.Mailbox(); got != want {
			t.Errorf("%s is of the mailbox %s, want %s", email, got, want)
		}
	}
}

func TestInvitationsAreRefusedUntilThereIsRoomInTheirBudget(t *testing.T) {
	t.Parallel()
	const mine, staff, victim = domain.BudgetInvitations, domain.BudgetStaffInvitations, "victim@example.com"
	others := func(n int, b domain.MailBudget, ago time.Duration) (past []domain.CountedMail) {
		for i, m := range sentMails(n, b, "", ago) {
			m.Email = domain.Email(fmt.Sprintf("o%d@example.com", i))
			past = append(past, m)
		}
		return past
	}
	for name, c := range map[string]struct {
		past []domain.CountedMail
		wait time.Duration // 0: it is sent
	}{
		"none before":                        {nil, 0},
		"four to the address":                {sentMails(4, mine, victim, 0), 0},
		"five to the address":                {sentMails(5, mine, victim, 10*time.Minute), 46 * time.Minute},
		"five to its mailbox":                {sentMails(5, mine, "victim+5@example.com", 10*time.Minute), 46 * time.Minute},
		"five to the address, an hour ago":   {sentMails(5, mine, victim, time.Hour), 0},
		"five to the address, by the staff":  {sentMails(5, staff, victim, 0), 0},
		"nineteen to others":                 {others(19, mine, 0), 0},
		"twenty to others":                   {others(20, mine, 0), 41 * time.Minute},
		"twenty to others by the staff":      {others(20, staff, 0), 0},
		"forty-nine in a day":                {others(49, mine, 2*time.Hour), 0},
		"fifty in a day":                     {others(50, mine, 2*time.Hour), 21*time.Hour + 11*time.Minute},
		"fifty, the first a day ago":         {others(50, mine, 24*time.Hour), 0},
		"fifty notices of keys of the day":   {sentMails(50, domain.BudgetLiveKeys, victim, 0), 0},
		"more of all, the longest wait told": {append(others(45, mine, 2*time.Hour), sentMails(5, mine, victim, 0)...), 21*time.Hour + 16*time.Minute},
	} {
		err := domain.Notice{Kind: domain.MailInvitation, Budget: mine, At: mailNoon}.WithinBudget(victim, c.past)
		var e *domain.Error
		switch {
		case c.wait == 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.wait != 0 && (!errors.As(err, &e) || e.Code != domain.CodeTooManyMails || e.Kind != domain.KindLimited || e.RetryAfter != c.wait):
			t.Errorf("%s: %v, %+v, want to wait %s", name, err, e, c.wait)
		}
	}
}

func TestInvitationsThatAnybodyAsksForCountApartFromThoseOfTheBusiness(t *testing.T) {
	t.Parallel()
	const mine, asked, victim, other = domain.BudgetInvitations, domain.BudgetAskedInvitations, "victim@example.com", "other@example.com"
	for name, c := range map[string]struct {
		budget  domain.MailBudget
		past    []domain.CountedMail
		refused bool
	}{
		"one asked for":                        {asked, sentMails(1, asked, victim, 0), false},
		"two asked for":                        {asked, sentMails(2, asked, victim, 23*time.Hour), true},
		"two asked for, to its mailbox":        {asked, sentMails(2, asked, "victim+2@example.com", 0), true},
		"two asked for, a day ago":             {asked, sentMails(2, asked, victim, 24*time.Hour), false},
		"two asked for, to another":            {asked, sentMails(2, asked, other, 0), false},
		"two that the business sent":           {asked, sentMails(2, mine, victim, 0), false},
		"fifty that the business sent":         {asked, sentMails(50, mine, other, 2*time.Hour), false},
		"nineteen asked for, to another":       {asked, sentMails(19, asked, other, 0), false},
		"twenty asked for, to another":         {asked, sentMails(20, asked, other, 0), true},
		"fifty asked for in a day":             {asked, sentMails(50, asked, other, 2*time.Hour), true},
		"fifty that the staff sent":            {asked, sentMails(50, domain.BudgetStaffInvitations, other, 2*time.Hour), false},
		"two asked for, then the business's":   {mine, sentMails(2, asked, victim, 0), false},
		"fifty asked for, then the business's": {mine, sentMails(50, asked, other, 2*time.Hour), false},
		"fifty asked for, then the staff's":    {domain.BudgetStaffInvitations, sentMails(50, asked, other, 2*time.Hour), false},
	} {
		err := domain.Notice{Kind: domain.MailInvitation, Budget: c.budget, At: mailNoon}.WithinBudget(victim, c.past)
		if domain.HasCode(err, domain.CodeTooManyMails) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoticesBeyondTheirBudgetAreJoined(t *testing.T) {
	t.Parallel()
	const ama, kofi = domain.ID("prs_1"), domain.ID("prs_2")
	past := func(n int, b domain.MailBudget, k domain.MailKind, to domain.ID, ago time.Duration) (all []domain.CountedMail) {
		for range n {
			all = append(all, domain.CountedMail{Kind: k, Budget: b, PersonID: to, At: mailNoon.Add(-ago)})
		}
		return all
	}
	const sandbox, live, account = domain.BudgetSandboxKeys, domain.BudgetLiveKeys, domain.BudgetAccount
	for name, c := range map[string]struct {
		budget domain.MailBudget
		kind   domain.MailKind
		past   []domain.CountedMail
		joins  bool
	}{
		"four of keys":              {sandbox, domain.MailKeyCreated, past(4, sandbox, domain.MailKeyCreated, ama, 0), false},
		"five of keys":              {sandbox, domain.MailKeyRevoked, past(5, sandbox, domain.MailKeyCreated, ama, 59*time.Minute), true},
		"five, an hour ago":         {sandbox, domain.MailKeyCreated, past(5, sandbox, domain.MailKeyCreated, ama, time.Hour), false},
		"five to another person":    {sandbox, domain.MailKeyCreated, past(5, sandbox, domain.MailKeyCreated, kofi, 0), false},
		"a live key behind sandbox": {live, domain.MailKeyCreated, past(40, sandbox, domain.MailKeyCreated, ama, 0), false},
		"fifty of the business":     {live, domain.MailKeyCreated, past(50, domain.BudgetInvitations, domain.MailInvitation, kofi, 23*time.Hour), true},
		"fifty asked for":           {live, domain.MailKeyCreated, past(50, domain.BudgetAskedInvitations, domain.MailInvitation, kofi, 0), false},
		"an endpoint":               {domain.BudgetLiveEndpoints, domain.MailEndpointDisabled, past(5, domain.BudgetLiveEndpoints, domain.MailEndpointRecovered, ama, 0), true},
		"a password behind passkeys": {account, domain.MailPasswordChanged,
			past(9, account, domain.MailPasskeyAdded, ama, 0), false},
		"another password behind them": {account, domain.MailPasswordChanged,
			append(past(9, account, domain.MailPasskeyAdded, ama, 0), past(1, account, domain.MailPasswordChanged, ama, 0)...), true},
		"an invitation":    {domain.BudgetInvitations, domain.MailInvitation, past(50, domain.BudgetInvitations, domain.MailInvitation, ama, 0), false},
		"without a budget": {"", domain.MailSignInLink, past(50, domain.BudgetInvitations, domain.MailInvitation, ama, 0), false},
	} {
		n := domain.Notice{Kind: c.kind, Budget: c.budget, At: mailNoon}
		if joins := n.Joins(ama, c.past); joins != c.joins {
			t.Errorf("%s: %t", name, joins)
		}
	}
}

func TestTheNoticesOfAnHourHaveOneSummaryBehindIt(t *testing.T) {
	t.Parallel()
	of := func(minute int, b domain.MailBudget) domain.Mail {
		return domain.SummaryTo(domain.Notice{Kind: domain.MailKeyCreated, BusinessID: "biz_1", Budget: b,
			At: mailNoon.Add(time.Duration(minute) * time.Minute)}, "prs_1")
	}
	first, last, next := of(0, domain.BudgetSandboxKeys), of(59, domain.BudgetLiveKeys), of(60, domain.BudgetLiveKeys)
	if first.ID != last.ID || first.ID == next.ID || first.Kind != domain.MailKeyChanges || first.Budget != "" {
		t.Errorf("%+v, %+v, %+v", first, last, next)
	}
	if !first.DueAt.After(mailNoon.Add(time.Hour)) || !first.At.Equal(mailNoon.Add(time.Hour)) {
		t.Errorf("the summary is due at %s for %s", first.DueAt, first.At)
	}
}
