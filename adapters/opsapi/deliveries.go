package opsapi

import (
	"cmp"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/adapters/web/views"
	"waybill/domain"
)

var advanceShape = strictjson.Object{"status": strictjson.Leaf, "reason_code": strictjson.Leaf}

func (m *Management) searchDeliveries(c *call) (reply, error) {
	q := c.query
	search := domain.DeliverySearch{
		ID:            q.ID("id", domain.PrefixDelivery),
		ExternalID:    q.Text("external_id", domain.ExternalIDRule.Most),
		Status:        domain.Status(q.OneOf("status", web.Texts(domain.Statuses())...)),
		BusinessID:    q.ID("business_id", domain.PrefixBusiness),
		ApplicationID: q.ID("application_id", domain.PrefixApplication),
		Environment:   domain.Environment(q.OneOf("environment", string(domain.Live), string(domain.Sandbox))),
		CreatedAfter:  q.Time("created_after"),
		CreatedBefore: q.Time("created_before"),
		NewestFirst:   q.OneOf("order", "asc", "desc") == "desc",
	}
	if sent := q.Text("reference", domain.MaxTypedReference); sent != "" {
		reference, sound := domain.FoldReference(sent)
		if !sound {
			q.Reject("reference", domain.FieldInvalidFormat, "must be a reference such as 7K3M-QX8P-2VTD")
		}
		search.Reference = reference
	}
	if age := q.Duration("status_older_than"); age > 0 {
		search.UpdatedBefore = new(m.Operations.StatusOlderThan(age))
	}
	p, err := m.page(c, domain.PrefixDelivery)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Operations.Search(c.Request.Context(), search, p)
	if err != nil {
		return reply{}, err
	}
	deliveries, shown := cut(m, c, found.Deliveries, p.Limit, func(d *domain.Delivery) domain.Position {
		return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
	})
	shown.CreatedAfter = views.Time(found.Since)
	return list("Deliveries listed.", web.Each(deliveries, m.showDelivery), shown), nil
}

func (m *Management) getDelivery(c *call) (reply, error) {
	id, err := c.id("delivery_id", domain.PrefixDelivery)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Operations.Case(c.Request.Context(), id)
	if err != nil {
		return reply{}, err
	}
	return ok("Delivery found.", m.showCase(found)), nil
}

func (m *Management) advanceDelivery(c *call) (reply, error) {
	id, err := c.id("delivery_id", domain.PrefixDelivery)
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	to, _ := r.Enum("status", strictjson.Required, web.Texts(domain.Statuses()[1:]))
	reason, _ := r.Enum("reason_code", strictjson.Optional, web.Texts(domain.ReasonCodes()))
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	moved, err := m.Operations.Advance(c.Request.Context(), c.by, id, domain.Status(to), domain.ReasonCode(reason))
	if err != nil {
		return reply{}, err
	}
	return ok("Delivery moved to "+to+".", m.showDelivery(moved)), nil
}

func (m *Management) listAudit(c *call) (reply, error) {
	filter := domain.AuditFilter{
		ActorID: cmp.Or(c.query.ID("operator_id", domain.PrefixOperatorToken), c.query.ID("person_id", domain.PrefixPerson)),
		Action:  domain.Action(c.query.OneOf("action", web.Texts(domain.Actions())...)),
		Target:  domain.ID(c.query.Text("target", domain.MaxTypedID)),
	}
	business := c.query.ID("business_id", domain.PrefixBusiness)
	p, err := m.page(c, domain.PrefixAuditEntry)
	if err != nil {
		return reply{}, err
	}
	var found []domain.AuditEntry
	if business == "" {
		found, err = m.Operations.Audit(c.Request.Context(), filter, p)
	} else {
		found, err = m.Operations.AuditOfBusiness(c.Request.Context(), business, filter, p)
	}
	if err != nil {
		return reply{}, err
	}
	found, shown := cut(m, c, found, p.Limit, func(e domain.AuditEntry) domain.Position {
		return domain.Position{CreatedAt: e.At, ID: e.ID}
	})
	return list("Audit log listed.", web.Each(found, showAudit), shown), nil
}
