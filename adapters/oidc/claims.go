package oidc

import (
	"encoding/json"
	"fmt"
	"time"
)

// claims are what a token or the userinfo says of an account.
type claims struct {
	authorizedParty string
	email, name     string
	verified        bool
	groups          []string // nil: it does not tell
	groupsLeftOut   bool     // it has some, and says that they are elsewhere
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

// strs is a list of texts, or one. What else is in it is passed over: some providers
// list objects.
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

// claims reads them. Entra vouches for an address by xms_edov in place of email_verified. An
// account of more groups than fit into a token has their claim in _claim_names instead, or
// hasgroups.
func (p *Provider) claims(read func(any) error) (c claims, err error) {
	var said struct {
		AuthorizedParty string       `json:"azp"`
		Email           string       `json:"email"`
		Verified        truth        `json:"email_verified"`
		DomainVerified  truth        `json:"xms_edov"`
		Name            string       `json:"name"`
		HasGroups       truth        `json:"hasgroups"`
		AuthTime        *json.Number `json:"auth_time"`
	}
	if err := read(&said); err != nil {
		return c, err
	}
	all := map[string]json.RawMessage{}
	if err := read(&all); err != nil {
		return c, err
	}
	c = claims{authorizedParty: said.AuthorizedParty, email: said.Email, name: said.Name, verified: bool(said.Verified || said.DomainVerified)}
	if raw, ok := claimAt(all, p.config.GroupsClaim); ok {
		if err := json.Unmarshal(raw, (*strs)(&c.groups)); err != nil {
			return c, fmt.Errorf("the claim %s: %w", p.config.GroupsClaim, err)
		}
	} else {
		var elsewhere map[string]any
		_ = json.Unmarshal(all["_claim_names"], &elsewhere) // what is no object names no claim
		c.groupsLeftOut = bool(said.HasGroups) || elsewhere[p.config.GroupsClaim] != nil
	}
	if said.AuthTime != nil {
		seconds, err := said.AuthTime.Float64()
		if err != nil || seconds < 0 || seconds > 1<<40 {
			return c, fmt.Errorf("auth_time is %q", said.AuthTime)
		}
		c.authenticatedAt = time.Unix(int64(seconds), 0).UTC()
	}
	return c, nil
}

// claimAt reads the claim of a name or, where there is none, the one to which the name is a path
// through objects: "realm_access.roles". Names of claims and of clients may have dots too.
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

// fill adds what was left out. An address and whether it is verified belong together.
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
