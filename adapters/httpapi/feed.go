package httpapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"waybill/adapters/web"
	"waybill/domain"
)

func (a *API) listFeed(c *call) (reply, error) {
	filter := domain.FeedFilter{
		Type:         domain.EventType(c.query.OneOf("type", web.Texts(domain.DeliveryEventTypes())...)),
		DeliveryID:   c.query.ID("delivery_id", domain.PrefixDelivery),
		CreatedAfter: c.query.Time("created_after"),
	}
	limit, after, err := a.cursors.FeedPage(c.query, c.listBinding())
	if err != nil {
		return reply{}, err
	}
	found, err := a.Feed.Events(c.Request.Context(), c.tenant, filter, after, limit)
	if err != nil {
		return reply{}, err
	}
	m := a.cursors.FeedMeta(c.listBinding(), limit, found.More, found.Next)
	r := list("Events listed.", web.Each(found.Events, func(e domain.FeedEvent) jsontext.Value { return e.Payload }), m)
	r.tagged = true
	return r, nil
}
