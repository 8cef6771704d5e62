package httpapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"waybill/domain"
)

func (a *API) listFeed(c *call) (reply, error) {
	filter := domain.FeedFilter{
		Type:         domain.EventType(c.query.oneOf("type", texts(domain.DeliveryEventTypes())...)),
		DeliveryID:   c.query.id("delivery_id", domain.PrefixDelivery),
		CreatedAfter: c.query.time("created_after"),
	}
	limit, after, err := a.feedPage(c)
	if err != nil {
		return reply{}, err
	}
	found, err := a.Feed.Events(c.Request.Context(), c.tenant, filter, after, limit)
	if err != nil {
		return reply{}, err
	}
	// Always a cursor: whoever has seen all goes on from there when there is more.
	cursor := a.cursors.sealFeed(c.listBinding(), found.Next)
	m := meta{Limit: limit, HasMore: found.More, NextCursor: &cursor}
	r := list("Events listed.", each(found.Events, func(e domain.FeedEvent) jsontext.Value { return e.Payload }), m)
	r.tagged = true
	return r, nil
}

// feedPage is pageRequest for the feed, which has an order of its own.
func (a *API) feedPage(c *call) (limit int, after *domain.FeedPosition, err error) {
	limit = c.query.limit()
	if cursor := c.query.values.Get("cursor"); cursor != "" {
		position, sound := a.cursors.openFeed(c.listBinding(), cursor)
		if !sound {
			c.query.reject("cursor", domain.FieldInvalidFormat, notACursor)
		}
		after = &position
	}
	return limit, after, c.query.err()
}
