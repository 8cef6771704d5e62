package opsapi

import (
	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

var advanceShape = strictjson.Object{"status": strictjson.Leaf, "reason_code": strictjson.Leaf}

func (m *Management) searchDeliveries(c *call) (reply, error) {
	q := c.query
	search := domain.DeliverySearch{
		ID:            q.id("id", domain.PrefixDelivery),
		ExternalID:    q.text("external_id", 128),
		Status:        domain.Status(q.oneOf("status", texts(domain.Statuses())...)),
		BusinessID:    q.id("business_id", domain.PrefixBusiness),
		ApplicationID: q.id("application_id", domain.PrefixApplication),
		Environment:   domain.Environment(q.oneOf("environment", string(domain.Live), string(domain.Sandbox))),
		CreatedAfter:  q.time("created_after"),
		CreatedBefore: q.time("created_before"),
		NewestFirst:   q.oneOf("order", "asc", "desc") == "desc",
	}
	if sent := q.text("reference", 64); sent != "" {
		reference, sound := domain.FoldReference(sent)
		if !sound {
			q.reject("reference", domain.FieldInvalidFormat, "must be a reference such as 7K3M-QX8P-2VTD")
		}
		search.Reference = reference
	}
	if age := q.duration("status_older_than"); age > 0 {
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
	shown.CreatedAfter = moment(found.Since)
	return list("Deliveries listed.", each(deliveries, m.showDelivery), shown), nil
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
	to, _ := r.Enum("status", strictjson.Required, texts(domain.Statuses()[1:]))
	reason, _ := r.Enum("reason_code", strictjson.Optional, texts(domain.ReasonCodes()))
	if err := problems(r); err != nil {
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
		OperatorID: c.query.id("operator_id", domain.PrefixOperatorToken),
		Action:     domain.Action(c.query.oneOf("action", texts(domain.Actions())...)),
		Target:     domain.ID(c.query.text("target", 64)),
	}
	p, err := m.page(c, domain.PrefixAuditEntry)
	if err != nil {
		return reply{}, err
	}
	found, err := m.Operations.Audit(c.Request.Context(), filter, p)
	if err != nil {
		return reply{}, err
	}
	found, shown := cut(m, c, found, p.Limit, func(e domain.AuditEntry) domain.Position {
		return domain.Position{CreatedAt: e.At, ID: e.ID}
	})
	return list("Audit log listed.", each(found, showAudit), shown), nil
}
