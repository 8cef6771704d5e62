package httpapi

import (
	"context"
	"net/http"

	"waybill/adapters/httpapi/views"
	"waybill/application/deliveries"
	"waybill/domain"
)

func (a *API) createDelivery(c *call) (reply, error) {
	return replyOf(a.Deliveries.Create(c.Request.Context(), c.once(),
		func() (deliveries.Order, error) { return a.readOrder(c) },
		func(d *domain.Delivery) domain.Answer {
			return answer(http.StatusCreated, a.BaseURL+"/deliveries/"+string(d.ID), "Delivery booked.", a.view(d))
		}))
}

func (a *API) listDeliveries(c *call) (reply, error) {
	filter := domain.DeliveryFilter{
		Status:        domain.Status(c.query.oneOf("status", texts(domain.Statuses())...)),
		ExternalID:    c.query.text("external_id", 128),
		CreatedAfter:  c.query.time("created_after"),
		CreatedBefore: c.query.time("created_before"),
		NewestFirst:   c.query.oneOf("order", "asc", "desc") == "desc",
	}
	p, err := a.pageRequest(c, domain.PrefixDelivery)
	if err != nil {
		return reply{}, err
	}
	found, err := a.Deliveries.List(c.Request.Context(), c.tenant, filter, p)
	if err != nil {
		return reply{}, err
	}
	found, m := page(a, c, found, p.Limit, func(d *domain.Delivery) domain.Position {
		return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
	})
	return list("Deliveries listed.", each(found, a.view), m), nil
}

func (a *API) getDelivery(c *call) (reply, error) {
	found, err := a.Deliveries.Get(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	r := ok("Delivery found.", a.view(found))
	r.tagged = true
	return r, nil
}

func (a *API) deliveryExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.Deliveries.Get(ctx, t, id)
	return err
}

func (a *API) listEvents(c *call) (reply, error) {
	events, err := a.Deliveries.Timeline(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	r := list("Events listed.", each(events, views.NewEvent), whole(len(events)))
	r.tagged = true
	return r, nil
}

func (a *API) cancelDelivery(c *call) (reply, error) {
	return replyOf(a.Deliveries.Cancel(c.Request.Context(), c.once(), c.id,
		func(d *domain.Delivery) domain.Answer {
			return answer(http.StatusOK, "", "Delivery cancelled.", a.view(d))
		}))
}

func (a *API) view(d *domain.Delivery) views.Delivery {
	return views.NewDelivery(d, a.TrackingBaseURL)
}
