package configs_test

import (
	"strings"
	"testing"

	"waybill/configs"
)

func TestRolesOfStaffAreReadFromOneSetting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "group:dispatch=dispatcher": "group:dispatch=dispatcher",
		" group:Riders desk = support , domain:Example.COM=viewer": "domain:example.com=viewer,group:Riders desk=support",
		"group:/a/b=c=admin": "group:/a/b=c=admin",
	} {
		if got, err := configs.ParseStaffRoles(text); err != nil || got.String() != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"dispatch=dispatcher", "group:=admin", "group:a=owner", "group:a", "group:a=admin,", ",", "=admin",
		"domain:*.example.com=viewer", "domain:=viewer", "domain:a@example.com=viewer", "group:a=admin,group:a=viewer",
		"domain:example.com=admin,domain:EXAMPLE.com=viewer", "user:ama=admin"} {
		if got, err := configs.ParseStaffRoles(text); err == nil {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

func TestAnIdentityProviderIsSetWholeAndBehindTLS(t *testing.T) {
	t.Parallel()
	whole := []string{"WAYBILL_OIDC_ISSUER=https://id.example.com/", "WAYBILL_OIDC_CLIENT_ID=waybill",
		"WAYBILL_OIDC_CLIENT_SECRET=hunter22", "WAYBILL_OIDC_ROLES=group:dispatch=dispatcher"}
	c := load(t, configs.Sources{Environ: whole})
	if c.OIDCIssuer != "https://id.example.com/" || c.OIDCRoles["group:dispatch"] != "dispatcher" || c.OIDCGroupsClaim != "groups" ||
		strings.Contains(c.String(), "hunter22") {
		t.Errorf("%s", c)
	}
	for i, without := range whole {
		name, _, _ := strings.Cut(without, "=")
		var rest []string
		rest = append(append(rest, whole[:i]...), whole[i+1:]...)
		if found := problems(t, configs.Sources{Environ: rest}); !strings.Contains(found.Error(), name+" is not") {
			t.Errorf("without %s: %v", name, found)
		}
	}
	for issuer, want := range map[string]string{"http://id.example.com": "without https", "id.example.com": "is no address",
		"https://u:p@id.example.com": "is no address", "https://id.example.com/.well-known/openid-configuration": "description"} {
		if found := problems(t, configs.Sources{Environ: []string{"WAYBILL_OIDC_ISSUER=" + issuer}}); !strings.Contains(found.Error(), want) {
			t.Errorf("%s: %v", issuer, found)
		}
	}
}
