package domain_test

import (
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

// Every act with every role: o owner, d developer, v viewer; a admin, d dispatcher, s support, v
// viewer; a capital F where a fresh sign-in is needed.
const permissionsAsAgreed = `
read                    odv ....
audit.read              od. ....
applications.manage     o.. ....
sandbox_keys.manage     od. ....
live_keys.manage        o.. .... F
webhooks.manage         od. ....
webhook_secrets.manage  od. .... F
webhooks.resend         od. ....
sandbox.simulate        od. ....
live_deliveries.cancel  o.. ....
sandbox_locations.manage od. ....
live_locations.manage   o.. ....
people.manage           o.. .... F
everything.read         ... adsv
every_audit.read        ... a.s.
deliveries.move         ... ad..
businesses.manage       ... a... F
queues.repair           ... a...
customer.view_as        ... a.s.
staff.manage            ... a... F
operator_tokens.manage  ... a... F
account.manage          odv adsv F
`

func TestEveryRoleMayWhatTheTableSaysAndNothingElse(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(permissionsAsAgreed), "\n")
	acts := domain.Acts()
	if len(lines) != len(acts) {
		t.Errorf("%d acts, %d lines of the table", len(acts), len(lines))
	}
	for _, line := range lines {
		cells := strings.Fields(line)
		act := domain.Act(cells[0])
		for site, letters := range map[domain.Site]string{domain.Portal: cells[1], domain.Console: cells[2]} {
			for i, role := range domain.Roles(site) {
				if got, want := domain.May(site, role, act), letters[i] != '.'; got != want {
					t.Errorf("%s, %s at the %s: %v, want %v", act, role, site, got, want)
				}
			}
		}
		if got, want := domain.NeedsFreshSignIn(act), len(cells) == 4; got != want {
			t.Errorf("%s needs a fresh sign-in: %v, want %v", act, got, want)
		}
	}
}

func TestRolesOfOneSiteAllowNothingOnTheOther(t *testing.T) {
	t.Parallel()
	for _, act := range domain.Acts() {
		for _, role := range []domain.Role{domain.RoleOwner, domain.RoleDeveloper} {
			if domain.May(domain.Console, role, act) {
				t.Errorf("%s may %s at the console", role, act)
			}
		}
		for _, role := range []domain.Role{domain.RoleAdmin, domain.RoleDispatcher, domain.RoleSupport, ""} {
			if domain.May(domain.Portal, role, act) {
				t.Errorf("%q may %s in the portal", role, act)
			}
		}
		if domain.May("", domain.RoleOwner, act) || domain.May("", domain.RoleAdmin, act) {
			t.Errorf("%s at no site", act)
		}
	}
	if domain.May(domain.Portal, domain.RoleOwner, "anything") {
		t.Error("an act that is not in the table is allowed")
	}
}

func TestAPrincipalIsHeldToRoleAndFreshness(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		role     domain.Role
		business domain.ID
		age      time.Duration
		act      domain.Act
		code     string
	}{
		"an owner, fresh":              {domain.RoleOwner, "biz_1", 0, domain.ActManageLiveKeys, ""},
		"the last moment":              {domain.RoleOwner, "biz_1", domain.FreshFor - time.Millisecond, domain.ActManageLiveKeys, ""},
		"an owner, too late":           {domain.RoleOwner, "biz_1", domain.FreshFor, domain.ActManageLiveKeys, domain.CodeSignInTooOld},
		"what needs no fresh one":      {domain.RoleOwner, "biz_1", time.Hour, domain.ActManageSandboxKeys, ""},
		"a viewer":                     {domain.RoleViewer, "biz_1", 0, domain.ActManageSandboxKeys, domain.CodeRoleRefused},
		"a viewer of staff":            {domain.RoleViewer, "", 0, domain.ActReadEverything, ""},
		"a viewer of a business":       {domain.RoleViewer, "biz_1", 0, domain.ActReadEverything, domain.CodeRoleRefused},
		"an admin behind the portal":   {domain.RoleAdmin, "biz_1", 0, domain.ActManageStaff, domain.CodeRoleRefused},
		"an old sign-in and no right":  {domain.RoleViewer, "biz_1", time.Hour, domain.ActManageLiveKeys, domain.CodeRoleRefused},
		"anybody about own sessions":   {domain.RoleViewer, "biz_1", 0, domain.ActOwnAccount, ""},
		"the account, signed in early": {domain.RoleViewer, "", domain.FreshFor, domain.ActOwnAccount, domain.CodeSignInTooOld},
	} {
		p := domain.Principal{Role: c.role, Session: domain.Session{BusinessID: c.business, SignedInAt: now.Add(-c.age)}}
		err := p.Allows(c.act, now)
		if c.code == "" && err != nil || c.code != "" && !domain.HasCode(err, c.code) {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}
