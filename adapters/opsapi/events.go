package opsapi

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"waybill/adapters/web"
	"waybill/domain"
)

// maxTypes is more characters than all types have together.
const maxTypes = 512

// eventView is an event as webhooks carry it, with its owner.
type eventView struct {
	BusinessID    string         `json:"business_id"`
	ApplicationID string         `json:"application_id"`
	Event         jsontext.Value `json:"event"`
}

func (m *Management) listEvents(c *call) (reply, error) {
	filter := domain.PlatformFeedFilter{
		Environment:  domain.Live,
		BusinessID:   c.query.ID("business_id", domain.PrefixBusiness),
		CreatedAfter: c.query.Time("created_after"),
	}
	if c.query.OneOf("environment", string(domain.Live), string(domain.Sandbox)) == string(domain.Sandbox) {
		filter.Environment = domain.Sandbox
	}
	known := web.Texts(domain.DeliveryEventTypes())
	if sent := c.query.Text("types", maxTypes); sent != "" {
		for name := range strings.SplitSeq(sent, ",") {
			if !slices.Contains(known, name) {
				c.query.Reject("types", domain.FieldNotAllowed, "must be types with commas between them, of "+strings.Join(known, ", ")+web.ItIs(name))
				break
			}
			filter.Types = append(filter.Types, domain.EventType(name))
		}
	}
	cursors := web.NewCursors(m.CursorKeys...)
	limit, after, err := cursors.FeedPage(c.query, c.binding())
	if err != nil {
		return reply{}, err
	}
	found, err := m.Operations.Events(c.Request.Context(), filter, after, limit)
	if err != nil {
		return reply{}, err
	}
	events := web.Each(found.Events, func(e domain.PlatformEvent) eventView {
		return eventView{string(e.Tenant.BusinessID), string(e.Tenant.ApplicationID), e.Payload}
	})
	return list("Events listed.", events, cursors.FeedMeta(c.binding(), limit, found.More, found.Next)), nil
}
