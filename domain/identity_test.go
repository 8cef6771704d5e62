package domain_test

import (
	"testing"
	"time"

	"waybill/domain"
)

func TestTheStrongestRoleThatAnIdentityIsGivenCounts(t *testing.T) {
	t.Parallel()
	rules := domain.MakeRoleRules(map[string]string{
		"group:ops": "admin", "group:riders desk": "dispatcher", "group:care": "support", "domain:example.com": "viewer", "group:boss": "owner",
	})
	for name, c := range map[string]struct {
		identity domain.Identity
		want     domain.Role
	}{
		"one group":           {domain.Identity{Groups: []string{"care"}}, domain.RoleSupport},
		"a name with a space": {domain.Identity{Groups: []string{"riders desk"}}, domain.RoleDispatcher},
		"several groups":      {domain.Identity{Groups: []string{"care", "ops", "riders desk"}}, domain.RoleAdmin},
		"a group and the domain": {domain.Identity{Groups: []string{"care"}, Email: "a@example.com", EmailVerified: true},
			domain.RoleSupport},
		"the domain alone":              {domain.Identity{Email: "A@Example.COM", EmailVerified: true}, domain.RoleViewer},
		"an address nobody verified":    {domain.Identity{Email: "a@example.com"}, ""},
		"a domain below it":             {domain.Identity{Email: "a@mail.example.com", EmailVerified: true}, ""},
		"a domain that ends like it":    {domain.Identity{Email: "a@badexample.com", EmailVerified: true}, ""},
		"another spelling of a group":   {domain.Identity{Groups: []string{"Ops", "ops ", ""}}, ""},
		"a group called like a rule":    {domain.Identity{Groups: []string{"group:ops", "domain:example.com"}}, ""},
		"a role that staff do not have": {domain.Identity{Groups: []string{"boss"}}, ""},
		"nothing":                       {domain.Identity{}, ""},
	} {
		if got, ok := rules.Role(c.identity); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, c.want)
		}
	}
}

func TestASignInIsAsRecentAsTheProviderProves(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at, want time.Time
		fresh    bool
	}{
		"just now":                {now, now, true},
		"nine minutes ago":        {now.Add(-9 * time.Minute), now.Add(-9 * time.Minute), true},
		"hours ago":               {now.Add(-3 * time.Hour), now.Add(-3 * time.Hour), false},
		"by a clock that is fast": {now.Add(time.Minute), now, true},
		"it does not tell":        {time.Time{}, now.Add(-domain.FreshFor), false},
	} {
		at := domain.Identity{AuthenticatedAt: c.at}.ProvenAt(now)
		if fresh := (domain.Session{SignedInAt: at}).Fresh(now); !at.Equal(c.want) || fresh != c.fresh {
			t.Errorf("%s: %s, recent %v", name, at, fresh)
		}
	}
}

func TestASignInThatLiesAheadIsNotRecent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]bool{time.Minute: true, 2 * time.Minute: false, -9 * time.Minute: true, -10 * time.Minute: false} {
		if got := (domain.Session{SignedInAt: now.Add(ahead)}).Fresh(now); got != want {
			t.Errorf("%s ahead: recent %v", ahead, got)
		}
	}
}
