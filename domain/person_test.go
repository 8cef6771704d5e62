package domain_test

import (
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestAnEMailAddressIsFoldedToOneForm(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]domain.Email{
		"ama@example.com": "ama@example.com", "  Ama.Mensah+Shop@Example.COM ": "ama.mensah+shop@example.com", "a@localhost": "a@localhost",
		strings.Repeat("a", 64) + "@example.com": domain.Email(strings.Repeat("a", 64) + "@example.com"),
	} {
		if got, err := domain.ParseEmail(sent); err != nil || got != want {
			t.Errorf("%q is %q, %v", sent, got, err)
		}
	}
	for _, sent := range []string{
		"", "ama", "@example.com", "ama@", "a@b@c", "ama@example..com", "ama@-example.com", "ama@example.com.", ".ama@example.com",
		"a..b@example.com",
		"ama mensah@example.com", "ama@example.com\r\nBcc: x@example.com", "Ama <ama@example.com>", `"a b"@example.com`, "ama@[127.0.0.1]",
		"аma@example.com", "ama@exämple.com", "a\x00@example.com", strings.Repeat("a", 65) + "@example.com", "a@" + strings.Repeat("a.", 130) +
			"com",
	} {
		if got, err := domain.ParseEmail(sent); !domain.HasCode(err, domain.CodeValidation) {
			t.Errorf("%q was read as %q, %v", sent, got, err)
		}
	}
}

func TestARoleBelongsToItsSite(t *testing.T) {
	t.Parallel()
	for site, roles := range map[domain.Site]string{domain.Portal: "owner developer viewer",
		domain.Console: "admin dispatcher support viewer"} {
		for _, role := range []string{"owner", "developer", "viewer", "admin", "dispatcher", "support", "", "Owner"} {
			got, err := domain.ParseRole(site, role)
			if there := role != "" && strings.Contains(roles, role); there != (err == nil) || there && got != domain.Role(role) {
				t.Errorf("%q at the %s: %q, %v", role, site, got, err)
			}
		}
	}
}

func TestTheLastOwnerIsTheLastOneWhoCanSignIn(t *testing.T) {
	t.Parallel()
	at := time.Now()
	member := func(id domain.ID, role domain.Role, accepted bool, state domain.PersonState) domain.Member {
		m := domain.Member{Person: domain.Person{ID: id, State: state}, Membership: domain.Membership{PersonID: id, BusinessID: "biz_1",
			Role: role}}
		if accepted {
			m.Membership.AcceptedAt = &at
		}
		return m
	}
	ama := member("prs_ama", domain.RoleOwner, true, domain.PersonActive)
	kofi := member("prs_kofi", domain.RoleOwner, true, domain.PersonActive)
	developer := member("prs_dev", domain.RoleDeveloper, true, domain.PersonActive)
	invited := member("prs_invited", domain.RoleOwner, false, domain.PersonInvited)
	disabled := member("prs_disabled", domain.RoleOwner, true, domain.PersonDisabled)
	for name, c := range map[string]struct {
		members []domain.Member
		person  domain.ID
		role    domain.Role
		loses   bool
	}{
		"the only owner goes":             {[]domain.Member{ama, developer}, "prs_ama", "", true},
		"the only owner is demoted":       {[]domain.Member{ama, developer}, "prs_ama", domain.RoleViewer, true},
		"the only owner stays owner":      {[]domain.Member{ama, developer}, "prs_ama", domain.RoleOwner, false},
		"one of two goes":                 {[]domain.Member{ama, kofi}, "prs_ama", "", false},
		"a developer goes":                {[]domain.Member{ama, developer}, "prs_dev", "", false},
		"the other one is invited only":   {[]domain.Member{ama, invited}, "prs_ama", "", true},
		"the other one is disabled":       {[]domain.Member{ama, disabled}, "prs_ama", "", true},
		"an invited owner goes":           {[]domain.Member{ama, invited}, "prs_invited", "", false},
		"a business without any owner":    {[]domain.Member{developer, invited}, "prs_invited", "", false},
		"someone who is no member at all": {[]domain.Member{ama}, "prs_kofi", "", false},
	} {
		if got := domain.LosesLastOwner(c.members, c.person, c.role); got != c.loses {
			t.Errorf("%s: %v", name, got)
		}
	}
	admin := domain.Member{Person: domain.Person{ID: "prs_a", State: domain.PersonActive}, Membership: domain.Membership{PersonID: "prs_a",
		Role: domain.RoleAdmin, AcceptedAt: &at}}
	if !domain.LosesLastOwner([]domain.Member{admin}, "prs_a", domain.RoleSupport) {
		t.Error("the last admin of the staff may go")
	}
}

func TestALinkWorksUntilItIsUsedOrExpires(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		link domain.Link
		code string
	}{
		"fresh":            {domain.Link{ExpiresAt: now.Add(time.Minute)}, ""},
		"the last moment":  {domain.Link{ExpiresAt: now.Add(time.Millisecond)}, ""},
		"just expired":     {domain.Link{ExpiresAt: now}, domain.CodeLinkExpired},
		"used":             {domain.Link{ExpiresAt: now.Add(time.Minute), UsedAt: &now}, domain.CodeLinkUsed},
		"used and expired": {domain.Link{ExpiresAt: now, UsedAt: new(now.Add(-time.Second))}, domain.CodeLinkUsed},
		"replaced":         {domain.Link{ExpiresAt: now, UsedAt: &now}, domain.CodeLinkReplaced},
		"a minute ahead":   {domain.Link{CreatedAt: now.Add(time.Minute), ExpiresAt: now.Add(11 * time.Minute)}, ""},
		"a day ahead":      {domain.Link{CreatedAt: now.Add(24 * time.Hour), ExpiresAt: now.Add(25 * time.Hour)}, domain.CodeLinkExpired},
	} {
		err := c.link.Usable(now)
		if c.code == "" && err != nil || c.code != "" && !domain.HasCode(err, c.code) {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
	if domain.LinkSignIn.Lifetime() != 10*time.Minute || domain.LinkInvitation.Lifetime() != 7*24*time.Hour {
		t.Errorf("%s and %s", domain.LinkSignIn.Lifetime(), domain.LinkInvitation.Lifetime())
	}
	secret := domain.MakeBearerSecret([32]byte{1, 2, 3})
	if len(secret) != 43 || strings.Trim(secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		t.Errorf("%q does not fit an address and a cookie as it is", secret)
	}
}

func TestASessionEndsByUseTimeAndWord(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		session domain.Session
		live    bool
	}{
		"used now":       {domain.Session{ExpiresAt: now.Add(time.Hour), LastSeenAt: now}, true},
		"almost idle":    {domain.Session{ExpiresAt: now.Add(time.Hour), LastSeenAt: now.Add(time.Millisecond - domain.SessionIdle)}, true},
		"idle":           {domain.Session{ExpiresAt: now.Add(time.Hour), LastSeenAt: now.Add(-domain.SessionIdle)}, false},
		"almost expired": {domain.Session{ExpiresAt: now.Add(time.Millisecond), LastSeenAt: now}, true},
		"expired":        {domain.Session{ExpiresAt: now, LastSeenAt: now}, false},
		"ended":          {domain.Session{ExpiresAt: now.Add(time.Hour), LastSeenAt: now, EndedAt: &now}, false},
		"made ahead":     {domain.Session{CreatedAt: now.Add(time.Hour), ExpiresAt: now.Add(2 * time.Hour), LastSeenAt: now}, false},
		"used ahead":     {domain.Session{ExpiresAt: now.Add(2 * time.Hour), LastSeenAt: now.Add(time.Hour)}, false},
		"a minute ahead": {domain.Session{CreatedAt: now.Add(time.Minute), ExpiresAt: now.Add(2 * time.Hour), LastSeenAt: now.Add(time.Minute)}, true},
	} {
		if got := c.session.Live(now); got != c.live {
			t.Errorf("%s: %v", name, got)
		}
	}
	if domain.SessionLifetime != 12*time.Hour || domain.SessionIdle != time.Hour || domain.FreshFor != 10*time.Minute {
		t.Error("the times are not those agreed")
	}
}

func TestAnActorIsAnOperatorAPersonOrACommand(t *testing.T) {
	t.Parallel()
	for want, actor := range map[domain.ActorKind]domain.AuditActor{
		domain.ActorCommand:  {Name: "command:ama"},
		domain.ActorOperator: {ID: domain.MakeID(domain.PrefixOperatorToken, [16]byte{1})},
		domain.ActorPerson:   {ID: domain.MakeID(domain.PrefixPerson, [16]byte{1}), BusinessID: "biz_1"},
	} {
		if actor.Kind() != want || actor.IsPerson() != (want == domain.ActorPerson) {
			t.Errorf("%+v is %s", actor, actor.Kind())
		}
	}
	staff := domain.AuditActor{ID: domain.MakeID(domain.PrefixPerson, [16]byte{1})}
	if staff.Kind() != domain.ActorOperator || !staff.IsPerson() {
		t.Errorf("staff is %s", staff.Kind())
	}
}
