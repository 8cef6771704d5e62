package opsapi

import (
	"waybill/adapters/web"
	"waybill/adapters/web/views"
	"waybill/application/access"
	"waybill/application/deliveries"
	"waybill/domain"
)

type businessView struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	RateLimit *views.Limit `json:"rate_limit"` // null: the setting for all
	Disabled  bool         `json:"disabled"`
	CreatedAt string       `json:"created_at"`
}

func showBusiness(b domain.Business) businessView {
	v := businessView{ID: string(b.ID), Name: b.Name, Disabled: b.Disabled, CreatedAt: domain.FormatTime(b.CreatedAt)}
	if b.RateLimit != nil {
		v.RateLimit = new(views.NewLimit(*b.RateLimit))
	}
	return v
}

type applicationView struct {
	ID         string `json:"id"`
	BusinessID string `json:"business_id"`
	Name       string `json:"name"`
	Disabled   bool   `json:"disabled"`
	CreatedAt  string `json:"created_at"`
}

func showApplication(a domain.Application) applicationView {
	return applicationView{
		ID: string(a.ID), BusinessID: string(a.BusinessID), Name: a.Name, Disabled: a.Disabled,
		CreatedAt: domain.FormatTime(a.CreatedAt),
	}
}

type keyView struct {
	ID            string   `json:"id"`
	ApplicationID string   `json:"application_id"`
	Environment   string   `json:"environment"`
	Prefix        string   `json:"prefix"`
	LastFour      string   `json:"last_four"`
	Scopes        []string `json:"scopes"`
	CreatedAt     string   `json:"created_at"`
	ExpiresAt     *string  `json:"expires_at"`
	RevokedAt     *string  `json:"revoked_at"`
	LastUsedAt    *string  `json:"last_used_at"`
}

func showKey(k domain.APIKey) keyView {
	return keyView{
		ID: string(k.ID), ApplicationID: string(k.ApplicationID), Environment: string(k.Environment),
		Prefix: domain.KeyPrefix(k.Environment), LastFour: k.LastFour, Scopes: web.Texts(k.Scopes),
		CreatedAt: domain.FormatTime(k.CreatedAt), ExpiresAt: views.Time(k.ExpiresAt),
		RevokedAt: views.Time(k.RevokedAt), LastUsedAt: views.Time(k.LastUsedAt),
	}
}

// issuedKeyView is a key with its secret. It is shown only once.
type issuedKeyView struct {
	keyView
	Key string `json:"key"`
}

func showIssued(k access.IssuedKey) issuedKeyView {
	return issuedKeyView{keyView: showKey(k.APIKey), Key: k.Secret}
}

type pickupView struct {
	views.PickupLocation
	Missing []string `json:"missing"`
}

// showPickup names what is missing as people do: a position is one thing.
func showPickup(p domain.PickupLocation) pickupView {
	v := pickupView{PickupLocation: views.NewPickupLocation(p), Missing: []string{}}
	if p.Contact == "" {
		v.Missing = append(v.Missing, "contact")
	}
	if p.Coordinates == nil {
		v.Missing = append(v.Missing, "coordinates")
	}
	return v
}

type deliveryView struct {
	views.Delivery
	BusinessID    string `json:"business_id"`
	ApplicationID string `json:"application_id"`
}

func (m *Management) showDelivery(d *domain.Delivery) deliveryView {
	return deliveryView{
		Delivery:   views.NewDelivery(d, m.TrackingBaseURL),
		BusinessID: string(d.Tenant.BusinessID), ApplicationID: string(d.Tenant.ApplicationID),
	}
}

// caseView is a delivery with everything that an operator needs to judge it.
type caseView struct {
	deliveryView
	Business        businessView    `json:"business"`
	Application     applicationView `json:"application"`
	Timeline        []views.Event   `json:"timeline"`
	AllowedStatuses []string        `json:"allowed_statuses"`
}

func (m *Management) showCase(c deliveries.Case) caseView {
	return caseView{
		deliveryView: m.showDelivery(c.Delivery), Business: showBusiness(c.Business), Application: showApplication(c.Application),
		Timeline: web.Each(c.Timeline, views.NewEvent), AllowedStatuses: web.Texts(c.Next),
	}
}

type auditView struct {
	ID         string            `json:"id"`
	At         string            `json:"at"`
	Actor      actorView         `json:"actor"`
	Operator   operatorView      `json:"operator"`
	Action     string            `json:"action"`
	Target     string            `json:"target"`
	BusinessID *string           `json:"business_id"`
	Details    map[string]string `json:"details"`
	RequestID  *string           `json:"request_id"`
}

// operatorView is the actor in the form from before persons acted.
type operatorView struct {
	ID   *string `json:"id"` // null: a command on the server, or a person
	Name string  `json:"name"`
}

type actorView struct {
	Kind string  `json:"kind"`
	ID   *string `json:"id"` // null: a command on the server
	Name string  `json:"name"`
}

func showAudit(e domain.AuditEntry) auditView {
	v := auditView{
		ID: string(e.ID), At: domain.FormatTime(e.At), Operator: operatorView{Name: e.Actor.Name},
		Actor:  actorView{Kind: string(e.Actor.Kind()), ID: optional(string(e.Actor.ID)), Name: e.Actor.Name},
		Action: string(e.Action), Target: string(e.Target), BusinessID: optional(string(e.BusinessID)),
		Details: e.Details, RequestID: optional(e.Actor.RequestID),
	}
	if !e.Actor.IsPerson() {
		v.Operator.ID = v.Actor.ID
	}
	if v.Details == nil {
		v.Details = map[string]string{}
	}
	return v
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
