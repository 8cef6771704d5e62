package opsapi

import (
	"strings"
	"time"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/application/access"
	"waybill/domain"
)

var (
	businessShape = strictjson.Object{
		"name":       strictjson.Leaf,
		"rate_limit": strictjson.Object{"limit": strictjson.Leaf, "window_seconds": strictjson.Leaf, "default": strictjson.Leaf},
	}
	businessChangeShape = strictjson.Object{"name": strictjson.Leaf, "rate_limit": businessShape["rate_limit"], "disabled": strictjson.Leaf}
	applicationShape    = strictjson.Object{"name": strictjson.Leaf}
	programShape        = strictjson.Object{"name": strictjson.Leaf, "disabled": strictjson.Leaf}
	keyShape            = strictjson.Object{"environment": strictjson.Leaf, "scopes": strictjson.ArrayOf(strictjson.Leaf),
		"expires_in": strictjson.Leaf}
)

// readLimit reads a limit, or that the default limit applies.
func readLimit(parent *strictjson.Reader) (limit *domain.RateLimit, byDefault bool) {
	r := parent.Object("rate_limit", strictjson.Optional)
	if r == nil {
		return nil, false
	}
	if r.Has("default") {
		byDefault, _ = r.Bool("default", strictjson.Required)
		if r.Has("limit") || r.Has("window_seconds") || !byDefault {
			r.Reject("default", strictjson.CodeNotAllowed, `send {"default": true} alone, or limit and window_seconds`)
		}
		return nil, byDefault
	}
	n, _ := r.Integer("limit", strictjson.Required, strictjson.Between(1, domain.MaxRateLimit))
	window, _ := r.Integer("window_seconds", strictjson.Required, strictjson.Between(1, domain.MaxRateWindow.Seconds()))
	return &domain.RateLimit{Limit: n, Window: time.Duration(window) * time.Second}, false
}

func readName(r *strictjson.Reader, need strictjson.Need) *string {
	return strictjson.Ptr(web.Text(r, "name", need, domain.NameRule))
}

func (m *Management) createBusiness(c *call) (reply, error) {
	r := strictjson.NewReader(c.body)
	name := readName(r, strictjson.Required)
	limit, _ := readLimit(r)
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	made, err := m.Tenants.CreateBusiness(c.Request.Context(), c.by, *name, limit)
	if err != nil {
		return reply{}, err
	}
	return created("/businesses/"+string(made.ID), "Business created, with three sandbox pickup locations to try things with.",
		showBusiness(made)), nil
}

func (m *Management) listBusinesses(c *call) (reply, error) {
	p, err := m.page(c, domain.PrefixBusiness)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Tenants.BusinessPage(c.Request.Context(), p)
	if err != nil {
		return reply{}, err
	}
	found, shown := cut(m, c, found, p.Limit, func(b domain.Business) domain.Position {
		return domain.Position{CreatedAt: b.CreatedAt, ID: b.ID}
	})
	return list("Businesses listed.", web.Each(found, showBusiness), shown), nil
}

func (m *Management) getBusiness(c *call) (reply, error) {
	id, err := c.id("business_id", domain.PrefixBusiness)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Tenants.Business(c.Request.Context(), id)
	if err != nil {
		return reply{}, err
	}
	return ok("Business found.", showBusiness(found)), nil
}

func (m *Management) changeBusiness(c *call) (reply, error) {
	id, err := c.id("business_id", domain.PrefixBusiness)
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	web.NeedOne(r, "name", "rate_limit", "disabled")
	change := access.BusinessChange{Name: readName(r, strictjson.Optional)}
	change.RateLimit, change.DefaultLimit = readLimit(r)
	disabled, switched := r.Bool("disabled", strictjson.Optional)
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	stored, err := m.Tenants.ChangeBusiness(c.Request.Context(), c.by, id, change)
	if err == nil && switched {
		stored, err = m.Tenants.SetBusinessDisabled(c.Request.Context(), c.by, id, disabled)
	}
	if err != nil {
		return reply{}, err
	}
	return ok("Business updated. Servers go by it within two seconds.", showBusiness(stored)), nil
}

func (m *Management) createApplication(c *call) (reply, error) {
	id, err := c.id("business_id", domain.PrefixBusiness)
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	name := readName(r, strictjson.Required)
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	made, err := m.Tenants.CreateApplication(c.Request.Context(), c.by, id, *name)
	if err != nil {
		return reply{}, err
	}
	return created("/applications/"+string(made.ID), "Application created.", showApplication(made)), nil
}

func (m *Management) listApplications(c *call) (reply, error) {
	id, err := c.id("business_id", domain.PrefixBusiness)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Tenants.Applications(c.Request.Context(), id)
	if err != nil {
		return reply{}, err
	}
	return list("Applications listed.", web.Each(found, showApplication), web.Whole(len(found))), nil
}

func (m *Management) getApplication(c *call) (reply, error) {
	id, err := c.id("application_id", domain.PrefixApplication)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Tenants.Application(c.Request.Context(), id)
	if err != nil {
		return reply{}, err
	}
	return ok("Application found.", showApplication(found)), nil
}

func (m *Management) changeApplication(c *call) (reply, error) {
	id, err := c.id("application_id", domain.PrefixApplication)
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	web.NeedOne(r, "name", "disabled")
	name := readName(r, strictjson.Optional)
	disabled, switched := r.Bool("disabled", strictjson.Optional)
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	var stored domain.Application
	if name != nil {
		if stored, err = m.Tenants.RenameApplication(c.Request.Context(), c.by, id, *name); err != nil {
			return reply{}, err
		}
	}
	if !switched {
		return ok("Application renamed.", showApplication(stored)), nil
	}
	if stored, err = m.Tenants.SetDisabled(c.Request.Context(), c.by, id, disabled); err != nil {
		return reply{}, err
	}
	message := "Application enabled: its keys work again within two seconds."
	if disabled {
		message = "Application disabled: all its keys answer 401 within two seconds."
	}
	return ok(message, showApplication(stored)), nil
}

func (m *Management) createKey(c *call) (reply, error) {
	id, err := c.id("application_id", domain.PrefixApplication)
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	environment, _ := r.Enum("environment", strictjson.Required, []string{string(domain.Live), string(domain.Sandbox)})
	scopes := readScopes(r)
	var lifetime *time.Duration
	if sent, there := r.Text("expires_in", strictjson.Optional); there {
		d, err := domain.ParseLifetime(sent)
		if err != nil {
			r.Reject("expires_in", strictjson.CodeInvalidFormat, err.Error())
		}
		lifetime = &d
	}
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	made, err := m.Tenants.IssueKey(c.Request.Context(), c.by, id, domain.Environment(environment), scopes, lifetime)
	if err != nil {
		return reply{}, err
	}
	return created("/keys/"+string(made.ID), "Key created. It is not shown again: store it now.", showIssued(made)), nil
}

// readScopes reads names of scopes, or "all" alone.
func readScopes(r *strictjson.Reader) []domain.Scope {
	items := r.Array("scopes", strictjson.Required, strictjson.Count(1, len(domain.AllScopes())))
	names := make([]string, 0, items.Len())
	for i := range items.Len() {
		name, sound := items.Enum(i, append([]string{"all"}, web.Texts(domain.AllScopes())...))
		if !sound {
			return nil
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil // reported already
	}
	scopes, err := domain.ParseScopes(strings.Join(names, ","))
	if err != nil {
		r.Reject("scopes", strictjson.CodeNotAllowed, "name each scope once, or all alone")
	}
	return scopes
}

func (m *Management) listKeys(c *call) (reply, error) {
	id, err := c.id("application_id", domain.PrefixApplication)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Tenants.Keys(c.Request.Context(), id)
	if err != nil {
		return reply{}, err
	}
	return list("Keys listed.", web.Each(found, showKey), web.Whole(len(found))), nil
}

func (m *Management) getKey(c *call) (reply, error) {
	id, err := c.id("key_id", domain.PrefixAPIKey)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Tenants.Key(c.Request.Context(), id)
	if err != nil {
		return reply{}, err
	}
	return ok("Key found.", showKey(found)), nil
}

func (m *Management) rotateKey(c *call) (reply, error) {
	id, err := c.id("key_id", domain.PrefixAPIKey)
	if err != nil {
		return reply{}, err
	}
	made, err := m.Tenants.RotateKey(c.Request.Context(), c.by, id)
	if err != nil {
		return reply{}, err
	}
	return created("/keys/"+string(made.ID), "Successor created; it is not shown again. The old key works until it is revoked.",
		showIssued(made)), nil
}

func (m *Management) revokeKey(c *call) (reply, error) {
	id, err := c.id("key_id", domain.PrefixAPIKey)
	if err != nil {
		return reply{}, err
	}
	stored, err := m.Tenants.RevokeKey(c.Request.Context(), c.by, id)
	if err != nil {
		return reply{}, err
	}
	return ok("Key revoked: it answers 401 within two seconds.", showKey(stored)), nil
}
