package gormstore

import (
	"context"

	"waybill/domain"
)

// ownerQueries lists, by the prefix of an ID, the query for the owner of the record. Each is one
// lookup by a primary key, and of the rows that it refers to.
var ownerQueries = func() map[domain.Prefix]string {
	const (
		none     = "NULL AS delivery_id, NULL AS endpoint_id, NULL AS sent_id"
		endpoint = "e.application_id, e.business_id, e.environment"
		sent     = "SELECT " + endpoint + ", w.delivery_id, w.endpoint_id, w.id AS sent_id FROM webhook_deliveries w" +
			" JOIN webhook_endpoints e ON e.id = w.endpoint_id AND e.business_id = w.business_id AND e.slot IS NOT NULL AND NOT e.listener"
	)
	return map[domain.Prefix]string{
		domain.PrefixAPIKey: "SELECT k.application_id, a.business_id, k.environment, " + none +
			" FROM api_keys k JOIN applications a ON a.id = k.application_id WHERE k.id = ?",
		domain.PrefixRecipient: "SELECT NULL AS application_id, business_id, environment, " + none + " FROM recipients WHERE id = ?",
		domain.PrefixPickupLocation: "SELECT NULL AS application_id, business_id, environment, " + none +
			" FROM pickup_locations WHERE id = ?",
		domain.PrefixEvent: "SELECT d.application_id, d.business_id, d.environment, v.delivery_id, NULL AS endpoint_id, NULL AS sent_id" +
			" FROM delivery_events v JOIN deliveries d ON d.id = v.delivery_id AND d.business_id = v.business_id WHERE v.id = ?",
		domain.PrefixWebhookEndpoint: "SELECT " + endpoint + ", NULL AS delivery_id, e.id AS endpoint_id, NULL AS sent_id" +
			" FROM webhook_endpoints e WHERE e.id = ? AND e.slot IS NOT NULL AND NOT e.listener",
		domain.PrefixWebhookDelivery: sent + " WHERE w.id = ?",
		domain.PrefixWebhookAttempt:  sent + " WHERE w.id = (SELECT webhook_delivery_id FROM webhook_attempts WHERE id = ?)",
	}
}()

func (s platform) Owner(ctx context.Context, id domain.ID) (domain.Owned, error) {
	for prefix, query := range ownerQueries {
		key, err := lookup(prefix, id)
		if err != nil {
			continue // it has another prefix
		}
		var found []ownedRow
		if err := s.with(ctx).Raw(query, key).Scan(&found).Error; err != nil {
			return domain.Owned{}, s.dialect.failed("find whose record it is", err)
		}
		if len(found) == 1 {
			return found[0].domain(), nil
		}
	}
	return domain.Owned{}, domain.ErrNotFound
}

type ownedRow struct {
	ApplicationID *rowID
	BusinessID    rowID
	Environment   string
	DeliveryID    *rowID
	EndpointID    *rowID
	SentID        *rowID
}

func (r *ownedRow) domain() domain.Owned {
	id := func(p domain.Prefix, key *rowID) domain.ID {
		if key == nil {
			return ""
		}
		return key.as(p)
	}
	return domain.Owned{
		Tenant: domain.Tenant{BusinessID: r.BusinessID.as(domain.PrefixBusiness), ApplicationID: id(domain.PrefixApplication, r.ApplicationID),
			Environment: domain.Environment(r.Environment)},
		DeliveryID: id(domain.PrefixDelivery, r.DeliveryID), EndpointID: id(domain.PrefixWebhookEndpoint, r.EndpointID),
		SentID: id(domain.PrefixWebhookDelivery, r.SentID),
	}
}
