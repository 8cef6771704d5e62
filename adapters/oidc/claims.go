package oidc

import (
	"encoding/json"
	"fmt"
	"time"
)

// claims holds what a token or the userinfo says about an account.
type claims struct {
	authorizedParty string
	email, name     string
	verified        bool
	groups          []string // nil: the provider does not say
	groupsLeftOut   bool     // there are groups, but the token says that they are elsewhere
	authenticatedAt time.Time
}

// truth is a boolean as providers write it.
type truth bool

func (t *truth) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `true`, `"true"`, `1`, `"1"`:
		*t = true
	}
	return nil
}

// strs is a list of strings, or one string. It skips other items: some providers list objects.
type strs []string

func (s *strs) UnmarshalJSON(text []byte) error {
	var list []any
	if json.Unmarshal(text, &list) != nil {
		var one any
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		list = []any{one}
	}
	*s = strs{}
	for _, each := range list {
		if name, ok := each.(string); ok {
			*s = append(*s, name)
		}
	}
	return nil
}

// claims reads the claims. Entra confirms an address by xms_edov in place of email_verified. If
// an account has more groups than fit into a token, the token has their claim in _claim_names,
// or hasgroups.
func (p *Provider) claims(read func(any) error) (c claims, err error) {
	var stated struct {
		AuthorizedParty string       `json:"azp"`
		Email           string       `json:"email"`
		Verified        truth        `json:"email_verified"`
		DomainVerified  truth        `json:"xms_edov"`
		Name            string       `json:"name"`
		HasGroups       truth        `json:"hasgroups"`
		AuthTime        *json.Number `json:"auth_time"`
	}
	if err := read(&stated); err != nil {
		return c, err
	}
	all := map[string]json.RawMessage{}
	if err := read(&all); err != nil {
		return c, err
	}
	c = claims{authorizedParty: stated.AuthorizedParty, email: stated.Email, name: stated.Name, verified: bool(stated.Verified || stated.DomainVerified)}
	if raw, ok := claimAt(all, p.config.GroupsClaim); ok {
		if err := json.Unmarshal(raw, (*strs)(&c.groups)); err != nil {
			return c, fmt.Errorf("the claim %s: %w", p.config.GroupsClaim, err)
		}
	} else {
		var elsewhere map[string]any
		_ = json.Unmarshal(all["_claim_names"], &elsewhere) // if it is no object it names no claim
		c.groupsLeftOut = bool(stated.HasGroups) || elsewhere[p.config.GroupsClaim] != nil
	}
	if stated.AuthTime != nil {
		seconds, err := stated.AuthTime.Float64()
		if err != nil || seconds < 0 || seconds > 1<<40 {
			return c, fmt.Errorf("auth_time is %q", stated.AuthTime)
		}
		c.authenticatedAt = time.Unix(int64(seconds), 0).UTC()
	}
	return c, nil
}

// claimAt returns the claim of a name or, without one, the claim at that path through objects:
// "realm_access.roles". Names of claims and of clients may have dots too.
func claimAt(all map[string]json.RawMessage, path string) (json.RawMessage, bool) {
	if raw, ok := all[path]; ok {
		return raw, true
	}
	for i, char := range path {
		var inside map[string]json.RawMessage
		if char != '.' || json.Unmarshal(all[path[:i]], &inside) != nil {
			continue
		}
		if raw, ok := claimAt(inside, path[i+1:]); ok {
			return raw, true
		}
	}
	return nil, false
}

// fill adds missing claims. An address and whether it is verified belong together.
func (c *claims) fill(more claims) {
	if c.email == "" {
		c.email, c.verified = more.email, more.verified
	}
	if c.name == "" {
		c.name = more.name
	}
	if c.groups == nil {
		c.groups, c.groupsLeftOut = more.groups, (c.groupsLeftOut || more.groupsLeftOut) && more.groups == nil
	}
}
