package configs

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// StaffRoles maps what an identity provider says of an account, "group:dispatch" or
// "domain:example.com", to a role of the console.
type StaffRoles map[string]string

var errStaffRoles = errors.New("entries such as group:dispatch=dispatcher,domain:example.com=viewer, with the roles admin, dispatcher, " +
	"support and viewer; a group's name may hold anything but commas, and each entry stands once")

// ParseStaffRoles reads "group:dispatch=dispatcher,domain:example.com=viewer". An empty text means
// none.
func ParseStaffRoles(text string) (StaffRoles, error) {
	roles := StaffRoles{}
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" && text == "" {
			break
		}
		at := strings.LastIndex(entry, "=")
		if at < 0 {
			return nil, errStaffRoles
		}
		of, role := strings.TrimSpace(entry[:at]), strings.TrimSpace(entry[at+1:])
		kind, name, _ := strings.Cut(of, ":")
		if kind == "domain" {
			of = strings.ToLower(of)
		}
		_, twice := roles[of]
		if twice || name == "" || kind != "group" && (kind != "domain" || !hostName.MatchString(name)) ||
			!slices.Contains([]string{"admin", "dispatcher", "support", "viewer"}, role) {
			return nil, errStaffRoles
		}
		roles[of] = role
	}
	return roles, nil
}

func (r StaffRoles) String() string {
	var parts []string
	for of, role := range r {
		parts = append(parts, of+"="+role)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// MarshalText returns the text for encoders.
func (r StaffRoles) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// checkIssuer accepts https, and http only on this machine, since a client secret is sent to it.
// The issuer is compared as text, so a slash at its end stays.
func checkIssuer(s string) error {
	const fix = "https://host/path exactly as the provider calls itself, such as https://id.example.com/realms/company"
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return bad("is no address of an identity provider", fix)
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback() {
		return bad("is without https, and the client secret would travel in the open", fix)
	}
	if strings.HasSuffix(s, "/.well-known/openid-configuration") {
		return bad("is the address of the provider's description", "leave out /.well-known/openid-configuration")
	}
	return nil
}

// checkClaim refuses what is certainly not the name of a claim. A name may be an address.
func checkClaim(s string) error {
	if withoutSecrets(s) != s {
		return bad("looks like a secret and is no name of a claim", "groups, or a path such as realm_access.roles")
	}
	return nil
}

// checkIdentityProvider checks that all settings of sign-in at an identity provider are set, or
// none.
func (c *Config) checkIdentityProvider() Problems {
	needed := []struct {
		name string
		set  bool
		fix  string
	}{
		{"oidc_issuer", c.OIDCIssuer != "", "the address of the provider, such as https://id.example.com"},
		{"oidc_client_id", c.OIDCClientID != "", "the ID under which the provider knows Waybill"},
		{"oidc_client_secret", c.OIDCClientSecret != "", "the secret that the provider gave for Waybill, better in a file: " +
			"WAYBILL_OIDC_CLIENT_SECRET_FILE"},
		{"oidc_roles", len(c.OIDCRoles) > 0, "such as WAYBILL_OIDC_ROLES=group:dispatch=dispatcher; without it nobody is let in"},
	}
	var set string
	for _, n := range needed {
		if n.set {
			set = n.name
			break
		}
	}
	var problems Problems
	for _, n := range needed {
		if set != "" && !n.set {
			f, _ := fieldNamed(n.name)
			of, _ := fieldNamed(set)
			problems = append(problems, Problem{What: of.env() + " is set and " + f.env() + " is not", SetIn: c.Source(set), Fix: n.fix})
		}
	}
	return problems
}
